"""Tables by the ranks of their rows: rank sums and curve points, computed by the engine or streamed.

Scores are divided into cells (see `engine_cells`). The engine counts these first, so the rows above each are known.
One query then ranks the rows inside each cell, by windows that are partitioned by cell, and sends the sums of each
cell or of each point of a curve. No row leaves the engine. Work spreads over its processes, and none needs more memory
than its cells.

All sums but that of precisions are whole. A cell has `n + m <= 2^20` rows, the rank of a row in the other class is at
most `2 m` or `2 n`, and `4 n m^2 <= 4 (4 / 27) 2^60 < 2^63`: 64 bits hold the sum of squares, and so every other sum.
A single score may have any number of rows: its sums follow from its counts.

DuckDB sorts windows much more slowly than the compiled kernels rank rows, and its rows are in this process already. So
it sends all rows if memory holds them. Of more it counts cells of scores first, and then sends the rows of one range of
cells after the other. Memory holds one range.

An engine in this process, DuckDB, sends millions of rows at once, and more of them a range of scores at a time. Any
other engine ranks rows itself: nothing but counts and sums leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.kernels import compiler_installed
from confide.kernels.sums import RangeSums, RangeTotal, RankSums, about_mean, sum_range_counts
from confide.sources.arrays import count_checked
from confide.sources.device_rows import CURVE_ERROR, MOST_SCORES
from confide.sources.engine_cells import Cells, find_cells, locate
from confide.sources.engine_tables import check_unchanged, column_batches, fetch_columns, is_local, number, small_table
from confide.sources.rows import Missing, MissingScores, RowColumns, Rows
from confide.sources.tables import (
    STREAMED_ROWS,
    CheckedTable,
    CountedTable,
    as_table,
    count_looked,
    discreet,
    look,
    stream,
)

if TYPE_CHECKING:
    from confide.sources.paired_sums import PlacementSums


@dataclass(frozen=True, slots=True)
class RankedTable:
    """Rank sums of all rows of a table, and counts for curves, whose rates are off by at most `error`."""

    sums: RankSums
    counts: ScoreCounts
    error: float


def sum_in_engine(rows: Any, ends: tuple[float, float], size: int) -> RankSums:
    """Return the rank sums of a table with columns `label` (0 or 1) and `score` (finite, no minus zero)."""
    cells = find_cells(rows, *ends, size)
    n, m = int(cells.positives.sum()), int(cells.negatives.sum())
    ranked = _ranked(rows, cells, ~cells.single & (cells.positives > 0))
    found = _by_cell(fetch_columns(ranked.group_by("cell").aggregate(**_sums(ranked)), _SUMS))
    return _added(cells, found, n, m)


def rank_in_engine(
    rows: Any, ends: tuple[float, float], size: int, *, error: float, thresholds: Sequence[float] = ()
) -> RankedTable:
    """Return the rank sums of such a table, and counts of cells for curves.

    A cell of a curve is a single score, or holds at most the share `error` of either class. None contains one of the
    thresholds.
    """
    cells = find_cells(rows, *ends, size)
    n, m = int(cells.positives.sum()), int(cells.negatives.sum())
    ranked = _ranked(rows, cells, ~cells.single)
    keys = _point_keys(ranked, point_rows(n, error), point_rows(m, error), thresholds)
    gap = ranked.score - ranked.start
    # How far a score lies into its cell; engines may refuse to divide the least numbers.
    share = (gap < ranked.least).ifelse(number(rows, 0.0), gap / ranked.width)
    pointed = ranked.mutate(share=share, **keys)
    grouped = pointed.group_by("cell", *keys).aggregate(
        low=pointed.score.min(),
        high=pointed.score.max(),
        start=pointed.start.max(),
        width=pointed.width.max(),
        shares=(pointed.share * pointed.size).sum(),
        **_sums(pointed),
    )
    found = fetch_columns(grouped, _SUMS | _POINTS)
    return RankedTable(_added(cells, _by_cell(found), n, m), _curve_counts(cells, found), error)


def _ranked(rows: Any, cells: Cells, chosen: NDArray[np.bool_]) -> Any:
    """Return a line for each distinct score of the chosen cells: its counts, and the rows at and below it.

    `through` and `reached` are the positives and the rows of its cell at or below a score. The window counts rows,
    and rows with equal scores in any order: the last of them has counted all.
    """
    import ibis

    located = locate(rows, cells.steps)
    if not chosen.all():
        kept = small_table(rows, {"kept": cells.ids[chosen]})
        located = located.join(kept, [("cell", "kept")], how="inner").drop("kept")
    window = ibis.window(group_by=located.cell, order_by=located.score, preceding=None, following=0)
    placed = located.mutate(through=located.label.sum().over(window), reached=located.count().over(window))
    grouped = placed.group_by("cell", "score").aggregate(
        positives=placed.label.sum(), size=placed.count(), through=placed.through.max(), reached=placed.reached.max()
    )
    whole = ("positives", "size", "through", "reached")  # some engines' sums have wider types
    grouped = grouped.mutate(**{name: grouped[name].cast("int64") for name in whole})
    lines = small_table(rows, _cell_lines(cells, chosen))
    joined = grouped.join(lines, [("cell", "of_cell")], how="inner").drop("of_cell")
    return joined.mutate(
        negatives=joined.size - joined.positives,
        below=2 * (joined.reached - joined.through) - (joined.size - joined.positives),
        under=2 * joined.through - joined.positives,
    )


def _cell_lines(cells: Cells, chosen: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return what ranks in a cell need: the rows above and below it, its counts, and where its scores lie."""
    width = cells.high - cells.low  # finite: cells with scores of both signs are narrower than all scores
    columns = {
        "of_cell": cells.ids,
        "above": cells.positives.sum() - np.cumsum(cells.positives),
        "over": cells.rows.sum() - np.cumsum(cells.rows),
        "before_ours": np.cumsum(cells.positives) - cells.positives,
        "before_theirs": np.cumsum(cells.negatives) - cells.negatives,
        "all_positives": cells.positives,
        "all_rows": cells.rows,
        "start": cells.low,
        "width": width,
        "least": width * 2.0**-60,
    }
    return {name: values[chosen] for name, values in columns.items()}


