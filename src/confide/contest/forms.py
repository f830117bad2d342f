"""Metrics as linear forms in the labels, with public coefficients.

Scores, ids and the number of rows are public; only labels are private. Each metric but average precision is then a
function of one sum `sum_i c_i y_i` and of the number of positives:

- AUC and balanced accuracy (the AUC of the calls) need `2W = sum_i r_i y_i`, where `r_i` is the number of rows below
  row i less the number above. Pairs of positives cancel, so that `AUC = 1/2 + 2W / (2 n m)`. A tie counts one half.
- The others are ratios of sums over rows: `sum_i (a_i + b_i y_i) / sum_i (c_i + d y_i)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.contest.metric import CLIP, ContestMetric
from confide.counts import FloatArray
from confide.errors import ParameterError

UNIT_BITS = 20
"""Coefficients that are no whole numbers are rounded to multiples of 2^-20."""

PAIRS = frozenset({"auc", "balanced_accuracy"})
"""Metrics that compare each positive with each negative."""

_RANGES = {
    "log_loss": (-math.log1p(-CLIP), -math.log(CLIP)),
    "calibration_in_the_large": (-1.0, 1.0),
}


def metric_range(metric: ContestMetric) -> tuple[float, float]:
    """Return the least and the largest value that a metric can have."""
    return _RANGES.get(metric.name, (0.0, 1.0))


def checked_scores(metric: ContestMetric, scores: FloatArray, rows: int) -> FloatArray:
    """Refuse scores that are too few or many, not finite, or no probabilities where the metric needs them."""
    values: FloatArray = np.ascontiguousarray(scores, dtype=np.float64)
    if values.shape != (rows,):
        raise ParameterError(f"`scores` must be one column of {rows} numbers, one for each row")
    least, most = (values.min(), values.max()) if rows else (0.0, 0.0)
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ParameterError("`scores` must be finite numbers; fill in those that are missing")
    if metric.kind.probabilities and not (least >= 0.0 and most <= 1.0):
        raise ParameterError(f"{metric.title} needs probabilities: each score must lie in [0, 1]")
    return values


def calls_of(metric: ContestMetric, scores: FloatArray) -> NDArray[np.bool_]:
    """Return which rows are called positive: those whose score is at least the threshold."""
    if metric.threshold is None:
        raise ParameterError(f"{metric.name} has no threshold; it does not call rows")
    return np.greater_equal(scores, metric.threshold)


@dataclass(frozen=True, slots=True, repr=False)
class TiedBlocks:
    """Rows in ascending order of score, and the block of equal scores that each lies in.

    `order` sorts the rows. For the k-th row in that order, `start[k]` and `end[k]` are the first position of its block
    and the first one after it.
    """

    order: NDArray[np.intp]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, scores: FloatArray | NDArray[np.bool_]) -> TiedBlocks:
        """Sort scores and find their blocks."""
        order = np.argsort(scores)
        ordered = scores[order]
        positions = np.arange(scores.size, dtype=np.int64)
        breaks = np.flatnonzero(ordered[1:] != ordered[:-1])
        if breaks.size == scores.size - 1:  # no ties
            return cls(order, positions, positions + 1)
        edges = np.concatenate(([0], breaks + 1, [scores.size]))
        sizes = np.diff(edges)
        return cls(order, np.repeat(edges[:-1], sizes), np.repeat(edges[1:], sizes))

    @property
    def coefficients(self) -> NDArray[np.int64]:
        """Return `r_i`, in ascending order of score: the number of rows below less the number above."""
        coefficients: NDArray[np.int64] = self.start + self.end - self.order.size
        return coefficients

    def in_rows(self, ordered: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bring numbers from ascending order of score back to the order of rows."""
        values = np.empty_like(ordered)
        values[self.order] = ordered
        return values


def pair_blocks(metric: ContestMetric, scores: FloatArray) -> TiedBlocks:
    """Return the blocks that AUC compares: of scores, or for balanced accuracy of calls."""
    return TiedBlocks.of(calls_of(metric, scores) if metric.name == "balanced_accuracy" else scores)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowTerms:
    """Terms of a ratio `sum_i (constant_i + slope_i y_i) / sum_i (weight_i + weight_slope * y_i)`.

    `weight` is one number where it is the same for all rows. `row_weight` is the largest weight that a row can have.
    """

    constant: FloatArray
    slope: FloatArray
    weight: FloatArray | float
    weight_slope: float
    row_weight: float = 1.0


def row_terms(metric: ContestMetric, scores: FloatArray) -> RowTerms:
    """Return the terms of a metric that is a ratio of sums over rows."""
    if metric.kind.threshold:
        return _call_terms(metric.name, calls_of(metric, scores).astype(np.float64))
    if metric.name == "brier":
        return RowTerms(constant=scores**2, slope=1.0 - 2.0 * scores, weight=1.0, weight_slope=0.0)
    if metric.name == "calibration_in_the_large":
        return RowTerms(constant=-scores, slope=np.ones_like(scores), weight=1.0, weight_slope=0.0)
    if metric.name == "log_loss":
        cut = np.clip(scores, CLIP, 1.0 - CLIP)
        otherwise = -np.log1p(-cut)
        return RowTerms(constant=otherwise, slope=-np.log(cut) - otherwise, weight=1.0, weight_slope=0.0)
    raise ParameterError(f"{metric.name} is not a ratio of sums over rows")


