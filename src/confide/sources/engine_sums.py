"""Rank sums and curve points of a table, computed by its engine for any number of distinct scores.

Scores are divided into cells (see `score_cells`), which the engine counts first: so the rows above each cell are known.
One query then ranks the rows inside each cell, by windows that are partitioned by cell, and sends the sums of each
cell or of each point of a curve. No row leaves the engine. Work spreads over its processes, and none needs more memory
than its cells.

All sums but that of precisions are whole. A cell has `n + m <= 2^20` rows, the rank of a row in the other class is at
most `2 m` or `2 n`, and `4 n m^2 <= 4 (4 / 27) 2^60 < 2^63`: 64 bits hold the sum of squares, and so every other sum.
A single score may have any number of rows: its sums follow from its counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import ScoreCounts
from confide.kernels.range_sums import RangeSums, RangeTotal, about_mean
from confide.kernels.sums import RankSums
from confide.sources.fetched import array_of, check_unchanged, fetch
from confide.sources.score_cells import Cells, find_cells, locate, number, small_table


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
    found = _by_cell(fetch(ranked.group_by("cell").aggregate(**_sums(ranked))))
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
    share = (gap < ranked.least).ifelse(number(0.0), gap / ranked.width)
    pointed = ranked.mutate(share=share, **keys)
    grouped = pointed.group_by("cell", *keys).aggregate(
        low=pointed.score.min(),
        high=pointed.score.max(),
        start=pointed.start.max(),
        width=pointed.width.max(),
        shares=(pointed.share * pointed.size).sum(),
        **_sums(pointed),
    )
    found = fetch(grouped)
    return RankedTable(_added(cells, _by_cell(found), n, m), _curve_counts(cells, found), error)


def _ranked(rows: Any, cells: Cells, chosen: NDArray[np.bool_]) -> Any:
    """Return a line for each distinct score of the chosen cells: its counts, and the rows at and below it.

    `through` and `reached` are the positives and the rows of its cell at or below a score. The window counts rows,
    and rows with equal scores in any order: the last of them has counted all.
    """
    import ibis

    located = locate(rows, cells.steps)
    if not chosen.all():
        kept = small_table({"kept": cells.ids[chosen]})
        located = located.join(kept, [("cell", "kept")], how="inner").drop("kept")
    window = ibis.window(group_by=located.cell, order_by=located.score, preceding=None, following=0)
    placed = located.mutate(through=located.label.sum().over(window), reached=located.count().over(window))
    grouped = placed.group_by("cell", "score").aggregate(
        positives=placed.label.sum(), size=placed.count(), through=placed.through.max(), reached=placed.reached.max()
    )
    whole = ("positives", "size", "through", "reached")  # some engines' sums have wider types
    grouped = grouped.mutate(**{name: grouped[name].cast("int64") for name in whole})
    lines = small_table(_cell_lines(cells, chosen))
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


def _by_cell(found: Any) -> dict[int, tuple[int, int, int, int, int, float]]:
    """Add up the sums of each cell, in whole numbers of any size."""
    columns = [array_of(found, "cell", np.int64).tolist()]
    columns += [array_of(found, name, np.int64).tolist() for name in _WHOLE]
    columns.append(array_of(found, "precision", np.float64).tolist())
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
    sides = [(ranked.score >= number(threshold)).ifelse(1, 0) for threshold in sorted(set(thresholds))]
    side = sum(sides, ibis.literal(0, type="int64"))
    return {"block_ours": block_ours, "block_theirs": block_theirs, "apart": apart.ifelse(1, 0), "side": side}


def _block(place: Any, size: int) -> Any:
    """Return the number of the block of so many rows that holds a place; of -1, a negative number.

    The quotient of whole numbers below 2^53 is never rounded up to a whole number that it does not reach.
    """
    return (place.cast("float64") / number(size)).floor().cast("int64")


def _curve_counts(cells: Cells, found: Any) -> ScoreCounts:
    """Return the counts at the mean score of each point of a curve."""
    low, high, start, width, shares = (
        array_of(found, name, np.float64) for name in ("low", "high", "start", "width", "shares")
    )
    ours, theirs = (array_of(found, name, np.int64) for name in ("ours", "theirs"))
    means = np.clip(start + width * (shares / (ours + theirs)), low, high)
    single = cells.single
    means = np.concatenate([means, cells.low[single]])
    ours = np.concatenate([ours, cells.positives[single]])
    theirs = np.concatenate([theirs, cells.negatives[single]])
    order = np.argsort(means)
    return ScoreCounts(means[order] + 0.0, ours[order], theirs[order])
