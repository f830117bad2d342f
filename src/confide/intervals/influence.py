"""Influence of each row on a metric, and formulas that carry their derivatives.

A smooth function of weighted rows changes by about the sum of its derivatives times the changes of the weights. So its
variance over rows, over clusters of rows, or of a difference between two models is that of a sum (the infinitesimal
jackknife; in surveys, Taylor linearisation; for means and maximum likelihood, the sandwich).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from confide.blocks import map_blocks
from confide.counts import CountArray, FloatArray
from confide.errors import DataError, OneClassError, ScoreError
from confide.metrics import calibration
from confide.metrics.calibration_fit import rates
from confide.metrics.registry import get_metric
from confide.metrics.threshold import MEASURES, ConfusionMatrix
from confide.sources.arrays import count_checked
from confide.sources.rows import CodedScores


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gradient:
    """A value and its derivatives in a few variables (forward differentiation).

    >>> x, y = Gradient.variables(np.array([3.0, 4.0]))
    >>> (x / (x + y)).slope  # y/(x+y)^2, -x/(x+y)^2
    array([ 0.08163265, -0.06122449])
    """

    value: float
    slope: FloatArray

    @classmethod
    def variables(cls, values: FloatArray) -> list[Gradient]:
        """Return each value as a variable of its own."""
        return [cls(float(value), unit) for value, unit in zip(values, np.eye(values.size), strict=True)]

    @classmethod
    def of(cls, value: float | Gradient, size: int) -> Gradient:
        """Return a number as a constant; a missing value (NaN) has no derivative either."""
        if isinstance(value, Gradient):
            return value
        return cls(float(value), np.full(size, np.nan if np.isnan(value) else 0.0))

    def _other(self, other: float | Gradient) -> Gradient:
        return Gradient.of(other, self.slope.size)

    def __add__(self, other: float | Gradient) -> Gradient:
        other = self._other(other)
        return Gradient(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other: float | Gradient) -> Gradient:
        other = self._other(other)
        return Gradient(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __rmul__ = __mul__

    def __neg__(self) -> Gradient:
        return Gradient(-self.value, -self.slope)

    def __sub__(self, other: float | Gradient) -> Gradient:
        return self + -self._other(other)

    def __rsub__(self, other: float | Gradient) -> Gradient:
        return self._other(other) + -self

    def __pow__(self, exponent: float) -> Gradient:
        if self.value == 0.0 and exponent < 1.0:
            return Gradient(self.value, np.full(self.slope.size, np.nan))  # a root has no derivative at 0
        return Gradient(self.value**exponent, exponent * self.value ** (exponent - 1.0) * self.slope)

    def __truediv__(self, other: float | Gradient) -> Gradient:
        return self * self._other(other) ** -1.0

    def __rtruediv__(self, other: float | Gradient) -> Gradient:
        return self._other(other) * self**-1.0

    def __float__(self) -> float:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0.0

    def __le__(self, other: float | Gradient) -> bool:
        return self.value <= float(other)


def measure_gradient(cells: FloatArray, measure: Callable[[ConfusionMatrix], Any]) -> Gradient:
    """Return a measure of a confusion matrix with its derivatives by cell.

    Cells are true positives, false positives, false negatives and true negatives.
    """
    tp, fp, fn, tn = (cast("float", variable) for variable in Gradient.variables(cells))
    matrix = ConfusionMatrix(true_positives=tp, false_positives=fp, false_negatives=fn, true_negatives=tn)
    return Gradient.of(measure(matrix), 4)


Labels = NDArray[np.bool_]

_SMALLEST = float(np.finfo(np.float64).eps)  # what log loss moves scores of 0 and 1 inwards by


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Linearised:
    """Value of a metric, and its influence values, one a row.

    `influence[j]` is the derivative of the value in the weight of row `j`. Metrics do not change if all weights double,
    so the influence values, weighted, add up to 0.
    """

    value: float
    influence: FloatArray

    def __repr__(self) -> str:
        return "Linearised(<private>)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Sample:
    """Validated rows: labels, scores and the weight of each."""

    labels: Labels
    scores: FloatArray
    weights: FloatArray
    coded: CodedScores | None = None

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def mean(self, values: FloatArray) -> Linearised:
        """Linearise the mean of a value of each row."""
        mean = float(np.dot(self.weights, values)) / self.total
        return Linearised(mean, (values - mean) / self.total)


def has_influence(metric: str, **options: Any) -> bool:
    """Return whether a metric of the registry has influence values in closed form."""
    if metric not in _FORMULAS:
        return False
    return all(name in ("threshold", "beta") or tuple(value) == (0.0, 1.0) for name, value in options.items())


def linearise(
    metric: str,
    labels: Labels,
    scores: FloatArray,
    weights: CountArray | None = None,
    coded: CodedScores | None = None,
    **options: Any,
) -> Linearised:
    """Compute a metric of the registry and its influence values, of rows that were validated already.

    `coded` are the scores of whole rows by their places, if at hand.
    A metric that has no value, as a ratio without denominator, is NaN and so are its influence values.
    """
    chosen = get_metric(metric)
    if not has_influence(metric, **options):
        raise DataError(f"{chosen.name} has no influence values in closed form; use the bootstrap")
    if not labels.any() or labels.all():
        raise OneClassError("all rows belong to one class; add rows of the other class, or check the positive label")
    if chosen.probabilities and not (scores.min() >= 0.0 and scores.max() <= 1.0):
        raise ScoreError(
            f"{chosen.name} needs scores in [0, 1], as it reads them as probabilities; calibrate them first"
        )
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    named = {name: value for name, value in options.items() if name in ("threshold", "beta")}
    return _FORMULAS[metric](_Sample(labels, scores, weight, coded if weights is None else None), **named)


def share_below(queries: FloatArray, rivals: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the share of the rivals' weight below each query, ties counting half."""
    order = np.argsort(rivals, kind="stable")
    ordered, through = rivals[order], np.concatenate(([0.0], np.cumsum(weights[order])))
    distinct, back = np.unique(queries, return_inverse=True)
    left = np.searchsorted(ordered, distinct, side="left")
    right = np.searchsorted(ordered, distinct, side="right")
    share: FloatArray = ((through[left] + through[right]) / (2.0 * through[-1]))[back]
    return share


