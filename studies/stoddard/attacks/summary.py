"""Summary of the refuted privacy claims, one line a method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.privacy.guarantee import checked_epsilon, shown
from studies.stoddard.attacks.refutations import (
    cluster_loss,
    cluster_splits,
    identified_by_ptt,
    noisycut_breaks_at,
    noisycut_loss,
    ptt_loss,
)

METHODS = ("threshold testing", "noisycut", "cluster selection, one round", "cluster selection, splits")
"""Refuted methods, in the order of the summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefutedClaim:
    """A method, the epsilon that it claims for an answer, the epsilon that it loses, and the evidence in words."""

    method: str
    claimed: float
    lost: float
    evidence: str

    @property
    def refutes(self) -> bool:
        """Tell whether more is lost than was claimed."""
        return self.lost > self.claimed * (1.0 + 1e-9)

    @property
    def text(self) -> str:
        """Return one line for a terminal."""
        lost = "no finite epsilon" if math.isinf(self.lost) else f"epsilon {self.lost:.3g}"
        verdict = "refuted" if self.refutes else "not refuted here"
        return f"{self.method}: claims {self.claimed:g}, loses {lost} ({verdict}). {self.evidence}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an infinite loss is None."""
        return {
            "method": self.method,
            "claimed": self.claimed,
            "lost": None if math.isinf(self.lost) else self.lost,
            "refutes": self.refutes,
            "evidence": self.evidence,
        }


def refuted_claims(epsilon: object, *, trials: int, rng: np.random.Generator) -> tuple[RefutedClaim, ...]:
    """Compute what each method loses at an epsilon.

    >>> lines = refuted_claims(1, trials=200, rng=np.random.default_rng(0))
    >>> [line.refutes for line in lines]
    [True, True, True, True]
    """
    claim = checked_epsilon(epsilon)
    return (_threshold_testing(claim), _noisycut(claim), _cluster_round(claim), _cluster_splits(claim, trials, rng))


def _threshold_testing(claim: object) -> RefutedClaim:
    loss = ptt_loss(claim)
    chance = identified_by_ptt(0, claim)
    return RefutedClaim(
        method=METHODS[0],
        claimed=loss.claimed,
        lost=loss.epsilon,
        evidence=f"With probability {chance:.3f} the answer shows which features of a count a row has.",
    )


def _noisycut(claim: object) -> RefutedClaim:
    features = noisycut_breaks_at(claim)
    loss = noisycut_loss(2 * features, claim)
    return RefutedClaim(
        method=METHODS[1],
        claimed=loss.claimed,
        lost=loss.epsilon,
        evidence=f"The loss exceeds the claim from {features} selected features on; this is for {2 * features}.",
    )


def _cluster_round(claim: object) -> RefutedClaim:
    loss = cluster_loss(claim)
    return RefutedClaim(
        method=METHODS[2],
        claimed=2.0 * loss.claimed,
        lost=loss.sizes + loss.sums,
        evidence="One row moves ten features from one cluster to another.",
    )


def _cluster_splits(claim: object, trials: int, rng: np.random.Generator) -> RefutedClaim:
    with_row, without = cluster_splits(claim, trials=trials, rng=rng)
    return RefutedClaim(
        method=METHODS[3],
        claimed=float(shown(checked_epsilon(claim))),
        lost=math.inf if with_row > 0 and without == 0 else 0.0,
        evidence=f"Two features were separated in {with_row} of {trials} runs with a row, and in {without} without it.",
    )
