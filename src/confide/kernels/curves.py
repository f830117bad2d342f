"""Sums over the points of ROC and PR curves, from counts of many distinct scores, in one compiled pass each.

Points go from the highest score down, one for each distinct score. Threads take ranges of scores; what a range needs of
those above it is the number of positives and of negatives there. Integers are exact and do not depend on the number of
threads; floating-point sums do in their last bits only.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.kernels.sums import Centre, RankSums, no_sums, rank_sums
from confide.kernels.threads import Counts, Scores, Threads, available_workers, compiled

# Compiled into the kernels.
_SMALL = 0.02  # ratio below which the logarithms of an area are summed as series
_TINY = 1e-3  # and below which six terms of it suffice
_TASKS = 4  # ranges for each thread


class LevelAreas(NamedTuple):
    """Areas under the PR curve by the estimators that join one point, or two, at each recall."""

    lower_trapezoid: float
    upper_trapezoid: float
    interpolated_max: float
    interpolated_mean: float
    interpolated_median: float


class _Range(NamedTuple):
    """Scores from ``first`` to before ``last``, and the rows of each class above them."""

    first: int
    last: int
    positives_above: int
    negatives_above: int


def _ranges(positives: Counts, negatives: Counts, threads: Threads) -> list[_Range]:
    """Split the scores into ranges from the top down; each but the first begins, at its top, with a positive."""
    tasks = _TASKS * threads.workers if threads.workers > 1 else 1
    wanted = [positives.size * task // tasks for task in range(1, tasks)]
    # The edge below a range is moved down to the next score with a positive, which begins the next range.
    edges = sorted({0, positives.size, *(int(_positive_below(positives, edge)) for edge in wanted)})
    parts = [slice(first, last) for first, last in pairwise(edges)][::-1]
    sums = threads.map(lambda part: (int(positives[part].sum()), int(negatives[part].sum())), parts)
    above = [(0, 0)]
    for ours, theirs in sums:
        above.append((above[-1][0] + ours, above[-1][1] + theirs))
    return [_Range(part.start, part.stop, *over) for part, over in zip(parts, above, strict=False)]


@compiled
def _positive_below(positives: Counts, edge: int) -> int:
    """Return the highest edge, not above ``edge``, such that the score right below it has a positive; or 0."""
    while edge > 0 and positives[edge - 1] == 0:
        edge -= 1
    return edge


def sum_many_counts(positives: Counts, negatives: Counts, *, workers: int | None = None) -> RankSums:
    """Return the rank sums of counts at ascending distinct scores, as `confide.kernels.sums.sum_counts` does.

    Twice the number of pairs must fit 62 bits.
    """
    with Threads(workers or available_workers(positives.size)) as threads:
        ranges = _ranges(positives, negatives, threads)
        n, m = _totals(ranges, positives, negatives)
        if n == 0 or m == 0:
            return no_sums(n, m)
        centre = _centre(ranges, n, m)

        parts = threads.map(lambda each: _add_ranks(positives, negatives, each, n, m, centre), ranges)
    return rank_sums(
        n,
        m,
        sum(int(part[0]) for part in parts),
        precision_sum=sum(part[1] for part in parts),
        centre=centre,
        squares_below=sum(part[2] for part in parts),
        squares_above=sum(part[3] for part in parts),
    )


def _totals(ranges: list[_Range], positives: Counts, negatives: Counts) -> tuple[int, int]:
    """Return the positives and negatives of all ranges."""
    lowest = ranges[-1]
    part = slice(lowest.first, lowest.last)
    return lowest.positives_above + int(positives[part].sum()), lowest.negatives_above + int(negatives[part].sum())


def _centre(ranges: list[_Range], n: int, m: int) -> Centre:
    """Return a centre near the means, with the scores of each range taken for one tie."""
    above = [(each.positives_above, each.negatives_above) for each in ranges] + [(n, m)]
    wins = sum((ours - tp) * (2 * m - fp - theirs) for (tp, fp), (ours, theirs) in pairwise(above))
    return Centre(round(wins / n), round(wins / m))


@compiled
def _add_ranks(
    positives: Counts, negatives: Counts, part: _Range, n: int, m: int, centre: Centre
) -> tuple[np.int64, float, float, float]:
    """Return the part of ``twice_wins``, of precisions and of squares about the centre of some scores."""
    tp = np.int64(part.positives_above)
    fp = np.int64(part.negatives_above)
    twice_wins = np.int64(0)
    precision = squares_below = squares_above = 0.0
    for i in range(part.last - 1, part.first - 1, -1):
        p = positives[i]
        q = negatives[i]
        if q > 0:
            z = float(2 * tp + p - centre.above)
            squares_above += q * z * z
        if p > 0:
            below = 2 * (m - fp) - q
            twice_wins += p * below
            z = float(below - centre.below)
            squares_below += p * z * z
            precision += p * ((tp + p) / (tp + p + fp + q))
        tp += p
        fp += q
    return twice_wins, precision, squares_below, squares_above


def level_areas(positives: Counts, negatives: Counts, *, workers: int | None = None) -> LevelAreas:
    """Return the areas under the PR curve by the estimators of `LevelAreas`; both classes must be present."""
    with Threads(workers or available_workers(positives.size)) as threads:
        ranges = _ranges(positives, negatives, threads)
        n, _ = _totals(ranges, positives, negatives)

        def add(each: _Range) -> NDArray[np.float64]:
            found = np.zeros(16)
            _add_levels(positives, negatives, each, n, found)
            return found

        parts = [part for part in threads.map(add, ranges) if part[15] > 0.0]
    areas = np.sum([part[:5] for part in parts], axis=0)
    # The piece that leads to the first recall of each range; at recall 0 stands the origin.
    origin = np.zeros(5)
    origin[1], origin[2] = 1.0, 0.0 if _negatives_first(positives) else 1.0
    before = origin
    for at, part in enumerate(parts):
        areas += _pieces(before, part[5:10], from_origin=at == 0)
        before = part[10:15]
    return LevelAreas(*areas.tolist())


def _negatives_first(positives: Counts) -> bool:
    return bool(positives[-1] == 0)


def _pieces(before: NDArray[np.float64], level: NDArray[np.float64], *, from_origin: bool) -> NDArray[np.float64]:
    """Return the five areas between two recalls; see `_add_levels`."""
    width, highest = level[0] - before[0], level[1]
    rates = [0.0] * 3 if from_origin else [_rate(before[0], before[k]) for k in (1, 3, 4)]
    curved = [
        _area(before[0], level[0], rate, _rate(level[0], level[k])) for rate, k in zip(rates, (1, 3, 4), strict=True)
    ]
    return np.array([width * (before[2] + highest) / 2.0, width * (before[1] + highest) / 2.0, *curved])


@compiled
def _rate(recall: float, precision: float) -> float:
    """Return the false positives per positive at a point."""
    return recall * (1.0 - precision) / precision


@compiled
def _area(start: float, end: float, g0: float, g1: float) -> float:
    """Return the area of a piece that is straight in ROC space, as `confide.curves.pr.hyperbolic_area` does."""
    h = end - start
    d0 = start + g0
    d1 = end + g1
    if d0 <= 0.0:
        return h * end / d1 if d1 > 0.0 else 0.0
    x = (d1 - d0) / d0
    if abs(x) >= _SMALL:
        log = math.log1p(x)
        return h / d0 * (start * (log / x) + h * ((x - log) / (x * x)))
    terms = 12 if abs(x) > _TINY else 6
    l1 = 1.0 / terms
    l2 = 1.0 / (terms + 1)
    for k in range(terms - 1, 0, -1):
        l1 = 1.0 / k - l1 * x
        l2 = 1.0 / (k + 1) - l2 * x
    return h / d0 * (start * l1 + h * l2)


@compiled
def _add_levels(positives: Counts, negatives: Counts, part: _Range, n: int, found: Scores) -> None:
    """Write five sums of areas of some scores, the first and the last recall with its precisions, and the recalls.

    The numbers of a recall are itself and its highest, lowest, mean and median precision. Areas go from the first
    recall of the range to its last.
    """
    tp = np.int64(part.positives_above)
    fp = np.int64(part.negatives_above)
    i = part.last - 1
    while i >= part.first and positives[i] == 0:
        fp += negatives[i]
        i -= 1
    r0 = highest0 = lowest0 = mean0 = median0 = g_max0 = g_mean0 = g_median0 = 0.0
    levels = 0
    while i >= part.first:
        tp += positives[i]
        fp += negatives[i]
        first = i
        r = tp / n
        highest = tp / (tp + fp)
        g_max = fp / n
        total = highest
        lowest = highest
        median_fp = fp
        i -= 1
        while i >= part.first and positives[i] == 0:
            fp += negatives[i]
            lowest = tp / (tp + fp)
            total += lowest
            i -= 1
        points = first - i
        mean = total / points
        median = highest
        if points == 2:
            median = (highest + lowest) / 2.0
        elif points > 2:
            for j in range(1, (points - 1) // 2 + 1):
                median_fp += negatives[first - j]
            median = tp / (tp + median_fp)
            if points % 2 == 0:
                median = (median + tp / (tp + median_fp + negatives[first - points // 2])) / 2.0
        g_mean = _rate(r, mean)
        g_median = _rate(r, median)
        if levels == 0:
            found[5], found[6], found[7], found[8], found[9] = r, highest, lowest, mean, median
        else:
            width = r - r0
            found[0] += width * (lowest0 + highest) / 2.0
            found[1] += width * (highest0 + highest) / 2.0
            found[2] += _area(r0, r, g_max0, g_max)
            found[3] += _area(r0, r, g_mean0, g_mean)
            found[4] += _area(r0, r, g_median0, g_median)
        levels += 1
        r0, highest0, lowest0, mean0, median0 = r, highest, lowest, mean, median
        g_max0, g_mean0, g_median0 = g_max, g_mean, g_median
    found[10], found[11], found[12], found[13], found[14] = r0, highest0, lowest0, mean0, median0
    found[15] = levels


def hull_points(positives: Counts, negatives: Counts, *, workers: int | None = None) -> Counts:
    """Return points that may be corners of the ROC curve's upper hull: number, false positives and true positives.

    They are the corners of the hulls of ranges of scores, from the origin, which is point 0, to the last score. The
    product of both totals must fit 61 bits.
    """
    with Threads(workers or available_workers(positives.size)) as threads:
        ranges = _ranges(positives, negatives, threads)
        parts = threads.map(lambda each: _hull(positives, negatives, each), ranges)
    return np.concatenate([np.zeros((3, 1), np.int64), *parts], axis=1)


@compiled
def _hull(positives: Counts, negatives: Counts, part: _Range) -> Counts:
    """Return the corners of the hull of some points, by Andrew's chain."""
    corners = np.empty((3, part.last - part.first), np.int64)
    point, x, y = corners[0], corners[1], corners[2]
    top = 0
    tp = np.int64(part.positives_above)
    fp = np.int64(part.negatives_above)
    for i in range(part.last - 1, part.first - 1, -1):
        tp += positives[i]
        fp += negatives[i]
        while top > 1:
            dx = x[top - 1] - x[top - 2]
            dy = y[top - 1] - y[top - 2]
            if dx * (tp - y[top - 2]) - dy * (fp - x[top - 2]) < 0:
                break
            top -= 1
        point[top] = positives.size - i
        x[top] = fp
        y[top] = tp
        top += 1
    return corners[:, :top].copy()
