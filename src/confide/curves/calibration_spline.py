"""Calibration curve as a penalised logistic spline on a natural cubic basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.blocks import map_blocks
from confide.counts import FloatArray, ScoreCounts
from confide.curves.penalised_logistic import logistic, penalised_fit
from confide.errors import ParameterError, WeightError

NEAREST = 1e-6
"""Least distance of two knots, as a share of the distance from the first to the last.

Roughness grows with the third power of 1 / distance: beside knots much nearer than this, rounding hides the roughness
of all other functions. Knots that are merged at this distance move a fitted curve by some 1e-5 or less.
"""


@dataclass(frozen=True, slots=True, eq=False)
class NaturalSpline:
    """Functions that are cubic between knots and straight outside: a constant, a line, and curved ones.

    Coordinates run from 0 at the first knot to 1 at the last. A function is `a + b (x - 1/2) + sum_j c_j Z_j(x)`. The
    curved functions `Z_j` are chosen such that the roughness, the integral of the squared second derivative, is
    `sum_j c_j^2`, and that they have no overlap with constant and line at the knots (Wood 2017, section 5.3.1).

    `values` holds each function at each knot, `bends` its second derivative there; a function is a column.
    """

    first: float
    width: float
    knots: FloatArray
    values: FloatArray
    bends: FloatArray

    @classmethod
    def through(cls, knots: FloatArray) -> NaturalSpline:
        """Build the functions for ascending knots, of which the last is above the first; near ones are merged."""
        first, width = float(knots[0]), float(knots[-1] - knots[0])
        at = _apart((knots - first) / width)
        line = np.column_stack((np.ones(at.size), at - 0.5))
        if at.size == 2:
            return cls(first, width, at, line, np.zeros_like(line))
        second = _second_derivatives(at)
        roughness, directions = np.linalg.eigh(second.T @ _overlaps(at) @ second)
        curved = directions[:, 2:] / np.sqrt(roughness[2:])
        bends = np.zeros((at.size, at.size))
        bends[1:-1, 2:] = second @ curved
        return cls(first, width, at, np.column_stack((line, curved)), bends)

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.knots.size

    def design(self, points: FloatArray) -> FloatArray:
        """Evaluate every function at each point; a function is a column."""
        x = (points - self.first) / self.width
        left = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, self.size - 2)
        near, far, bend_near, bend_far = _weights(x, self.knots[left], self.knots[left + 1])
        rows: FloatArray = (
            near[:, None] * self.values[left]
            + far[:, None] * self.values[left + 1]
            + bend_near[:, None] * self.bends[left]
            + bend_far[:, None] * self.bends[left + 1]
        )
        return rows

    def combine(self, coefficients: FloatArray, points: FloatArray) -> FloatArray:
        """Evaluate one combination of the functions at many ascending points, without a matrix for them all."""
        x = (points - self.first) / self.width
        values, bends = self.values @ coefficients, self.bends @ coefficients
        result = np.empty(x.size)
        edges = [0, *np.searchsorted(x, self.knots[1:-1]).tolist(), x.size]
        for left in range(self.size - 1):
            part = slice(edges[left], edges[left + 1])
            if part.start == part.stop:
                continue
            start, end = float(self.knots[left]), float(self.knots[left + 1])
            if x[part.start] >= start and x[part.stop - 1] <= end:
                result[part] = _cubic(x[part], start, end, values[left : left + 2], bends[left : left + 2])
                continue
            near, far, bend_near, bend_far = _weights(x[part], self.knots[left], self.knots[left + 1])
            result[part] = (
                near * values[left] + far * values[left + 1] + bend_near * bends[left] + bend_far * bends[left + 1]
            )
        return result


def _apart(knots: FloatArray) -> FloatArray:
    """Leave out knots that are near the one before, or the last; 0 and 1, the first and the last, stay."""
    kept = [0.0]
    for knot in knots[1:-1].tolist():
        if knot - kept[-1] >= NEAREST and 1.0 - knot >= NEAREST:
            kept.append(knot)
    return np.array([*kept, 1.0])


def _cubic(x: FloatArray, start: float, end: float, values: FloatArray, bends: FloatArray) -> FloatArray:
    """Evaluate the piece between two knots, with given values and second derivatives there, by Horner's rule.

    With `t = (x - start) / step` and `b = bends * step^2 / 6` it is
    `values[0] + t (rise - 2 b[0] - b[1] + t (3 b[0] + t (b[1] - b[0])))`.
    """
    step = end - start
    near, far = (bends * (step * step / 6.0)).tolist()
    t = (x - start) / step
    result: FloatArray = t * (far - near)
    result += 3.0 * near
    result *= t
    result += (values[1] - values[0]) - 2.0 * near - far
    result *= t
    result += values[0]
    return result


def _weights(
    x: FloatArray, left: FloatArray | float, right: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weights of values and second derivatives at both ends of a piece in the value at `x` (Wood 2017, table 5.1).

    Outside the knots the last piece goes on straight; there the second derivative of its outer end is 0.
    """
    step = right - left
    near, far = (right - x) / step, (x - left) / step
    inner, outer = np.clip(near, 0.0, 1.0), np.clip(far, 0.0, 1.0)
    bend_near = ((inner**2 - 1.0) * inner + np.maximum(-near, 0.0)) * (step * step / 6.0)
    bend_far = ((outer**2 - 1.0) * outer + np.maximum(-far, 0.0)) * (step * step / 6.0)
    return near, far, bend_near, bend_far


