"""Cells of neighbouring scores of rows that lie on a device: curves with few points, each of which is exact.

Cells begin where a given number of rows of either class lies below, and at the given thresholds. No score is divided
between cells. Each cell is a single score, or holds fewer than one in `1 / error` of the positives and of the
negatives: no rate of a curve is off by more than `error`, and the curve's corners are corners of the whole one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray
from confide.device import to_host
from confide.kernels.array_rows import SortedRows


def thin_sorted(
    rows: SortedRows, error: float, thresholds: Sequence[float] = ()
) -> tuple[FloatArray, CountArray, CountArray]:
    """Return the mean score of each cell, in ascending order, with its positives and negatives."""
    xp = rows.xp
    at = xp.nonzero(rows.labels)[0]  # the place of each positive
    cuts = _cuts(rows, at, error, thresholds)
    positives = to_host(xp.searchsorted(at, cuts, side="left"))
    del at
    edges = to_host(cuts)
    positives, size = np.diff(positives).astype(np.int64), np.diff(edges).astype(np.int64)
    return _means(rows, cuts, size), positives, size - positives


def _cuts(rows: SortedRows, at: Any, error: float, thresholds: Sequence[float]) -> Any:
    """Return the rows at which cells begin, and the end."""
    xp, device = rows.xp, rows.device
    quantiles = xp.concat([_quantile_positives(rows, at, error), _quantile_negatives(rows, at, error)])
    ends = xp.asarray([0, rows.size - 1], dtype=at.dtype, device=device)
    chosen = rows.scores[xp.concat([quantiles, ends])]
    first = xp.searchsorted(rows.scores, chosen, side="left")
    after = xp.searchsorted(rows.scores, chosen, side="right")
    after = xp.where(after - first > 1, after, first)  # a score that stands alone needs no cell of its own
    parts = [first, after, xp.searchsorted(rows.scores, chosen[-2:], side="right")]
    if thresholds:
        at_least = xp.asarray(list(thresholds), dtype=xp.float64, device=device)
        parts.append(_first_at_least(rows, at_least))
    return xp.sort(xp.unique_values(xp.concat(parts)))


def _first_at_least(rows: SortedRows, thresholds: Any) -> Any:
    """Return the first row with a score at or above each threshold, compared as float64."""
    xp = rows.xp
    if rows.scores.dtype == xp.float64:
        return xp.searchsorted(rows.scores, thresholds, side="left")
    found = [_bisect(rows, float(threshold)) for threshold in to_host(thresholds)]
    return xp.asarray(found, dtype=xp.int64, device=rows.device)


def _bisect(rows: SortedRows, threshold: float) -> int:
    low, high = 0, rows.size
    while low < high:
        middle = (low + high) // 2
        if float(rows.scores[middle]) < threshold:
            low = middle + 1
        else:
            high = middle
    return low


def _quantile_positives(rows: SortedRows, at: Any, error: float) -> Any:
    """Return the places of positives at equal steps."""
    return at[:: _step(rows.positives, error)]


def _quantile_negatives(rows: SortedRows, at: Any, error: float) -> Any:
    """Return the places of negatives at equal steps: the `j`-th has `j` negatives below, and some positives."""
    xp = rows.xp
    below = at - xp.arange(at.shape[0], dtype=at.dtype, device=rows.device)
    chosen = xp.arange(0, rows.negatives, _step(rows.negatives, error), dtype=at.dtype, device=rows.device)
    return chosen + xp.astype(xp.searchsorted(below, chosen, side="right"), at.dtype)


def _step(rows: int, error: float) -> int:
    return max(1, int(rows * error))


def _means(rows: SortedRows, cuts: Any, size: CountArray) -> FloatArray:
    """Return the mean score of each cell."""
    xp = rows.xp
    low, high = (to_host(xp.astype(rows.scores[ends], xp.float64)) for ends in (cuts[:-1], cuts[1:] - 1))
    middle = float(rows.scores[rows.size // 2])
    through = xp.cumulative_sum(xp.astype(rows.scores, xp.float64) - middle)
    with np.errstate(all="ignore"):  # sums of the largest numbers overflow
        mean = middle + np.diff(to_host(through[cuts[1:] - 1]), prepend=0.0) / size
    mean = np.where(np.isfinite(mean), mean, low / 2.0 + high / 2.0)
    means: FloatArray = np.clip(mean, low, high) + 0.0  # rounding must not carry a mean out of its cell
    return means
