"""Exact rank sums, counts and cells of rows that lie on a device.

Everything is written against the array API standard, so the same lines run on NumPy, PyTorch, CuPy and JAX. A chunk
holds at most 2^26 rows, so twice the product of its class sizes is below 2^53: sums of pairs are whole numbers that
float64 holds exactly, in whatever order a device adds them. Chunks are put together in Python's integers. Squares are
taken about the mean of their chunk, so none are lost where AUC is near 0 or 1.

Where Triton can compile for the device, its kernels take the place of chunks (see `triton_sums`), and rows of which
sums alone are needed are sorted as keys without row numbers (see `triton_keys`).

Cells begin where a given number of rows of either class lies below, and at the given thresholds. No score is divided
between cells. Each cell is a single score, or holds fewer than one in `1 / error` of the positives and of the
negatives: no rate of a curve is off by more than `error`, and the curve's corners are corners of the whole one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray
from confide.device import device_of, is_gpu_tensor, namespace_of, sorted_with_order, to_host
from confide.kernels.sums import RangeSums, RangeTotal, RankSums, about_mean, no_sums, sum_counts


def device_kernels(array: Any) -> ModuleType | None:
    """Return the kernels of `triton_sums` if the array is a PyTorch tensor on a GPU for which Triton can compile them.

    Elsewhere return None: the functions of the array API standard give the same sums.
    """
    return _checked("triton_sums", array.device) if _compiles(array) else None


def key_kernels(array: Any) -> ModuleType | None:
    """Return the kernels of `triton_keys` under the same condition."""
    return _checked("triton_keys", array.device) if _compiles(array) else None


def _compiles(array: Any) -> bool:
    return is_gpu_tensor(array) and find_spec("triton") is not None


@cache
def _checked(name: str, device: Any) -> ModuleType | None:
    """Compile the kernels of a module for a device, and compare their sums of a few rows with the host's."""
    import torch

    try:
        kernels = import_module(f"confide.kernels.{name}")
        # An old GPU or a missing C compiler, for example, fails in many ways.
        agrees = _agree(kernels, lambda values: torch.asarray(values, device=device))
    except Exception:
        return None
    return kernels if agrees else None


def _agree(kernels: ModuleType, move: Any) -> bool:
    """Return whether kernels sum rows as the host does: three with each score, so that ties cross strips."""
    row = np.arange(3 * (kernels.strip_size() + 5))[::-1]
    place = row // 3
    labels = (place * 5 + row) % 4 == 0
    positives = np.bincount(place, labels).astype(np.int64)
    expected = sum_counts(positives, 3 - positives)
    sums = kernels.sum_rows(move(labels), move(place.astype(np.float64)), (0.0, float(place[0])))
    return bool(
        sums.twice_wins == expected.twice_wins
        and np.isclose(sums.precision_sum, expected.precision_sum, rtol=1e-12)
        and np.isclose(sums.auc_variance, expected.auc_variance, rtol=1e-12)
    )


LARGEST_CHUNK = 1 << 26
MOST_ROWS = (1 << 31) - 1
"""Rows that 32 bits can number, and that every library can sort."""

_SMALLEST_CHUNK = 1 << 22
_CHUNKS = 4  # what a chunk needs for a while is then a few bytes for each of all rows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SortedRows:
    """Rows on a device in ascending order of their scores; labels are booleans."""

    xp: Any
    scores: Any
    labels: Any
    positives: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.scores.shape[0])

    @property
    def negatives(self) -> int:
        """Number of rows with a negative label."""
        return self.size - self.positives

    @property
    def device(self) -> Any:
        """Device on which the rows lie."""
        return device_of(self.scores)

    def first_at(self, row: int) -> int:
        """Return the first row with the score of a row."""
        return int(self.xp.searchsorted(self.scores, self.scores[row : row + 1], side="left")[0])

    def first_after(self, row: int) -> int:
        """Return the first row with a higher score than a row."""
        return int(self.xp.searchsorted(self.scores, self.scores[row : row + 1], side="right")[0])


