"""Membership game: was this row among the data, or that one, judging by which features were selected?

An insider knows all rows but one, and has two candidates for that one, of which either may be "no row". A fair coin
chooses; the features are selected; he says which it was. Epsilon, if it held, would bound how often anybody is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from confide.errors import ParameterError, did_you_mean
from confide.features import FeatureRows, Integers
from confide.intervals.interval import Interval
from confide.intervals.proportions import wilson_interval_of
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import checked_epsilon
from confide.privacy.mechanisms.score_perturbation import perturbed_scores
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from studies.stoddard.attacks.laplace import checked_claim
from studies.stoddard.attacks.noisy_cut import noisycut_log_probability, noisycut_support
from studies.stoddard.attacks.threshold_testing import ptt_probability, ptt_support

TARGETS = ("threshold-testing", "noisycut", "score-perturbation")
"""Methods that select features; the last is private and releases more, all noisy scores."""

GAME_SCORES = ("total-count", "difference-count")

_Likelihoods: TypeAlias = tuple[float, float]
_Play: TypeAlias = Callable[[int], _Likelihoods]
"""Select in one of the two worlds, and return the log-likelihood of what was selected in both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Row that may be the missing one: the numbers of its features, and its label."""

    features: tuple[int, ...]
    positive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """Success of the insider, beside the bound of the claimed epsilon.

    `claimed` counts twice where one row replaces another, since that is one row removed and one added. `certain` counts
    the selections that were impossible with the other candidate; no epsilon allows a single one. `bound` is the largest
    success that the claim allows.
    """

    target: str
    claimed: float
    trials: int
    hits: int
    certain: int
    interval: Interval
    bound: float

    @property
    def success(self) -> float:
        """Return the share of right guesses."""
        return self.hits / self.trials

    @property
    def refutes(self) -> bool:
        """Tell whether the claim is refuted: by the interval of the success, or by one guess that was certain."""
        return self.certain > 0 or self.interval.lower > self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "target": self.target,
            "claimed": self.claimed,
            "trials": self.trials,
            "hits": self.hits,
            "success": self.success,
            "certain": self.certain,
            "interval": self.interval.to_dict(),
            "bound": self.bound,
            "refutes": self.refutes,
        }


def membership_game(
    known: FeatureRows,
    candidates: tuple[Candidate | None, Candidate | None],
    target: str,
    *,
    epsilon: object,
    threshold: float,
    trials: int,
    rng: np.random.Generator,
    score: str = "total-count",
    most_features: int = 20,
    level: float = 0.95,
    noise: Noise = SYSTEM_NOISE,
) -> Guesses:
    """Play the game so often, with fresh coins and noise, against an insider who compares exact likelihoods.

    Targets take their noise from `rng` and are given the claim that is best for them: for total counts the corollary
    of threshold testing. Score perturbation takes its noise from the system and lets a row have at most
    `most_features` features; the insider reads all noisy scores.

    >>> known = FeatureRows.from_matrix([[1, 1], [1, 1]], np.array([True, False]))
    >>> terms = {"epsilon": 0.1, "threshold": 2, "trials": 2000, "rng": np.random.default_rng(7)}
    >>> found = membership_game(known, (None, Candidate(features=(0,))), "threshold-testing", **terms)
    >>> found.certain > 0, found.refutes
    (True, True)
    """
    _check(target, score, trials)
    both = worlds(known, candidates)
    claimed = sum(each is not None for each in candidates) * checked_claim(epsilon, 1.0)
    if target == "score-perturbation":
        play = _perturbing(both, score, checked_epsilon(epsilon), most_features, noise)
    else:
        play = _testing(both, target, score, epsilon, threshold, rng)
    hits = certain = 0
    for coin in rng.integers(0, 2, trials).tolist():
        likelihoods = play(coin)
        here, there = likelihoods[coin], likelihoods[1 - coin]
        hits += bool(rng.integers(2)) if here == there else here > there
        certain += there == -math.inf
    return Guesses(
        target=target,
        claimed=claimed,
        trials=trials,
        hits=hits,
        certain=certain,
        interval=wilson_interval_of(hits / trials, trials, level=level),
        bound=success_bound(claimed),
    )


def worlds(
    known: FeatureRows, candidates: tuple[Candidate | None, Candidate | None]
) -> tuple[FeatureRows, FeatureRows]:
    """Return the two datasets between which the coin decides."""
    if len(candidates) != 2 or candidates[0] == candidates[1]:
        raise ParameterError("there must be two candidates that differ; None stands for no row")
    first, second = (known if each is None else _with(known, each) for each in candidates)
    return first, second


def game_scores(rows: FeatureRows, score: str) -> Integers:
    """Return the scores that are tested against a threshold; one row changes each by 1 at most."""
    positives, negatives = rows.counts()
    return np.asarray(positives + negatives if score == "total-count" else np.abs(positives - negatives))


def _with(known: FeatureRows, candidate: Candidate) -> FeatureRows:
    """Return the known rows and one more."""
    features = np.unique(np.asarray(candidate.features, dtype=np.int64))
    return FeatureRows(
        np.append(known.starts, known.starts[-1] + features.size),
        np.append(known.features, features),
        np.append(known.labels, candidate.positive),
        known.width,
    )


def _testing(
    both: tuple[FeatureRows, FeatureRows],
    target: str,
    score: str,
    epsilon: object,
    threshold: float,
    rng: np.random.Generator,
) -> _Play:
    """Play against a target that compares scores with a noisy threshold."""
    scores = [game_scores(rows, score) for rows in both]
    monotone = score == "total-count"

    def test(coin: int) -> _Likelihoods:
        found = ptt_support(scores[coin], threshold, epsilon, rng, monotone=monotone)
        chances = [ptt_probability(found, each, threshold, epsilon, monotone=monotone) for each in scores]
        first, second = (math.log(chance) if chance > 0.0 else -math.inf for chance in chances)
        return first, second

    def cut(coin: int) -> _Likelihoods:
        found = noisycut_support(scores[coin], threshold, epsilon, rng)
        first, second = (noisycut_log_probability(found, each, threshold, epsilon) for each in scores)
        return first, second

    return test if target == "threshold-testing" else cut


def _perturbing(
    both: tuple[FeatureRows, FeatureRows], score: str, epsilon: Fraction, most_features: int, noise: Noise
) -> _Play:
    """Play against noisy scores, whose likelihood falls exponentially with the distance from the exact ones."""
    queries = [
        perturbed_scores(rows, score, epsilon, Neighbours.ADD_REMOVE_ONE, most_features=most_features) for rows in both
    ]
    values = [np.asarray(query.values, dtype=np.float64) for query in queries]
    scales = np.asarray([float(scale) for scale in queries[0].scales])

    def perturb(coin: int) -> _Likelihoods:
        seen = np.asarray(queries[coin].draw(noise), dtype=np.float64)
        first, second = (-float((np.abs(seen - exact) / scales).sum()) for exact in values)
        return first, second

    return perturb


def _check(target: str, score: str, trials: int) -> None:
    for name, value, known in (("target", target, TARGETS), ("score", score, GAME_SCORES)):
        if value not in known:
            hint = did_you_mean(value, known)
            raise ParameterError(f"{name} must be one of {', '.join(known)}; got {value!r}. {hint}".rstrip())
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise ParameterError(f"trials must be a whole number of at least 1; got {trials!r}")
