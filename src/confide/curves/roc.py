"""ROC curve, its operating points, its hull and its area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.blocks import map_blocks
from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.curves.compiled_sums import compiled_hull


@dataclass(frozen=True, slots=True, eq=False)
class OperatingPoints:
    """Points for each distinct score, from the highest down: positive means `score >= threshold`."""

    thresholds: FloatArray
    true_positives: CountArray
    false_positives: CountArray

    @property
    def positives(self) -> float:
        """Weight of all positives, taken from the last point."""
        last: float = self.true_positives[-1].item()
        return last

    @property
    def negatives(self) -> float:
        """Weight of all negatives, taken from the last point."""
        last: float = self.false_positives[-1].item()
        return last

    @property
    def precision(self) -> FloatArray:
        """Precision at each point; the weight called positive is never zero there."""
        precision: FloatArray = self.true_positives / (self.true_positives + self.false_positives)
        return precision


def operating_points(counts: ScoreCounts) -> OperatingPoints:
    """Accumulate counts from the highest score down."""
    return OperatingPoints(
        read_only(counts.scores[::-1]),
        read_only(np.cumsum(counts.positives[::-1])),
        read_only(np.cumsum(counts.negatives[::-1])),
    )


Curve: TypeAlias = tuple[FloatArray, FloatArray]
"""Places and heights, for example false and true-positive rates, from (0, 0) to (1, 1)."""


def area_between(one: Curve, other: Curve) -> float:
    """Integrate the distance between two piecewise linear curves, which may have vertical steps.

    Between neighbouring places of both curves both are lines, whose difference changes its sign at
    most once; at a step, the line to its right starts at its upper end and the line to its left ends at its lower end.

    >>> corner = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> diagonal = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    >>> area_between(corner, diagonal)
    0.5
    """
    places = np.union1d(one[0], other[0])
    left, right = places[:-1], places[1:]
    start, end = (_on_line(one, left, at) - _on_line(other, left, at) for at in (left, right))
    sizes = np.abs(start) + np.abs(end)
    crossing = start * end < 0.0
    split = np.divide(start**2 + end**2, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
    return float(np.sum((right - left) * np.where(crossing, split, sizes)) / 2.0)


def _on_line(curve: Curve, left: FloatArray, at: FloatArray) -> FloatArray:
    """A curve's height at places on the lines that begin at or before others, steps behind them."""
    x, y = curve
    first = np.clip(np.searchsorted(x, left, side="right") - 1, 0, x.size - 2)
    heights: FloatArray = y[first] + (y[first + 1] - y[first]) * (at - x[first]) / (x[first + 1] - x[first])
    return heights


_MOST_PASSES = 64
_LARGEST_EXACT = 2**61  # products of counts up to this fit a signed 64-bit integer


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """True-positive rate against false-positive rate, from (0, 0) to (1, 1).

    `thresholds` starts with infinity, where nothing is called positive.
    """

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    thresholds: FloatArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def area(self) -> float:
        """Area under the curve by trapezoids, which is exact for it."""
        return float(np.trapezoid(self.true_positive_rate, self.false_positive_rate))

    def area_between(self, low: float, high: float) -> float:
        """Compute the area under the curve over false-positive rates in [low, high]."""
        return _clipped_area(self.false_positive_rate, self.true_positive_rate, low, high)

    def area_beside(self, low: float, high: float) -> float:
        """Compute the area between the curve and the right edge over true-positive rates in [low, high]."""
        return _clipped_area(self.true_positive_rate, 1.0 - self.false_positive_rate, low, high)

    def simplified(self) -> RocCurve:
        """Drop the points that lie on a straight line between their neighbours, as for drawing."""
        x, y = self.false_positive_rate, self.true_positive_rate
        if x.size < 3:
            return self
        dx, dy = np.diff(x), np.diff(y)
        first, second = dx[:-1] * dy[1:], dx[1:] * dy[:-1]
        bends = np.abs(first - second) > 1e-9 * (first + second)
        keep = np.concatenate(([True], bends, [True]))
        return RocCurve(x[keep], y[keep], self.thresholds[keep])


