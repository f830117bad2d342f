"""Rank sums and curve points of a table that an engine in this process holds: read a range of scores at a time.

DuckDB sorts windows much more slowly than the compiled kernels rank rows, and its rows are in this process already. So
it sends all rows if memory holds them. Of more it counts cells of scores first, and then sends the rows of one range of
cells after the other. Memory holds one range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.kernels.range_sums import RangeTotal
from confide.kernels.rows import count_rows, sum_parts
from confide.kernels.sums import RankSums
from confide.kernels.threads import Labels, Scores
from confide.sources.engine_sums import RankedTable, point_rows
from confide.sources.fetched import check_unchanged, numbers
from confide.sources.score_cells import Cells, find_cells, number

MOST_ROWS = 1 << 27
"""Rows that are read at once: some 1.4 GB."""

_RANGE_ROWS = 1 << 26  # of larger tables, beside what the engine needs to filter them
_MOST_COUNTED = 1 << 23  # counts of distinct scores take three times the memory of rows
_BATCH_ROWS = 1 << 20
_PART_ROWS = 1 << 23

Parts = list[tuple[Labels, Scores]]
"""Labels and scores of rows, some millions at a time."""

Counted = tuple[FloatArray, CountArray, CountArray]
"""Ascending scores with their positives and negatives."""


@dataclass(frozen=True, slots=True, repr=False)
class _Range:
    """Neighbouring cells that are read at once: the ends of their scores, and their counts."""

    low: float
    high: float
    positives: int
    negatives: int

    @property
    def size(self) -> int:
        return self.positives + self.negatives

    @property
    def classes(self) -> tuple[int, int]:
        return self.positives, self.negatives

    @property
    def single(self) -> bool:
        return self.low == self.high

    @property
    def counted(self) -> Counted:
        """Counts of a range that is a single score."""
        return np.array([self.low]), np.array([self.positives]), np.array([self.negatives])


def sum_streamed(rows: Any, ends: tuple[float, float], size: int) -> RankSums:
    """Return the rank sums of a table with columns `label` (0 or 1) and `score` (finite)."""
    if size <= MOST_ROWS:
        return _sum_all(rows, size)
    cells = find_cells(rows, *ends, size, most=_RANGE_ROWS)
    total = RangeTotal(int(cells.positives.sum()), int(cells.negatives.sum()))
    for part in _ranges(cells, _RANGE_ROWS):
        total.add_tie(*part.classes) if part.single else _add_rows(total, part, _read(rows, part))
    return total.sums()


def rank_streamed(
    rows: Any, ends: tuple[float, float], size: int, *, error: float, thresholds: Sequence[float] = ()
) -> RankedTable:
    """Return the rank sums of such a table, and counts of cells for curves (see `rank_in_engine`)."""
    cells = find_cells(rows, *ends, size, most=_MOST_COUNTED)
    total = RangeTotal(int(cells.positives.sum()), int(cells.negatives.sum()))
    steps = point_rows(total.n, error), point_rows(total.m, error)
    points: list[Counted] = []
    for part in _ranges(cells, _MOST_COUNTED):
        before = total.positives, total.negatives
        if part.single:
            total.add_tie(*part.classes)
            points.append(part.counted)
            continue
        labels, scores = (np.concatenate(column) for column in zip(*_read(rows, part), strict=True))
        _add_rows(total, part, [(labels, scores)])
        points.append(thin_counts(count_rows(labels, scores), before, steps, thresholds))
    scores, ours, theirs = (np.concatenate(parts) for parts in zip(*points, strict=True))
    return RankedTable(total.sums(), ScoreCounts(scores, ours, theirs), error)


def thin_counts(
    counted: Counted, before: tuple[int, int], steps: tuple[int, int], thresholds: Sequence[float] = ()
) -> Counted:
    """Put neighbouring scores together to points of a curve.

    `before` are the positives and negatives of lower scores. Points begin at every `steps[0]`-th positive and every
    `steps[1]`-th negative, and at the thresholds. A score whose rows lie on both sides of such a place is a point of
    its own, so all others hold at most as many rows.
    """
    scores, *both = counted
    begins = np.zeros(scores.size, dtype=np.bool_)
    begins[np.searchsorted(scores, [each for each in thresholds if each <= scores[-1]])] = True
    for counts, start, step in zip(both, before, steps, strict=True):
        first = start + np.cumsum(counts) - counts
        block = first // step
        begins[1:] |= block[1:] != block[:-1]
        apart = (counts > 0) & ((first + counts - 1) // step > block)
        begins |= apart
        begins[1:] |= apart[:-1]
    begins[0] = True
    at = np.flatnonzero(begins)
    ours, theirs = (np.add.reduceat(counts, at) for counts in both)
    low, high = scores[at], scores[np.append(at[1:], scores.size) - 1]
    size = both[0] + both[1]
    halved = scores / 2.0  # so that differences do not overflow
    start, width = halved[0], halved[-1] - halved[0]
    shares = np.add.reduceat((halved - start) / (width or 1.0) * size, at) / (ours + theirs)
    middle = 2.0 * np.clip(start + width * shares, low / 2.0, high / 2.0)
    means: FloatArray = np.clip(middle, low, high) + 0.0
    return means, ours, theirs


def _ranges(cells: Cells, most: int) -> Iterator[_Range]:
    """Put neighbouring cells together, as long as they hold no more than so many rows."""
    first, held = 0, 0
    for i, rows in enumerate(cells.rows.tolist()):
        if held and held + rows > most:
            yield _range(cells, first, i)
            first, held = i, 0
        held += rows
    yield _range(cells, first, len(cells))


def _range(cells: Cells, first: int, last: int) -> _Range:
    part = slice(first, last)
    positives, negatives = int(cells.positives[part].sum()), int(cells.negatives[part].sum())
    return _Range(float(cells.low[first]), float(cells.high[last - 1]), positives, negatives)


def _sum_all(rows: Any, size: int) -> RankSums:
    """Return the rank sums of all rows at once."""
    sums = sum_parts(_read_parts(rows, size))
    total = RangeTotal(sums.positives, sums.negatives)
    total.add(sums)
    return total.sums()


def _add_rows(total: RangeTotal, part: _Range, rows: Parts) -> None:
    """Add the sums of a range, whose rows are given and let go."""
    above = total.n - total.positives - part.positives, total.m - total.negatives - part.negatives
    sums = sum_parts(rows, above=above)
    check_unchanged((sums.positives, sums.negatives) == part.classes)
    total.add(sums)


def _read(rows: Any, part: _Range) -> Parts:
    """Read the rows of a range."""
    return _read_parts(rows.filter(rows.score >= number(part.low), rows.score <= number(part.high)), part.size)


def _read_parts(rows: Any, size: int) -> Parts:
    """Read rows into arrays so large that the system gets their memory back at once when they are let go."""
    edges = [*range(0, size, _PART_ROWS), size]
    parts = [(np.empty(last - first, np.uint8), np.empty(last - first)) for first, last in pairwise(edges)]
    filled = 0
    for batch in rows.mutate(label=rows.label.cast("uint8")).to_pyarrow_batches(chunk_size=_BATCH_ROWS):
        columns = numbers(batch.column("label")), numbers(batch.column("score"))
        check_unchanged(filled + batch.num_rows <= size)
        taken = 0
        while taken < batch.num_rows:
            part, place = divmod(filled, _PART_ROWS)
            count = min(batch.num_rows - taken, _PART_ROWS - place)
            for target, column in zip(parts[part], columns, strict=True):
                target[place : place + count] = column[taken : taken + count]
            filled += count
            taken += count
    check_unchanged(filled == size)
    return parts
