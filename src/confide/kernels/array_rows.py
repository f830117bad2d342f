"""Exact rank sums and counts of rows that lie on a device, by one sort and one pass in chunks.

Everything is written against the array API standard, so the same lines run on NumPy, PyTorch, CuPy and JAX. A chunk
holds at most 2^26 rows, so twice the product of its class sizes is below 2^53: sums of pairs are whole numbers that
float64 holds exactly, in whatever order a device adds them. Chunks are put together in Python's integers. Squares are
taken about the mean of their chunk, so none are lost where AUC is near 0 or 1.

Where Triton can compile for the device, its kernels take the place of chunks (see `triton_sums`), and rows of which
sums alone are needed are sorted as keys without row numbers (see `triton_keys`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from confide.device import device_of, namespace_of, sorted_with_order, to_host
from confide.kernels.device_kernels import device_kernels, key_kernels
from confide.kernels.range_sums import RangeSums, RangeTotal, about_mean
from confide.kernels.sums import RankSums, no_sums

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