def _auc(rows: _Sample) -> Linearised:
    """Linearise AUC: DeLong's placement values less AUC, over the weight of the class."""
    ours, theirs = rows.labels, ~rows.labels
    below = share_below(rows.scores[ours], rows.scores[theirs], rows.weights[theirs])
    above = 1.0 - share_below(rows.scores[theirs], rows.scores[ours], rows.weights[ours])
    positives, negatives = rows.weights[ours].sum(), rows.weights[theirs].sum()
    area = float(np.dot(rows.weights[ours], below) / positives)
    influence = np.empty(rows.labels.size)
    influence[ours], influence[theirs] = (below - area) / positives, (above - area) / negatives
    return Linearised(area, influence)


def _average_precision(rows: _Sample) -> Linearised:
    """Linearise average precision.

    A row changes the precision at its own score if it is positive, and the precision `TP/C` at every score up to its
    own, by `(label - precision) / C`.
    """
    if rows.coded is not None:
        cell, counts = rows.coded.codes, rows.coded.counts
        ours, every = counts.positives.astype(np.float64), (counts.positives + counts.negatives).astype(np.float64)
    else:
        _, cell = np.unique(rows.scores, return_inverse=True)
        ours = np.bincount(cell, weights=rows.weights * rows.labels).astype(np.float64, copy=False)
        every = np.bincount(cell, weights=rows.weights).astype(np.float64, copy=False)
    called = np.cumsum(every[::-1], dtype=np.float64)[::-1]
    precision = np.cumsum(ours[::-1])[::-1] / called
    positives = ours.sum()
    area = float(np.dot(ours, precision) / positives)
    gained, lost = np.cumsum(ours / called), np.cumsum(ours * precision / called)
    table = np.stack((-lost, precision - area + gained - lost), axis=1).reshape(-1) / positives
    influence = np.empty(rows.labels.size)

    def fill(part: slice) -> None:
        influence[part] = table[2 * cell[part].astype(np.int64) + rows.labels[part]]

    map_blocks(fill, influence.size)
    return Linearised(area, influence)


def _brier(rows: _Sample) -> Linearised:
    return rows.mean((rows.scores - rows.labels) ** 2)