def _sums(ranked: Any) -> dict[str, Any]:
    """Return the sums of lines of `_ranked`."""
    p, q, below, under = ranked.positives, ranked.negatives, ranked.below, ranked.under
    called = ranked.above + ranked.all_positives - ranked.through + p
    rows_called = ranked.over + ranked.all_rows - ranked.reached + ranked.size
    return {
        "ours": p.sum(),
        "theirs": q.sum(),
        "wins": (p * below).sum(),
        "squares": (p * below * below).sum(),
        "under_squares": (q * under * under).sum(),
        "precision": (p * (called.cast("float64") / rows_called.cast("float64"))).sum(),
    }


_WHOLE = ("ours", "theirs", "wins", "squares", "under_squares")
_SUMS: dict[str, type] = {"cell": np.int64, **dict.fromkeys(_WHOLE, np.int64), "precision": np.float64}
_POINTS: dict[str, type] = dict.fromkeys(("low", "high", "start", "width", "shares"), np.float64)


def _by_cell(found: dict[str, NDArray[Any]]) -> dict[int, tuple[int, int, int, int, int, float]]:
    """Add up the sums of each cell, in whole numbers of any size."""
    columns = [found[name].tolist() for name in _SUMS]
    total: dict[int, tuple[int, int, int, int, int, float]] = {}
    for cell, *sums in zip(*columns, strict=True):
        before = total.get(cell, (0, 0, 0, 0, 0, 0.0))
        total[cell] = tuple(a + b for a, b in zip(before, sums, strict=True))
    return total


