"""Condensed counts: a few thousand scores with the same sums of smooth functions as millions.

Scores are put together in cells of equal width in log-odds. In each cell the rows of a class are replaced by two scores
with weights (Gauss's quadrature), chosen such that number, mean, variance and third moment stay the same. Then the sum
of `g(score)` over rows stays the same for each polynomial `g` of degree 3, and for any other it changes by

    (1/24) g''''(z) sum of (s - s1)^2 (s - s2)^2   over the rows of the cell, for some z inside it.

With cells of 1/128 in log-odds, sums of losses, squared losses and of the terms of a logistic regression with a slope
of at most `STEEPEST` change by less than 1e-10 of themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.blocks import in_threads
from confide.counts import CountArray, FloatArray, ScoreCounts, even_cells, merge_counts

STEEPEST = 2.0
"""Slope of a logistic regression on log-odds up to which its terms are smooth within a cell."""

CONDENSED_FROM = 20_000
"""Distinct scores from which condensing pays."""

_WIDTH = 1.0 / 128.0
_LOWEST, _HIGHEST = 1e-300, 1.0 - 1e-5  # beyond, scores are too coarse to place others between them
_NO_SPREAD = 1e-12  # variance, in units of the cell's half width squared, below which one score stands for all


def condense(counts: ScoreCounts) -> ScoreCounts:
    """Return counts with the same sums of smooth functions; the same counts if they are few, or weighted.

    Scores must be probabilities. Those within 1e-5 of 1, and 0, are kept as they are.
    """
    if len(counts) < CONDENSED_FROM or counts.weighted:
        return counts
    first = int(np.searchsorted(counts.scores, _LOWEST, side="left"))
    last = int(np.searchsorted(counts.scores, _HIGHEST, side="right"))
    starts = _starts(counts.scores[first:last]) + first
    if not starts.size or 8 * starts.size > last - first:
        return counts
    ours, theirs = _nodes(counts, starts, last)
    runs = [ours, theirs, *(_kept(counts, part) for part in (slice(0, first), slice(last, len(counts))))]
    return ScoreCounts(*merge_counts(*(list(each) for each in zip(*runs, strict=True))))


_Run = tuple[FloatArray, FloatArray, FloatArray]


def _kept(counts: ScoreCounts, part: slice) -> _Run:
    return counts.scores[part], counts.positives[part].astype(np.float64), counts.negatives[part].astype(np.float64)


def _starts(scores: FloatArray) -> NDArray[np.int64]:
    """Return where cells of equal width in log-odds begin that hold a score."""
    if not scores.size:
        return np.empty(0, np.int64)
    low, high = (float(np.log(end) - np.log1p(-end)) for end in scores[[0, -1]])
    edges = np.arange(low, high, _WIDTH)[1:]
    return np.unique(np.concatenate(([0], np.searchsorted(scores, 1.0 / (1.0 + np.exp(-edges))))))


def _nodes(counts: ScoreCounts, starts: NDArray[np.int64], stop: int) -> tuple[_Run, _Run]:
    """Return two scores of each cell with their weights, for positives and for negatives."""
    edges = np.append(starts, stop)
    lowest, highest = counts.scores[starts], counts.scores[edges[1:] - 1]
    middle, half = (lowest + highest) / 2.0, (highest - lowest) / 2.0
    scale = np.divide(1.0, half, out=np.zeros(half.size), where=half > 0.0)

    def moments(cells: slice) -> tuple[FloatArray, FloatArray]:
        part, sizes = slice(edges[cells.start], edges[cells.stop]), np.diff(edges[cells.start : cells.stop + 1])
        inner = edges[cells] - edges[cells.start]
        place = counts.scores[part] - np.repeat(middle[cells], sizes)
        place *= np.repeat(scale[cells], sizes)
        return _moments(counts.positives[part], place, inner), _moments(counts.negatives[part], place, inner)

    parts = in_threads(moments, even_cells(starts, stop), rows=stop)
    found = []
    for position, of_class in enumerate(np.concatenate(each, axis=1) for each in zip(*parts, strict=True)):
        low, high, weight_low, weight_high = _two_points(of_class)
        scores = np.stack((middle + half * low, middle + half * high), axis=1)
        scores = np.clip(scores, lowest[:, None], highest[:, None]).ravel()
        weights = np.stack((weight_low, weight_high), axis=1).ravel()
        held = weights > 0.0
        run = scores[held], weights[held], np.zeros(int(held.sum()))
        found.append(run if position == 0 else (run[0], run[2], run[1]))
    return found[0], found[1]


def _moments(counts: CountArray, place: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Return the sums of powers 0 to 3 of the places in each cell, weighted by counts."""
    terms = counts.astype(np.float64)
    sums = [np.add.reduceat(terms, starts)]
    for _ in range(3):
        terms *= place
        sums.append(np.add.reduceat(terms, starts))
    return np.stack(sums)


def _two_points(moments: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return two points with weights that have the same four moments; one of them has weight 0 where one suffices."""
    total = moments[0]
    safe = np.where(total > 0.0, total, 1.0)
    mean, second, third = moments[1:] / safe
    variance = second - mean**2
    spread = np.where(variance > _NO_SPREAD, variance, np.inf)
    lean = (third - 3.0 * mean * variance - mean**3) / (2.0 * spread**1.5)
    root = np.sqrt(1.0 + lean**2)
    deviation = np.where(np.isfinite(spread), np.sqrt(np.maximum(variance, 0.0)), 0.0)
    share = np.where(deviation > 0.0, (root + lean) / (2.0 * root), 1.0)
    return mean + deviation * (lean - root), mean + deviation * (lean + root), total * share, total * (1.0 - share)