def _log_loss(rows: _Sample) -> Linearised:
    score = np.clip(rows.scores, _SMALLEST, 1.0 - _SMALLEST)
    return rows.mean(-np.where(rows.labels, np.log(score), np.log1p(-score)))


def _scaled_brier(rows: _Sample) -> Linearised:
    brier, share = _brier(rows), rows.mean(rows.labels.astype(np.float64))
    spread = share.value * (1.0 - share.value)
    of_spread = (1.0 - 2.0 * share.value) * share.influence
    return Linearised(1.0 - brier.value / spread, -(brier.influence - brier.value / spread * of_spread) / spread)


def _observed_expected(rows: _Sample) -> Linearised:
    expected = float(np.dot(rows.weights, rows.scores))
    if expected <= 0.0:
        return _undefined(rows)
    ratio = float(np.dot(rows.weights, rows.labels)) / expected
    return Linearised(ratio, (rows.labels - ratio * rows.scores) / expected)


def _calibration_intercept(rows: _Sample) -> Linearised:
    value = calibration.calibration_intercept(_counts(rows))
    rate = rates(_log_odds(rows) + value)
    curvature = float(np.dot(rows.weights, rate * (1.0 - rate)))
    return Linearised(value, (rows.labels - rate) / curvature)


def _calibration_line(rows: _Sample) -> tuple[Linearised, Linearised]:
    """Linearise intercept and slope, fitted together: the inverse information times each row's score."""
    intercept, slope = calibration.calibration_line(_counts(rows))
    if math.isnan(slope):
        return _undefined(rows), _undefined(rows)
    log_odds = _log_odds(rows)
    rate = rates(slope * log_odds + intercept)
    information = rows.weights * rate * (1.0 - rate)
    # Centred at its weighted mean, the log-odds are orthogonal to the constant.
    centre = np.dot(information, log_odds) / information.sum()
    centred, residual = log_odds - centre, rows.labels - rate
    of_slope = centred * residual / np.dot(information, centred**2)
    return Linearised(intercept, residual / information.sum() - centre * of_slope), Linearised(slope, of_slope)


def _at_threshold(measure: Callable[..., Any]) -> Callable[..., Linearised]:
    """Linearise a function of the confusion matrix: its derivative in the cell that a row falls into."""

    def formula(rows: _Sample, *, threshold: float = 0.5, **options: float) -> Linearised:
        cell = 2 * (rows.scores < threshold) + ~rows.labels  # true and false positives, false and true negatives
        totals = np.bincount(cell, weights=rows.weights, minlength=4).astype(np.float64)
        value = measure_gradient(totals, lambda matrix: measure(matrix, threshold, **options))
        return Linearised(float(value), value.slope[cell])

    return formula


def _measure(name: str) -> Callable[..., Any]:
    return lambda matrix, threshold: getattr(matrix, name)


_FORMULAS: Mapping[str, Callable[..., Linearised]] = MappingProxyType(
    {
        "auc": _auc,
        "average_precision": _average_precision,
        "brier": _brier,
        "scaled_brier": _scaled_brier,
        "log_loss": _log_loss,
        "observed_expected": _observed_expected,
        "calibration_intercept": _calibration_intercept,
        "calibration_slope": lambda rows: _calibration_line(rows)[1],
        "joint_intercept": lambda rows: _calibration_line(rows)[0],
        **{name: _at_threshold(_measure(name)) for name in MEASURES},
        "f_beta": _at_threshold(lambda matrix, threshold, beta=1.0: matrix.f_beta(beta)),
        "skew_aware_f": _at_threshold(lambda matrix, threshold, beta=1.0: matrix.skew_aware_f(beta)),
        "net_benefit": _at_threshold(lambda matrix, threshold: matrix.net_benefit(threshold)),
    }
)

LINEAR_METRICS = tuple(_FORMULAS)
"""Names of the metrics that have influence values in closed form."""


def _counts(rows: _Sample) -> Any:
    return count_checked(rows.labels, rows.scores, rows.weights)


def _log_odds(rows: _Sample) -> FloatArray:
    odds: FloatArray = np.log(rows.scores) - np.log1p(-rows.scores)
    return odds


def _undefined(rows: _Sample) -> Linearised:
    return Linearised(math.nan, np.full(rows.labels.size, math.nan))