def _call_terms(name: str, calls: FloatArray) -> RowTerms:
    """Return the terms of a measure of calls, which are 0 or 1."""
    nothing = np.zeros_like(calls)
    if name == "accuracy":
        return RowTerms(constant=1.0 - calls, slope=2.0 * calls - 1.0, weight=1.0, weight_slope=0.0)
    if name == "recall":
        return RowTerms(constant=nothing, slope=calls, weight=0.0, weight_slope=1.0)
    if name == "specificity":
        return RowTerms(constant=1.0 - calls, slope=calls - 1.0, weight=1.0, weight_slope=-1.0)
    if name == "precision":
        return RowTerms(constant=nothing, slope=calls, weight=calls, weight_slope=0.0)
    if name == "f1":
        return RowTerms(constant=nothing, slope=2.0 * calls, weight=calls, weight_slope=1.0, row_weight=2.0)
    raise ParameterError(f"{name} is not a ratio of sums over rows")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinearForm:
    """Whole coefficients `c_i` of a metric, which is a function of `total = sum_i c_i y_i` and the number of positives.

    Both may come with noise. The metric is `(constant + unit * total) / (weight + weight_slope * positives)`, or for
    AUC `1/2 + total / (2 n m)`. For calibration in the large all coefficients are 1: the total is the number of
    positives itself.
    """

    coefficients: NDArray[np.int64]
    metric: ContestMetric
    unit: float = 1.0
    constant: float = 0.0
    weight: float = 0.0
    weight_slope: float = 0.0

    def value_of(self, total: float, positives: float, rows: int) -> float:
        """Return the metric, cut to its range. Class sizes that noise made impossible count as the nearest possible."""
        low, high = metric_range(self.metric)
        return min(max(self._ratio(total, positives, rows), low), high)

    def derivatives(self, total: float, positives: float, rows: int) -> tuple[float, float]:
        """Return the derivatives of the metric in the total and in the number of positives, for the delta method."""
        weight = self._weight(positives, rows)
        if self.metric.name in PAIRS:
            size = _class_size(positives, rows)
            return 0.5 / weight, -0.5 * total * (rows - 2.0 * size) / weight**2
        return self.unit / weight, -self._ratio(total, positives, rows) * self.weight_slope / weight

    def sampling_variance(self, value: float, positives: float, rows: int) -> float:
        """Return an upper bound on the variance of the metric over samples of rows, which needs no more labels.

        A mean of numbers in [a, b] with mean v has a variance of at most (v - a)(b - v) for each row that counts
        (Bhatia & Davis 2000); that of an AUC is at most v (1 - v) / min(n, m) (Birnbaum & Klose 1957); that of F1 is
        v (1 - v)(2 - v) / (n + calls) by the delta method.
        """
        low, high = metric_range(self.metric)
        spread = max(value - low, 0.0) * max(high - value, 0.0)
        weight = self._weight(positives, rows)
        if self.metric.name in PAIRS:
            size = _class_size(positives, rows)
            return spread / min(size, rows - size)
        return spread * (2.0 - value if self.metric.name == "f1" else 1.0) / weight

    def _ratio(self, total: float, positives: float, rows: int) -> float:
        weight = self._weight(positives, rows)
        return 0.5 + 0.5 * total / weight if self.metric.name in PAIRS else (self.constant + self.unit * total) / weight

    def _weight(self, positives: float, rows: int) -> float:
        if self.metric.name in PAIRS:
            size = _class_size(positives, rows)
            return size * (rows - size)
        return max(self.weight + self.weight_slope * positives, 1.0)


def linear_coefficients(metric: ContestMetric, scores: FloatArray) -> LinearForm:
    """Return a metric as a form with whole coefficients.

    >>> linear_coefficients(ContestMetric.checked("auc"), np.array([0.1, 0.7, 0.7])).coefficients
    array([-2,  1,  1])
    """
    if not metric.kind.linear:
        raise ParameterError(f"{metric.title} is not a linear form in the labels; use the masked final")
    values = checked_scores(metric, scores, len(scores))
    if metric.name in PAIRS:
        blocks = pair_blocks(metric, values)
        return LinearForm(coefficients=blocks.in_rows(blocks.coefficients), metric=metric)
    terms = row_terms(metric, values)
    unit = 1.0 if metric.kind.threshold or metric.name == "calibration_in_the_large" else 2.0**-UNIT_BITS
    weight = float(np.sum(np.broadcast_to(terms.weight, values.shape)))
    return LinearForm(
        coefficients=np.rint(terms.slope / unit).astype(np.int64),
        metric=metric,
        unit=unit,
        constant=float(terms.constant.sum()),
        weight=weight,
        weight_slope=terms.weight_slope,
    )


def _class_size(positives: float, rows: int) -> float:
    return min(max(positives, 1.0), max(rows - 1.0, 1.0))