def _overlaps(knots: FloatArray) -> FloatArray:
    """Integrals of products of the hat functions at inner knots."""
    step = np.diff(knots)
    between = step[1:-1] / 6.0
    return np.diag((step[:-1] + step[1:]) / 3.0) + np.diag(between, 1) + np.diag(between, -1)


def _second_derivatives(knots: FloatArray) -> FloatArray:
    """Matrix from values at the knots to second derivatives at inner knots, for which the spline is smooth."""
    step = np.diff(knots)
    inner = np.arange(knots.size - 2)
    differences = np.zeros((knots.size - 2, knots.size))
    differences[inner, inner] = 1.0 / step[:-1]
    differences[inner, inner + 1] = -1.0 / step[:-1] - 1.0 / step[1:]
    differences[inner, inner + 2] = 1.0 / step[1:]
    return np.asarray(np.linalg.solve(_overlaps(knots), differences), dtype=np.float64)


MOST_CELLS = 4_096
"""Distinct scores beyond which neighbours share a cell in the fit: cells of equal width in log-odds, at their mean."""

_SMALLEST = 1e-6  # scores nearer to 0 or 1 count as this far away
_NARROWEST = 1e-8  # log-odds in a narrower range are one score: rounding, 3e-15, would move knots by NEAREST


@dataclass(frozen=True, slots=True, kw_only=True)
class Spline:
    """Penalised logistic regression on a natural cubic spline in the log-odds of the score.

    The spline has `knots` knots at equally spaced quantiles of the distinct scores. A penalty on its roughness is
    chosen by restricted maximum likelihood (Laplace's approximation), as by mgcv's
    `gam(y ~ s(qlogis(p), bs = "cr", k = knots), family = binomial, method = "REML")`. Under the strongest penalty the
    curve is logistic recalibration: an intercept and a slope. Weights count as repetitions.

    Scores within 1e-6 of 0 or 1 count as 1e-6 away, and scores of exactly 0 (or 1) as half as far as the next score,
    if that is farther. Knots nearer to each other than 1e-6 of the range of log-odds are merged, and if this range is
    below 1e-8, all scores are one.
    """

    knots: int = 10

    def __post_init__(self) -> None:
        if isinstance(self.knots, bool) or not isinstance(self.knots, int | np.integer) or not 3 <= self.knots <= 50:
            raise ParameterError(f"knots must be a whole number from 3 to 50, got {self.knots!r}")

    def fit(self, counts: ScoreCounts) -> SplineCurve | ConstantCurve:
        """Fit the curve to rows of probabilities."""
        positives, total = float(counts.total_positives), float(counts.total_positives + counts.total_negatives)
        basis = SplineBasis.of(counts, self.knots)
        if basis is None or positives in (0.0, total):
            return ConstantCurve(share=positives / total, rows=total)
        ours = basis.cells.positives[None, :].astype(np.float64)
        try:
            fit = penalised_fit(basis.design, ours, ours + basis.cells.negatives)
            covariance = np.linalg.inv(fit.information[0])
        except np.linalg.LinAlgError:
            raise WeightError(
                "weights are too large or too small for a smooth calibration curve, in which they count as rows; "
                "multiply all by one number"
            ) from None
        return SplineCurve(basis=basis, coefficients=fit.coefficients[0], covariance=covariance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SplineBasis:
    """Spline functions at the cells of a set of scores."""

    low: float
    high: float
    spline: NaturalSpline
    cells: ScoreCounts
    design: FloatArray

    @classmethod
    def of(cls, counts: ScoreCounts, knots: int, cells: int = MOST_CELLS) -> SplineBasis | None:
        """Place the knots, and merge neighbouring scores where they are more than `cells`; None for one score."""
        low, high = _clip_ends(counts.scores)
        distinct = counts.scores[_distinct_part(counts.scores, low, high)]
        if distinct.size < 2 or np.ptp(_log_odds(distinct[[0, -1]], low, high)) < _NARROWEST:
            return None
        places = np.linspace(0.0, distinct.size - 1.0, min(knots, distinct.size))
        below = np.minimum(places.astype(np.int64), distinct.size - 2)
        left, right = (_log_odds(distinct[below + i], low, high) for i in (0, 1))
        spline = NaturalSpline.through(left + (places - below) * (right - left))
        starts = _cell_starts(counts.scores, distinct, low, high, cells)
        merged = counts.merged(starts)
        design = spline.design(_log_odds(merged.scores, low, high))
        return cls(low=low, high=high, spline=spline, cells=merged, design=design)

    def coordinates(self, scores: FloatArray) -> FloatArray:
        """Return the log-odds of scores, kept within the basis."""
        return _log_odds(scores, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplineCurve:
    """Fitted spline, with the covariance of its coefficients given the penalty."""

    basis: SplineBasis
    coefficients: FloatArray
    covariance: FloatArray

    def observed(self, scores: FloatArray) -> FloatArray:
        """Share of positives at ascending scores."""
        share = np.empty(scores.size)

        def fill(part: slice) -> None:
            log_odds = self.basis.spline.combine(self.coefficients, self.basis.coordinates(scores[part]))
            share[part] = logistic(log_odds)

        map_blocks(fill, scores.size)
        return share

    def standard_error(self, scores: FloatArray) -> FloatArray:
        """Pointwise standard error of the share, `p (1 - p)` times that of the log-odds."""
        share = self.observed(scores)
        variance = np.empty(scores.size)

        def fill(part: slice) -> None:
            design = self.basis.spline.design(self.basis.coordinates(scores[part]))
            variance[part] = np.sum((design @ self.covariance) * design, axis=1)

        map_blocks(fill, scores.size)
        error: FloatArray = share * (1.0 - share) * np.sqrt(variance)
        return error


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantCurve:
    """Curve of rows that all have one score or one label: the share of positives."""

    share: float
    rows: float

    def observed(self, scores: FloatArray) -> FloatArray:
        """Share of positives at each score."""
        return np.full(scores.size, self.share)

    def standard_error(self, scores: FloatArray) -> FloatArray:
        """Binomial standard error of the share."""
        return np.full(scores.size, float(np.sqrt(self.share * (1.0 - self.share) / self.rows)))


def _clip_ends(scores: FloatArray) -> tuple[float, float]:
    """Return where scores of 0 and 1 are moved to."""
    first, last = np.searchsorted(scores, (0.0, 1.0), side="right")[0], np.searchsorted(scores, 1.0, side="left")
    inner = scores[first:last]
    low = inner[0] / 2.0 if first > 0 and inner.size else 0.0
    high = (1.0 - inner[-1]) / 2.0 if last < scores.size and inner.size else 0.0
    return max(float(low), _SMALLEST), max(float(high), _SMALLEST)


def _log_odds(scores: FloatArray, low: float, high: float) -> FloatArray:
    inside = np.clip(scores, low, 1.0 - high)
    log_odds: FloatArray = np.log(inside / (1.0 - inside))
    return log_odds


def _distinct_part(scores: FloatArray, low: float, high: float) -> slice:
    """Return the scores without those that are moved to the same place as their neighbour."""
    first = max(int(np.searchsorted(scores, low, side="right")) - 1, 0)
    last = int(np.searchsorted(scores, 1.0 - high, side="left")) + 1
    return slice(first, last)


def _cell_starts(scores: FloatArray, distinct: FloatArray, low: float, high: float, cells: int) -> NDArray[Any]:
    """Return the index at which each cell begins; the lowest and the highest score have cells of half the width."""
    if distinct.size <= cells:
        starts = np.arange(distinct.size) + max(int(np.searchsorted(scores, low, side="right")) - 1, 0)
        starts[0] = 0
        return starts
    ends = _log_odds(distinct[[0, -1]], low, high)
    half = (ends[1] - ends[0]) / (2.0 * (cells - 1))
    edges = np.linspace(ends[0] + half, ends[1] - half, cells - 1)
    return np.unique(np.concatenate(([0], np.searchsorted(scores, 1.0 / (1.0 + np.exp(-edges))))))
