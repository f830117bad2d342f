"""The probability of everything that a private selection can answer, by definition, in floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

from confide.privacy.queries import ThresholdQuery, TopQuery

Answer = tuple[int, ...]
Odds = dict[Answer, float]


def odds_of(query: ThresholdQuery | TopQuery) -> Odds:
    return threshold_odds(query) if isinstance(query, ThresholdQuery) else top_odds(query)


def largest_loss(first: ThresholdQuery | TopQuery, second: ThresholdQuery | TopQuery) -> float:
    """The most that any answer tells two datasets apart by: the largest absolute log-ratio of its probabilities."""
    ours, theirs = odds_of(first), odds_of(second)
    return max(abs(math.log(ours[answer] / theirs[answer])) for answer in ours)


def top_odds(query: TopQuery) -> Odds:
    once = exponential_odds if query.how == "peeling" else permute_and_flip_odds
    return in_turn(query.values, float(query.rate), query.k, once)


def in_turn(values: Sequence[int], rate: float, k: int, once: Callable[[list[int], float], list[float]]) -> Odds:
    """Sequences of k, each chosen among those left."""
    found: Odds = {}
    for answer in permutations(range(len(values)), k):
        left, odds = list(range(len(values))), 1.0
        for number in answer:
            odds *= once([values[other] for other in left], rate)[left.index(number)]
            left.remove(number)
        found[answer] = odds
    return found


def exponential_odds(values: list[int], rate: float) -> list[float]:
    weights = [math.exp(rate * (value - max(values))) for value in values]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip_odds(values: list[int], rate: float) -> list[float]:
    """All ways the coins can fall; one of those with heads is chosen."""
    heads = [math.exp(rate * (value - max(values))) for value in values]
    odds = [0.0] * len(values)
    for shown in product((False, True), repeat=len(values)):
        chance = math.prod(p if head else 1.0 - p for p, head in zip(heads, shown, strict=True))
        for number, head in enumerate(shown):
            if head:
                odds[number] += chance / sum(shown)
    return odds


def threshold_odds(query: ThresholdQuery) -> Odds:
    """Sums over all values of the threshold's noise that matter."""
    first, second = float(query.threshold_scale), float(query.value_scale)
    far = math.ceil(40 * first)
    shifts = np.arange(-far, far + 1)
    weights = _laplace(shifts, first)
    reach = [_at_least(query.threshold + shifts - query.values[number], second) for number in query.order]
    found: Odds = {}
    for size in range(query.cutoff + 1):
        for yes in combinations(range(len(reach)), size):
            asked = yes[-1] + 1 if size == query.cutoff else len(reach)
            given = [reach[place] if place in yes else 1.0 - reach[place] for place in range(asked)]
            found[tuple(query.order[place] for place in yes)] = float((weights * np.prod(given, axis=0)).sum())
    return found


def _laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    odds: NDArray[np.float64] = math.tanh(0.5 / scale) * np.exp(-np.abs(values) / scale)
    return odds


def _at_least(values: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """`P[noise >= value]`."""
    high = np.exp(-np.abs(np.maximum(values, 1)) / scale) / (1.0 + math.exp(-1.0 / scale))
    low = 1.0 - np.exp(-np.abs(np.minimum(values, 0) - 1) / scale) / (1.0 + math.exp(-1.0 / scale))
    return np.where(values >= 1, high, low)