def _added(cells: Cells, found: dict[int, tuple[int, int, int, int, int, float]], n: int, m: int) -> RankSums:
    """Add up all cells in ascending order."""
    total = RangeTotal(n, m)
    lines = zip(
        cells.ids.tolist(), cells.single.tolist(), cells.positives.tolist(), cells.negatives.tolist(), strict=True
    )
    for cell, single, p, q in lines:
        if single:
            total.add_tie(p, q)
            continue
        ours, theirs, wins, squares, under_squares, precision = found.get(cell, (0, q, 0, 0, 0, 0.0))
        check_unchanged((ours, theirs) == (p, q))
        total.add(
            RangeSums(
                positives=p,
                negatives=q,
                twice_wins=wins,
                precision_sum=precision,
                squares_below=about_mean(squares, wins, p),
                squares_above=about_mean(under_squares, 2 * p * q - wins, q),
            )
        )
    return total.sums()


def point_rows(rows: int, error: float) -> int:
    """Return how many rows of a class a point of a curve may stand for."""
    return max(1, int(rows * error))


def _point_keys(ranked: Any, ours: int, theirs: int, thresholds: Sequence[float]) -> dict[str, Any]:
    """Return columns that scores of one point of a curve have in common.

    Points begin at every `ours`-th positive and `theirs`-th negative from below. A score whose rows lie on both sides
    of such a place is a point of its own. So other points hold at most `ours` positives and `theirs` negatives.
    """
    import ibis

    before_ours, before_theirs = ranked.before_ours, ranked.before_theirs
    first_ours = before_ours + ranked.through - ranked.positives
    first_theirs = before_theirs + (ranked.reached - ranked.through) - ranked.negatives
    block_ours, block_theirs = _block(first_ours, ours), _block(first_theirs, theirs)
    apart = (_block(first_ours + ranked.positives - 1, ours) > block_ours) | (
        _block(first_theirs + ranked.negatives - 1, theirs) > block_theirs
    )
    sides = [(ranked.score >= number(ranked, threshold)).ifelse(1, 0) for threshold in sorted(set(thresholds))]
    side = sum(sides, ibis.literal(0, type="int64"))
    return {"block_ours": block_ours, "block_theirs": block_theirs, "apart": apart.ifelse(1, 0), "side": side}


def _block(place: Any, size: int) -> Any:
    """Return the number of the block of so many rows that holds a place; of -1, a negative number.

    The quotient of whole numbers below 2^53 is never rounded up to a whole number that it does not reach.
    """
    return (place.cast("float64") / number(place, size)).floor().cast("int64")


def _curve_counts(cells: Cells, found: dict[str, NDArray[Any]]) -> ScoreCounts:
    """Return the counts at the mean score of each point of a curve."""
    low, high, start, width, shares, ours, theirs = (found[name] for name in (*_POINTS, "ours", "theirs"))
    means = np.clip(start + width * (shares / (ours + theirs)), low, high)
    single = cells.single
    means = np.concatenate([means, cells.low[single]])
    ours = np.concatenate([ours, cells.positives[single]])
    theirs = np.concatenate([theirs, cells.negatives[single]])
    order = np.argsort(means)
    return ScoreCounts(means[order] + 0.0, ours[order], theirs[order])


MOST_ROWS = 1 << 27
"""Rows that are read at once: some 1.4 GB."""

_RANGE_ROWS = 1 << 26  # of larger tables, beside what the engine needs to filter them
_MOST_COUNTED = 1 << 23  # counts of distinct scores take three times the memory of rows
_PART_ROWS = 1 << 23

Parts = list[tuple[NDArray[np.uint8], FloatArray]]
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
        counts = count_checked(labels.view(np.bool_), scores)
        counted = counts.scores, counts.positives, counts.negatives
        points.append(thin_counts(counted, before, steps, thresholds))
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
    sums = _sums_of(_read_parts(rows, size))
    total = RangeTotal(sums.positives, sums.negatives)
    total.add(sums)
    return total.sums()


def _add_rows(total: RangeTotal, part: _Range, rows: Parts) -> None:
    """Add the sums of a range, whose rows are given and let go."""
    above = total.n - total.positives - part.positives, total.m - total.negatives - part.negatives
    sums = _sums_of(rows, above)
    check_unchanged((sums.positives, sums.negatives) == part.classes)
    total.add(sums)


