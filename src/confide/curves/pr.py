"""Precision-recall curve, the region that no model can reach, and the ways to join the curve's points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from confide.blocks import map_blocks, scan_blocks, sum_blocks
from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.curves.roc import operating_points
from confide.errors import ParameterError

_MOST_STEPS = 1 << 26
_SMALL = 0.02  # below this, logarithms are summed as series


@dataclass(frozen=True, slots=True, eq=False)
class PrCurve:
    """Precision against recall at each distinct score, from the highest threshold down."""

    recall: FloatArray
    precision: FloatArray
    thresholds: FloatArray
    prevalence: float

    def __post_init__(self) -> None:
        for name in ("recall", "precision", "thresholds"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def minimum(self) -> FloatArray:
        """Lowest precision that any model could have at each recall of the curve."""
        return minimum_precision(self.recall, self.prevalence)


@accepts_predictions
def pr_curve(counts: ScoreCounts) -> PrCurve:
    """Draw the empirical precision-recall points."""
    counts.both_classes()
    points = operating_points(counts)
    return PrCurve(points.true_positives / points.positives, points.precision, points.thresholds, counts.prevalence)


@overload
def minimum_precision(recall: float, prevalence: float) -> float: ...
@overload
def minimum_precision(recall: FloatArray, prevalence: float) -> FloatArray: ...
def minimum_precision(recall: FloatArray | float, prevalence: float) -> FloatArray | float:
    """Compute the lowest achievable precision, `pi r / (1 - pi + pi r)` (dissertation, Theorem 3.3).

    >>> round(minimum_precision(0.5, 1 / 3), 6)  # Table 3.1: precision 0.2 ends at recall 0.5
    0.2
    """
    if prevalence == 1.0:
        return recall * 0.0 + 1.0
    return prevalence * recall / (1.0 - prevalence + prevalence * recall)


def minimum_area(prevalence: float, low: float = 0.0, high: float = 1.0) -> float:
    """Compute the area under the minimum PR curve over recall in [low, high] (Theorem 3.4, Corollary 3.6).

    >>> round(minimum_area(0.5), 4), round(minimum_area(0.05), 4)  # section 3.4: 0.31 and 0.02
    (0.3069, 0.0254)
    """
    check_recall_range(low, high)
    if not 0.0 <= prevalence <= 1.0:
        raise ParameterError(f"prevalence must lie in [0, 1], got {prevalence!r}")
    if prevalence == 1.0:
        return high - low
    # With no false negative left to lose this is the piece from (low, m/n) to (high, m/n).
    if prevalence == 0.0:
        return 0.0
    odds = np.array([(1.0 - prevalence) / prevalence])
    return float(hyperbolic_area(np.array([low]), np.array([high]), odds, odds)[0])


def check_recall_range(low: float, high: float) -> None:
    """Refuse a range of recall that is empty or leaves [0, 1]."""
    if not 0.0 <= low < high <= 1.0:
        raise ParameterError(f"a recall range needs 0 <= low < high <= 1, got ({low!r}, {high!r})")


def hyperbolic_area(start: FloatArray, end: FloatArray, g0: FloatArray, g1: FloatArray) -> FloatArray:
    """Areas under pieces of the PR curve that are straight in ROC space (Theorem 4.2).

    A piece runs from recall `start` to `end` while false positives per positive, `g = r(1-p)/p`, go
    linearly from `g0` to `g1`; precision is `r / (r + g)`. With `D = r + g` and `x = D1/D0 - 1`,

        area = (h / D0) [start L1(x) + h L2(x)],  L1 = ln(1+x)/x,  L2 = (x - ln(1+x))/x^2,

    which has no singularity where the theorem's `a` is 0. From the origin precision is constant.
    """
    h = end - start
    d0, d1 = start + g0, end + g1
    from_origin = d0 <= 0.0
    safe = np.where(from_origin, 1.0, d0)
    x = np.where(from_origin, 0.0, (d1 - d0) / safe)
    small = np.abs(x) < _SMALL
    if small.all():
        l1, l2 = _alternating(x, 1), _alternating(x, 2)
    else:
        z = np.where(small, 1.0, x)
        log = np.log1p(z)
        l1, l2 = log / z, (z - log) / (z * z)
        l1[small], l2[small] = (_alternating(x[small], first) for first in (1, 2))
    curved = h / safe * (start * l1 + h * l2)
    flat = h * np.divide(end, d1, out=np.zeros_like(d1), where=d1 > 0.0)
    areas: FloatArray = np.where(from_origin, flat, curved)
    return areas


def _alternating(x: FloatArray, first: int) -> FloatArray:
    """Sum `1/k - x/(k+1) + x^2/(k+2) - ...`, with `k = first`, by Horner's rule.

    What is left out is less than `|x|^terms`: with twelve terms 1e-20, as `|x| < 0.02`, and with six terms 1e-18 where
    `|x|` is at most 1e-3.
    """
    terms = 12 if x.size and float(np.abs(x).max()) > 1e-3 else 6
    total = np.full_like(x, 1.0 / (first + terms - 1))
    for k in range(first + terms - 2, first - 1, -1):
        np.multiply(total, x, out=total)
        np.subtract(1.0 / k, total, out=total)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class PrPath:
    """A way of joining PR points: pieces over recall, each straight in PR space or in ROC space.

    `left` and `right` are precisions at the ends of a straight piece, and false positives per
    positive at the ends of a piece that is straight in ROC space (`curved`).
    """

    start: FloatArray
    end: FloatArray
    left: FloatArray
    right: FloatArray
    curved: bool

    def area(self, low: float = 0.0, high: float = 1.0) -> float:
        """Compute the area under the path over recall in [low, high]."""
        check_recall_range(low, high)

        def area(part: slice) -> tuple[float]:
            start, end, left, right = self.start[part], self.end[part], self.left[part], self.right[part]
            if (low, high) != (0.0, 1.0):
                path = PrPath(start, end, left, right, self.curved)
                start, end = np.clip(start, low, high), np.clip(end, low, high)
                inside = end > start
                start, end = start[inside], end[inside]
                left, right = path._at(start, inside), path._at(end, inside)
            areas = hyperbolic_area(start, end, left, right) if self.curved else (end - start) * (left + right) / 2.0
            return (float(areas.sum()),)

        return sum_blocks(area, self.start.size)[0]

    def precision(self, recall: FloatArray) -> FloatArray:
        """Precision at each recall; where pieces meet, that of the piece on the left."""
        piece = np.clip(np.searchsorted(self.end, recall, side="left"), 0, self.end.size - 1)
        value = self._at(np.asarray(recall, dtype=np.float64), piece)
        if not self.curved:
            return value
        total = recall + value
        at_origin = np.divide(self.end, self.end + self.right)[piece]
        return np.divide(recall, total, out=at_origin, where=total > 0.0)

    def _at(self, recall: FloatArray, piece: NDArray[Any]) -> FloatArray:
        start, end, left = self.start[piece], self.end[piece], self.left[piece]
        share = (recall - start) / (end - start)
        values: FloatArray = left + share * (self.right[piece] - left)
        return values


@dataclass(frozen=True, slots=True, eq=False)
class RecallLevels:
    """Distinct recalls above 0, with the precisions at each.

    A recall holds one point for each distinct score from a positive down to the last negative above
    the next positive; precision falls along them.
    """

    recall: FloatArray
    highest: FloatArray
    lowest: FloatArray
    mean: FloatArray
    median: FloatArray
    negatives_first: bool


def recall_levels(counts: ScoreCounts) -> RecallLevels:
    """Group the PR points by recall."""
    counts.both_classes()
    size = len(counts)
    precision = np.empty(size)

    def fill(part: slice, positives_above: float, negatives_above: float) -> tuple[NDArray[Any], CountArray]:
        """Write the precisions of a block; return its positives' places and the true positives there, from the top."""
        ours = counts.positives[part][::-1]
        caught = np.cumsum(ours) + positives_above
        np.divide(
            caught,
            np.cumsum(counts.negatives[part][::-1]) + negatives_above + caught,
            out=precision[size - part.stop : size - part.start],
        )
        places = np.flatnonzero(ours > 0)
        return places + (size - part.stop), caught[places]

    parts = scan_blocks(fill, counts.positives, counts.negatives, descending=True)[::-1]
    first, caught = (np.concatenate(each) for each in zip(*parts, strict=True))
    last = np.append(first[1:], size) - 1
    mean, median = np.empty(first.size), np.empty(first.size)

    def average(part: slice) -> None:
        begin, end = first[part], last[part]
        points = end - begin + 1
        offset = begin[0] if begin.size else 0
        inside = precision[offset : end[-1] + 1 if end.size else 0]
        mean[part] = np.add.reduceat(inside, begin - offset) / points
        median[part] = (precision[begin + (points - 1) // 2] + precision[begin + points // 2]) / 2.0

    map_blocks(average, first.size)
    return RecallLevels(
        recall=caught / caught[-1],
        highest=precision[first],
        lowest=precision[last],
        mean=mean,
        median=median,
        negatives_first=bool(first[0] > 0),
    )


def step_path(levels: RecallLevels) -> PrPath:
    """Average precision: the precision at each positive, held back to the recall before it."""
    return _straight(levels.recall, levels.highest, levels.highest)


def lower_trapezoid_path(levels: RecallLevels) -> PrPath:
    """Lines from the lowest precision at a recall to the highest at the next (equation 4.3).

    Recall 0 has precision 1, or 0 if a negative stands above every positive.
    """
    origin = 0.0 if levels.negatives_first else 1.0
    return _straight(levels.recall, np.concatenate(([origin], levels.lowest[:-1])), levels.highest)


def upper_trapezoid_path(levels: RecallLevels) -> PrPath:
    """Lines between the highest precisions, from precision 1 at recall 0.

    The dissertation describes these lines ("connect the highest points at each recall"), and they
    overestimate as it reports; its equation 4.4 ends each line at the lowest precision instead,
    which does not overestimate.
    """
    return _straight(levels.recall, np.concatenate(([1.0], levels.highest[:-1])), levels.highest)


def interpolated_path(recall: FloatArray, precision: FloatArray) -> PrPath:
    """Join one precision at each recall by lines in ROC space, the first from its origin."""
    false_per_positive = recall * (1.0 - precision) / precision
    return PrPath(
        np.concatenate(([0.0], recall[:-1])),
        recall,
        np.concatenate(([0.0], false_per_positive[:-1])),
        false_per_positive,
        curved=True,
    )


def threshold_path(counts: ScoreCounts) -> PrPath:
    """Join the points of adjacent thresholds by lines in ROC space: the empirical curve itself."""
    counts.both_classes()
    points = operating_points(counts)
    rise = np.flatnonzero(counts.positives[::-1] > 0)
    recall = points.true_positives / points.positives
    per_positive = points.false_positives / points.positives
    before = rise - 1
    start = np.where(rise > 0, recall[before], 0.0)
    left = np.where(rise > 0, per_positive[before], 0.0)
    return PrPath(start, recall[rise], left, per_positive[rise], curved=True)


def davis_goadrich_path(counts: ScoreCounts) -> PrPath:
    """Join the points of adjacent thresholds by straight lines, through one more point for each tied positive.

    False positives grow in proportion between two thresholds (Davis and Goadrich 2006); the points at whole numbers of
    true positives are joined by lines, as R's PRROC does. Up to the first positives precision is constant, or grows
    from 0 if a negative stands above them.
    """
    counts.both_classes()
    if counts.weighted:
        raise ParameterError(
            "the Davis-Goadrich area steps from positive to positive and needs whole rows; use interpolated_thresholds"
        )
    if counts.total_positives > _MOST_STEPS:
        raise ParameterError(
            f"the Davis-Goadrich area takes at most {_MOST_STEPS} positives; use interpolated_thresholds, which "
            "integrates between thresholds without steps"
        )
    points = operating_points(counts)
    rise = np.flatnonzero(counts.positives[::-1] > 0)
    hits = counts.positives[::-1][rise]
    alarms = counts.negatives[::-1][rise] / hits
    first = np.repeat(points.true_positives[rise] - hits, hits)
    step = np.arange(first.size) - first  # since the threshold before, as positives are counted in order
    false = np.repeat(points.false_positives[rise] - counts.negatives[::-1][rise], hits)
    left, right = (_precision(first + step + i, false + np.repeat(alarms, hits) * (step + i)) for i in (0, 1))
    if points.false_positives[rise[0]] == counts.negatives[::-1][rise[0]]:  # nothing stands above the first threshold
        left[: hits[0]] = right[: hits[0]] = right[hits[0] - 1]
    recall = np.arange(1, first.size + 1) / points.positives
    return _straight(recall, left, right)


def _precision(true: FloatArray, false: FloatArray) -> FloatArray:
    total = true + false
    return np.divide(true, total, out=np.zeros(total.size), where=total > 0.0)


def _straight(recall: FloatArray, left: FloatArray, right: FloatArray) -> PrPath:
    return PrPath(np.concatenate(([0.0], recall[:-1])), recall, left, right, curved=False)