@accepts_predictions
def roc_curve(counts: ScoreCounts) -> RocCurve:
    """Draw the empirical ROC curve, one point for each distinct score.

    >>> curve = roc_curve(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    >>> curve.true_positive_rate
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    counts.both_classes()
    return _curve(operating_points(counts))


@accepts_predictions
def roc_hull(counts: ScoreCounts) -> RocCurve:
    """Draw the convex hull of the ROC curve: what mixing thresholds at random can reach.

    The hull's slopes are the isotonic regression of the label on the score, so its corners are the
    edges of the blocks that pooling adjacent violators makes (Fawcett & Niculescu-Mizil 2007).
    """
    counts.both_classes()
    few = compiled_hull(counts)
    if few is not None:  # the corners of many small hulls, and so few points
        index, x, y = few[:, _chain(few[1].tolist(), few[2].tolist())][:, 1:]
        return _curve(OperatingPoints(counts.scores[len(counts) - index], y, x))
    points = operating_points(counts)
    return _curve(_take(points, hull_corners(counts)))


def hull_corners(counts: ScoreCounts) -> NDArray[np.int64]:
    """Return which operating points are corners of the hull.

    A point on or below the line through two others is no corner of the hull of them all, so such points can be left
    out together, whatever else is. Points are left out in blocks, where they lie below the line through their
    neighbours, then in what remains of all blocks. Whole rows are counted in exact integers.
    """
    points = operating_points(counts)
    x = np.concatenate(([0], points.false_positives))
    y = np.concatenate(([0], points.true_positives))
    if not counts.weighted and points.positives * points.negatives > _LARGEST_EXACT:
        x, y = x.astype(np.float64), y.astype(np.float64)
    parts = map_blocks(lambda part: _bulging(x[part], y[part])[0] + part.start, x.size)
    left = np.concatenate(parts)
    inner, settled = _bulging(x[left], y[left])
    corners: NDArray[np.int64] = left[inner]
    if not settled:
        corners = corners[_chain(x[corners].tolist(), y[corners].tolist())]
    return corners[1:] - 1


def _bulging(x: CountArray, y: CountArray) -> tuple[NDArray[np.int64], bool]:
    """Leave out points below or on the line through their neighbours, again and again; tell whether none is left."""
    kept = np.arange(x.size)
    for _ in range(_MOST_PASSES):
        dx, dy = np.diff(x), np.diff(y)
        above = np.concatenate(([True], dx[:-1] * dy[1:] < dy[:-1] * dx[1:], [True]))
        if x.size < 3 or above.all():
            return kept, True
        x, y, kept = x[above], y[above], kept[above]
    return kept, False


def _chain(x: list[float], y: list[float]) -> NDArray[np.int64]:
    """Walk through the points once and return the corners of their upper hull (Andrew's chain)."""
    chain: list[int] = []
    for new in range(len(x)):
        while len(chain) > 1:
            before, last = chain[-2], chain[-1]
            turn = (x[last] - x[before]) * (y[new] - y[before]) - (y[last] - y[before]) * (x[new] - x[before])
            if turn < 0:  # the last corner lies above the line that would skip it
                break
            chain.pop()
        chain.append(new)
    return np.array(chain, dtype=np.int64)


def _take(points: OperatingPoints, chosen: NDArray[np.int64]) -> OperatingPoints:
    return OperatingPoints(points.thresholds[chosen], points.true_positives[chosen], points.false_positives[chosen])


def _curve(points: OperatingPoints) -> RocCurve:
    return RocCurve(
        np.concatenate(([0.0], points.false_positives / points.negatives)),
        np.concatenate(([0.0], points.true_positives / points.positives)),
        np.concatenate(([np.inf], points.thresholds)),
    )


def _clipped_area(x: FloatArray, y: FloatArray, low: float, high: float) -> float:
    """Integrate the piecewise linear curve over x in [low, high]; upright steps have no width."""
    start, end = x[:-1], x[1:]
    left, right = np.clip(start, low, high), np.clip(end, low, high)
    wide = end > start
    slope = np.divide(y[1:] - y[:-1], end - start, out=np.zeros_like(start), where=wide)
    middle = y[:-1] + slope * ((left + right) / 2.0 - start)
    return float(np.sum((right - left) * middle, where=wide))
