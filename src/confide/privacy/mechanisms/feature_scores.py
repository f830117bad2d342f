"""Integer scores of binary features, and how much one row can change them.

With `n_fl` for the rows that have the feature (f = 1) or not (f = 0) and the label l, of N rows in all [1]_:

- "total-count": `n_1`, how many rows have the feature.
- "difference-count": `|n_11 - n_10|`.
- "purity-index": `max(|n_11 - n_10|, |n_01 - n_00|)`.
- "information-gain": N times the mutual information of feature and label in nats, in units of `2^-20`.

Nothing is released here. Proof: feature_scores.proof.md.

References
----------
.. [1] B. Stoddard, Y. Chen and A. Machanavajjhala, "Differentially private algorithms for empirical machine learning",
   2014, section 3.1.

"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError, did_you_mean
from confide.features import FeatureRows, Integers
from confide.privacy.mechanisms.row_limits import checked_limit, sampled
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import lower_log, upper_log

SCORES = ("total-count", "difference-count", "purity-index", "information-gain")

GAIN_UNITS = 2**20
"""Information gain is rounded to this part of a nat."""

# The sums below are right to some 2^-47 of N log N.
ROUNDING = Fraction(1, 2**40)

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Largest difference of scores between neighbours, in whole units.

    `one` is the most that a single feature's score changes, `all` the most that the changes of all features' scores
    add up to, `apart` the most that the changes of two features' scores differ: no more than `one` if all scores rise
    or all fall ("monotone" scores), else up to twice as much. All are 0 where the scores are public.
    """

    one: int
    all: int
    apart: int


def checked_score(name: object) -> str:
    """Return the name of a score, refusing others."""
    if name not in SCORES:
        hint = did_you_mean(name, SCORES)
        raise ParameterError(f"score must be one of {', '.join(SCORES)}; got {str(name)[:40]!r}. {hint}".rstrip())
    return str(name)


def units_of(score: str) -> int:
    """Return how many whole units make 1: a row for counts, a row times a nat for information gain."""
    return GAIN_UNITS if checked_score(score) == "information-gain" else 1


def scored(rows: FeatureRows, score: str) -> Integers:
    """Compute the score of every feature, in whole units.

    >>> rows = FeatureRows.from_matrix([[1, 0], [1, 1], [1, 0]], np.array([True, False, True]))
    >>> scored(rows, "total-count"), scored(rows, "purity-index")
    (array([3, 1]), array([1, 2]))
    """
    score = checked_score(score)
    having = rows.counts()
    every: Integers = having[0] + having[1]
    if score == "total-count":
        return every
    if score == "difference-count":
        return _difference(having)
    sizes = np.array(rows.class_sizes(), dtype=np.int64)
    lacking = sizes[:, np.newaxis] - having
    if score == "information-gain":
        return _gains(having, lacking, sizes)
    purer: Integers = np.maximum(_difference(having), _difference(lacking))
    return purer


def limited_scores(rows: FeatureRows, score: str, most_features: int | None) -> Integers:
    """Compute the score of every feature after limiting each row to so many features; None takes rows as they are."""
    return scored(rows if most_features is None else sampled(rows, most_features), score)


def sensitivity_of(
    score: str, neighbours: Neighbours, *, most_features: int | None, width: int, rows: int | None
) -> Sensitivity:
    """Bound how much the scores of limited rows differ between neighbours, from public numbers alone.

    `width` is the number of features, `rows` the number of rows where that is public (None under add-remove-one).

    >>> sensitivity_of("difference-count", Neighbours.REPLACE_ONE, most_features=3, width=100, rows=50)
    Sensitivity(one=2, all=6, apart=4)
    """
    score, neighbours = checked_score(score), Neighbours.parse(neighbours)
    most = width if most_features is None else min(checked_limit(most_features, "most_features"), width)
    one, every = _changes(score, neighbours, most, width, rows)
    together = score == "purity-index" or (score == "total-count" and neighbours == Neighbours.ADD_REMOVE_ONE)
    return Sensitivity(one=one, all=every, apart=one if together else min(2 * one, every))


def sensitivity_for(rows: FeatureRows, score: str, neighbours: Neighbours, most_features: int | None) -> Sensitivity:
    """Bound the same for given rows, of which only public facts are read."""
    neighbours = Neighbours.parse(neighbours)
    public = None if neighbours == Neighbours.ADD_REMOVE_ONE else len(rows)
    return sensitivity_of(score, neighbours, most_features=most_features, width=rows.width, rows=public)


def public_order(width: int) -> Integers:
    """Return the features in a fixed order that mixes near and far columns, for methods that favour the first."""
    return np.argsort(np.arange(1, width + 1, dtype=np.uint64) * _ODD).astype(np.int64)


def _changes(score: str, neighbours: Neighbours, most: int, width: int, rows: int | None) -> tuple[int, int]:
    """Return the most that one feature's score changes, and the most that all change together."""
    if score == "information-gain":
        gain = _gain_change(neighbours, rows)
        return gain, width * gain
    steps = 1 if neighbours == Neighbours.ADD_REMOVE_ONE else 2
    if score == "purity-index":
        return steps, width * steps
    if score == "difference-count":
        return steps, most * steps
    return (0, 0) if neighbours == Neighbours.LABEL_ONLY else (1, min(most * steps, width))


def _difference(counts: Integers) -> Integers:
    difference: Integers = np.abs(counts[0] - counts[1])
    return difference


def _gains(having: Integers, lacking: Integers, sizes: Integers) -> Integers:
    """`phi(N) + sum phi(n_fl) - sum phi(n_f) - sum phi(n_l)` with `phi(x) = x log x`, in whole units."""
    inside = _phi(having[0]) + _phi(having[1]) + _phi(lacking[0]) + _phi(lacking[1])
    outside = _phi(having[0] + having[1]) + _phi(lacking[0] + lacking[1])
    gains = float(_phi(sizes.sum())) + inside - outside - float(_phi(sizes).sum())
    return np.rint(gains * GAIN_UNITS).astype(np.int64)


def _phi(counts: NDArray[np.int64]) -> FloatArray:
    numbers = np.asarray(counts, dtype=np.float64)
    return numbers * np.log(np.maximum(numbers, 1.0))


def _gain_change(neighbours: Neighbours, rows: int | None) -> int:
    """Bound the change by one row: `N log N - (N-1) log(N-1)` plus rounding, in whole units, rounded up."""
    if neighbours == Neighbours.ADD_REMOVE_ONE or rows is None:
        raise ParameterError(
            "no number bounds what one row adds to information gain unless the number of rows is public: "
            "ask for label-only, for replace-one (with no rows held out), or for another score"
        )
    many = max(int(rows), 1)
    change = many * upper_log(many) - (many - 1) * lower_log(max(many - 1, 1))
    return math.ceil(GAIN_UNITS * (change + 2 * ROUNDING * many * upper_log(many))) + 1