def sum_rows(labels: Any, scores: Any, ends: tuple[float, float]) -> RankSums:
    """Return the rank sums of rows with boolean labels and finite scores, of which `ends` are the least and largest."""
    sums = sum_keys(labels, scores, ends)
    return sum_sorted(sort_rows(labels, scores)) if sums is None else sums


def sum_keys(labels: Any, scores: Any, ends: tuple[float, float]) -> RankSums | None:
    """Return the rank sums of rows from sorted keys. Return None if no kernels can be compiled, or keys do not fit."""
    kernels = key_kernels(scores)
    sums: RankSums | None = None if kernels is None else kernels.sum_rows(labels, scores, ends)
    return sums


def sort_rows(labels: Any, scores: Any) -> SortedRows:
    """Sort rows with boolean labels and finite scores, which the caller has checked."""
    xp = namespace_of(scores)
    ordered, order = sorted_with_order(xp, scores)
    kernels = device_kernels(scores)
    if kernels is not None:
        return SortedRows(xp, ordered, *kernels.gathered_labels(labels, order))
    return SortedRows(xp, ordered, labels[order], int(xp.count_nonzero(labels)))


def sum_sorted(rows: SortedRows, *, chunk: int | None = None) -> RankSums:
    """Return the rank sums of sorted rows."""
    n, m = rows.positives, rows.negatives
    if n == 0 or m == 0:
        return no_sums(n, m)
    kernels = device_kernels(rows.scores)
    if kernels is not None and chunk is None:
        sums: RankSums = kernels.sum_strips(rows.scores, rows.labels, n)
        return sums
    total = RangeTotal(n, m)
    for first, last, tied in _chunks(rows, chunk):
        if tied:
            positives = int(rows.xp.count_nonzero(rows.labels[first:last]))
            total.add_tie(positives, last - first - positives)
        else:
            total.add(_range_sums(_chunk_sums(rows, first, last, n - total.positives, n + m - first), last - first))
    return total.sums()