def _sums_of(rows: Parts, above: tuple[int, int] = (0, 0)) -> RangeSums:
    """Return the sums of rows, whose list is emptied."""
    if compiler_installed():
        from confide.kernels.rows import sum_parts  # loads numba

        return sum_parts(rows, above=above)
    labels, scores = (np.concatenate(column) for column in zip(*rows, strict=True))
    rows.clear()
    counts = count_checked(labels.view(np.bool_), scores)
    return sum_range_counts(counts.positives, counts.negatives, above)


def _read(rows: Any, part: _Range) -> Parts:
    """Read the rows of a range."""
    return _read_parts(
        rows.filter(rows.score >= number(rows, part.low), rows.score <= number(rows, part.high)), part.size
    )


def _read_parts(rows: Any, size: int) -> Parts:
    """Read rows into arrays so large that the system gets their memory back at once when they are let go."""
    edges = [*range(0, size, _PART_ROWS), size]
    parts = [(np.empty(last - first, np.uint8), np.empty(last - first)) for first, last in pairwise(edges)]
    filled = 0
    for batch in column_batches(rows.mutate(label=rows.label.cast("uint8"))):
        columns = batch["label"], batch["score"]
        length = columns[0].size
        check_unchanged(filled + length <= size)
        taken = 0
        while taken < length:
            part, place = divmod(filled, _PART_ROWS)
            count = min(length - taken, _PART_ROWS - place)
            for target, column in zip(parts[part], columns, strict=True):
                target[place : place + count] = column[taken : taken + count]
            filled += count
            taken += count
    check_unchanged(filled == size)
    return parts


@dataclass(frozen=True, slots=True)
class SummedTable:
    """Rank sums of a table with counts for curves, and the rows that were left out."""

    ranked: RankedTable
    missing: MissingScores | None


def rank_table(
    table: Any,
    columns: RowColumns,
    *,
    positive: object = None,
    missing: Missing = "refuse",
    thresholds: Callable[[float, float], Sequence[float]],
) -> CountedTable | SummedTable:
    """Count one score of an Ibis table or file, or sum it if it has too many distinct values to count.

    `thresholds` gives the thresholds of scores from a least to a greatest one.
    """
    with discreet(table):
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, missing=missing)
        local = is_local(held)
        few = checked.distinct <= MOST_SCORES or (local and checked.rows <= STREAMED_ROWS)
        if few or columns.weight is not None:
            return count_looked(checked, columns, in_engine=not local and columns.weight is None)
        (ends,) = checked.ends
        rows = _score_rows(checked, 0, local=local)
        rank = rank_streamed if local else rank_in_engine
        ranked = rank(rows, ends, checked.rows, error=CURVE_ERROR, thresholds=thresholds(*ends))
        return SummedTable(ranked, checked.missing)


def table_sums(table: Any, *, label: str, score: str, positive: object = None) -> RankSums:
    """Return the rank sums of one score of an Ibis table or file."""
    with discreet(table):
        columns = RowColumns(label=label, scores=(score,))
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, distinct=False)
        local = is_local(held)
        rows = _score_rows(checked, 0, local=local)
        add = sum_streamed if local else sum_in_engine
        return add(rows, checked.ends[0], checked.rows)


def table_placements(table: Any, *, label: str, scores: Sequence[str], positive: object = None) -> PlacementSums | Rows:
    """Return the sums of DeLong's components of several scores of an Ibis table or file, or its rows if few."""
    with discreet(table):
        columns = RowColumns(label=label, scores=tuple(scores))
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, distinct=False)
        if is_local(held) and checked.rows <= STREAMED_ROWS:
            return stream(checked, columns)
        from confide.sources.paired_sums import sum_placements

        named = {f"score{i}": checked.table[f"score{i}"] + 0.0 for i in range(len(scores))}
        return sum_placements(checked.table.select("label", **named), checked.ends, checked.rows)


def _score_rows(checked: CheckedTable, place: int, *, local: bool) -> Any:
    """Return a table with the columns `label` and `score`; the kernels take minus zero for zero themselves."""
    score = checked.table[f"score{place}"]
    return checked.table.select("label", score=score if local else score + 0.0)
