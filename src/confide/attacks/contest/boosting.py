"""Climb a leaderboard without learning anything: submissions at random, and those that did well put together.

A. Blum and M. Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML 2015, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard
from scipy.special import bdtrc, gammaln

from confide.attacks.contest.oracle import Oracle
from confide.attacks.numbers import exact_number_of
from confide.counts import FloatArray, read_only
from confide.errors import ParameterError
from confide.sources.labels import binary_labels

BOOSTABLE = ("accuracy", "auc")
"""Numbers that are one half for scores at random, whatever the labels."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Boosted:
    """Majority vote of random submissions, and its scores on the leaderboard as it grew.

    `leaderboard[i]` was answered when `members[i]` random submissions had been put together; `honest[i]` is its score
    on rows that the oracle never answers for (empty if none were given). `queries` counts all submissions.
    """

    submission: FloatArray
    members: tuple[int, ...]
    leaderboard: tuple[float, ...]
    honest: tuple[float, ...]
    queries: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "submission", read_only(self.submission))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "members": list(self.members),
            "leaderboard": list(self.leaderboard),
            "honest": list(self.honest),
            "queries": self.queries,
            "submission": self.submission.tolist(),
        }


def boost(
    oracle: Oracle,
    members: int | Sequence[int],
    *,
    hidden: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> Boosted:
    """Submit scores at random, turn those around that got less than one half, and let all of them vote.

    For accuracy submissions are fair coins and the vote is their majority; for AUC they are uniform scores and the vote
    is their mean. `members` says after how many of them the vote is submitted too (one answer more each time).
    `hidden` are labels of further rows, those of the private leaderboard, which the same votes are tried on.

    >>> from confide.attacks.disclosure import Publication
    >>> contest = Oracle.of_labels(np.arange(100) % 2, Publication.parse("accuracy"))
    >>> boosted = boost(contest, 301, hidden=np.arange(1000) % 2, rng=1)
    >>> boosted.leaderboard[0] > 0.85, abs(boosted.honest[0] - 0.5) < 0.05, boosted.queries
    (True, True, 302)
    """
    metric = oracle.published.metric
    if metric not in BOOSTABLE:
        raise ParameterError(f"boosting is for {' and '.join(BOOSTABLE)}, which are one half at random; got {metric}")
    stops = [members] if isinstance(members, int) else sorted(set(members))
    if not stops or stops[0] < 1:
        raise ParameterError("members must be at least 1: how many random submissions are put together")
    others = np.zeros(0, dtype=np.bool_) if hidden is None else binary_labels(hidden, one_class=True)
    rng = np.random.default_rng(rng)
    vote = np.zeros(oracle.rows + others.size)
    leaderboard, honest, asked = [], [], oracle.asked
    for member in range(1, stops[-1] + 1):
        drawn = rng.integers(0, 2, vote.size).astype(np.float64) if metric == "accuracy" else rng.random(vote.size)
        better = 1.0 if oracle.ask(drawn[: oracle.rows]) >= 0.5 else -1.0
        vote += better * (drawn - 0.5)
        if member in stops:
            voted = _voted(vote, metric, rng)
            leaderboard.append(float(oracle.ask(voted[: oracle.rows])))
            if others.size:
                honest.append(float(exact_number_of(others, voted[oracle.rows :], metric)))
    return Boosted(
        submission=_voted(vote, metric, rng)[: oracle.rows],
        members=tuple(stops),
        leaderboard=tuple(leaderboard),
        honest=tuple(honest),
        queries=oracle.asked - asked,
    )


def _voted(vote: FloatArray, metric: str, rng: np.random.Generator) -> FloatArray:
    if metric == "auc":
        return vote.copy()
    return np.where((vote > 0.0) | ((vote == 0.0) & (rng.random(vote.size) < 0.5)), 1.0, 0.0)


def expected_accuracy(rows: int, members: int) -> float:
    """Return the expected score on the leaderboard of the majority vote of fair coins, each turned to one half or more.

    A coin's agreement with a label, S rows of n in all beyond one half, is right with a probability of `p = 1/2 +
    E|2S|/(2n)`, and coins are independent of each other: the majority of k is right with a probability of `P(Bin(k, p)
    > k/2)`, a tie counting half. With `E|2S|` near `sqrt(2n/pi)` that is `Phi(sqrt(2k/(pi n)))`, near `1/2 +
    sqrt(k/n)/pi` while k is well below n.

    >>> round(expected_accuracy(1000, 100), 3), round(0.5 + math.sqrt(100 / 1000) / math.pi, 3)
    (0.599, 0.601)
    """
    half = (rows + 1) // 2
    excess = 2 * half * math.exp(gammaln(2 * half + 1) - 2 * gammaln(half + 1) - 2 * half * math.log(2.0))
    p = 0.5 + excess / (2 * rows)
    more = float(bdtrc(members // 2, members, p))
    return more if members % 2 else (more + float(bdtrc(members // 2 - 1, members, p))) / 2.0


def orthogonal_signs(rows: int, submissions: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Plus and minus one for each row, a line for each submission: Hadamard matrices of the least order above the rows.

    Over a whole turn of as many submissions as the order, any two rows agree exactly half of the time. Every turn has
    its lines in another order and other columns turned around.
    """
    order = 1 << int(rows).bit_length()
    matrix = hadamard(order, dtype=np.int8)[:, 1 : rows + 1]
    turns = [
        matrix[rng.permutation(order)] * rng.choice(np.array([-1, 1], dtype=np.int8), rows)
        for _ in range(math.ceil(submissions / order))
    ]
    return np.concatenate(turns)[:submissions] if turns else np.zeros((0, rows), dtype=np.int8)


def pulls(signs: NDArray[np.int8], answers: FloatArray, centre: float | None) -> FloatArray:
    """Return how far each row's sign goes with the answers; answers that are not numbers are left out.

    Two-level submissions shift a score by very nearly a sum of one term for each row, so that its noise is divided by
    the root of the number of answers (Dinur and Nissim 2003). `centre` is the score of coins, None for the mean.
    """
    told = np.isfinite(answers)
    if not told.any():
        return np.zeros(signs.shape[1])
    around = float(answers[told].mean()) if centre is None else centre
    return np.asarray((answers[told] - around) @ signs[told].astype(np.float64))