def count_sorted(rows: SortedRows, *, chunk: int | None = None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield distinct scores in ascending order with the positives and the rows at each, as NumPy arrays."""
    xp = rows.xp
    for first, last, _ in _chunks(rows, chunk):
        scores, labels = rows.scores[first:last], rows.labels[first:last]
        starts, before = _tie_edges(xp, scores, labels)
        yield tuple(map(to_host, (scores[starts[:-1]], before[1:] - before[:-1], starts[1:] - starts[:-1])))


def distinct_scores(rows: SortedRows) -> int:
    """Return the number of distinct scores."""
    xp, size = rows.xp, rows.size
    steps = range(0, size - 1, LARGEST_CHUNK)
    return 1 + sum(
        int(xp.count_nonzero(rows.scores[first + 1 : last + 1] != rows.scores[first:last]))
        for first, last in ((first, min(first + LARGEST_CHUNK, size - 1)) for first in steps)
    )


def _chunks(rows: SortedRows, chunk: int | None) -> Iterator[tuple[int, int, bool]]:
    """Yield first row, end and whether all scores are equal; equal scores are never divided.

    A chunk that is one tie may hold any number of rows; the others hold at most `LARGEST_CHUNK`.
    """
    most = chunk or min(LARGEST_CHUNK, max(_SMALLEST_CHUNK, -(-rows.size // _CHUNKS)))
    first = 0
    while first < rows.size:
        last = first + most
        if last >= rows.size:
            yield first, rows.size, False
            return
        start = rows.first_at(last)
        if start > first:
            yield first, start, False
            first = start
        else:
            end = rows.first_after(last)
            yield first, end, True
            first = end


def _chunk_sums(rows: SortedRows, first: int, last: int, positives_left: int, rows_left: int) -> tuple[float, ...]:
    """Return the sums of a chunk; `positives_left` and `rows_left` count the rows from its first one on.

    They are the number of positives; over positives, twice the negatives of the chunk below plus those tied; the sum
    of precisions; the centres of both classes; and the sums of squares about them.
    """
    xp, scores, labels = rows.xp, rows.scores[first:last], rows.labels[first:last]
    if bool(xp.all(scores[1:] != scores[:-1])):
        sums = _distinct_sums(xp, labels, positives_left, rows_left)
    else:
        sums = _tied_sums(xp, scores, labels, positives_left, rows_left)
    return tuple(to_host(xp.stack(sums)).tolist())


def _distinct_sums(xp: Any, labels: Any, positives_left: int, rows_left: int) -> list[Any]:
    """Sum where no scores are equal: the place of a row in its class and in all rows says everything."""
    place, rank = _places(xp, labels)
    precision = xp.sum((positives_left - rank) / (rows_left - place))
    below = place - rank
    n = below.shape[0]
    m = labels.shape[0] - n
    del place, rank
    wins = xp.sum(below)
    centre = xp.floor(wins / max(n, 1))
    below = below - centre
    squares = xp.vecdot(below, below)
    del below
    place, rank = _places(xp, ~labels)
    above_centre = xp.floor((n * m - wins) / max(m, 1))
    under = place - rank - above_centre
    del place, rank
    one = xp.ones_like(wins)
    return [n * one, 2 * wins, precision, 2 * centre, 2 * above_centre, 4 * squares, 4 * xp.vecdot(under, under)]


def _places(xp: Any, chosen: Any) -> tuple[Any, Any]:
    """Return the place of each chosen row among all, and among the chosen, as float64."""
    place = xp.astype(xp.nonzero(chosen)[0], xp.float64)
    return place, xp.arange(place.shape[0], dtype=xp.float64, device=device_of(place))


def _tied_sums(xp: Any, scores: Any, labels: Any, positives_left: int, rows_left: int) -> list[Any]:
    """Sum over distinct scores."""
    starts, before = _tie_edges(xp, scores, labels)
    row, tp = xp.astype(starts, xp.float64), xp.astype(before, xp.float64)
    del starts, before
    fp = row - tp
    n, m = tp[-1], fp[-1]
    p = tp[1:] - tp[:-1]
    precision = xp.vecdot(p, (positives_left - tp[:-1]) / (rows_left - row[:-1]))
    del row
    below = fp[1:] + fp[:-1]
    wins = xp.vecdot(p, below)
    centre = xp.floor(wins / xp.maximum(n, xp.ones_like(n)))
    below = below - centre
    squares = xp.vecdot(p * below, below)
    del p, below
    q = fp[1:] - fp[:-1]
    under = tp[1:] + tp[:-1]
    del fp, tp
    above_centre = xp.floor((2 * n * m - wins) / xp.maximum(m, xp.ones_like(m)))
    under = under - above_centre
    return [n, wins, precision, centre, above_centre, squares, xp.vecdot(q * under, under)]


def _tie_edges(xp: Any, scores: Any, labels: Any) -> tuple[Any, Any]:
    """Return the row at which each distinct score begins, and the positives before it; both with the end."""
    changes = xp.nonzero(scores[1:] != scores[:-1])[0]
    through = xp.cumulative_sum(xp.astype(labels, xp.uint8), dtype=xp.int32)
    none = xp.zeros(1, dtype=xp.int32, device=device_of(scores))
    before = xp.concat([none, through[changes], through[-1:]])
    del through
    none = xp.astype(none, changes.dtype)
    return xp.concat([none, changes + 1, none + labels.shape[0]]), before


def _range_sums(chunk: tuple[float, ...], size: int) -> RangeSums:
    """Return the sums of a chunk of so many rows, with squares about their means."""
    count, wins, precision, centre, above_centre, squares, above_squares = chunk
    p, w = int(count), int(wins)
    q = size - p
    v = 2 * p * q - w  # over the chunk's negatives, twice its positives below plus those tied
    return RangeSums(
        positives=p,
        negatives=q,
        twice_wins=w,
        precision_sum=precision,
        squares_below=about_mean(squares, w, p, int(centre)),
        squares_above=about_mean(above_squares, v, q, int(above_centre)),
    )


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
