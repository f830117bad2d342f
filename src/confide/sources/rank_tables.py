"""Tables by the ranks of their rows: counted by score if distinct scores are few, summed by their engine if many.

An engine in this process, DuckDB, sends millions of rows at once, and more of them a range of scores at a time. Any
other engine ranks rows itself: nothing but counts and sums leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.sources.checked_tables import CheckedTable, look
from confide.sources.curve_points import CURVE_ERROR, MOST_SCORES
from confide.sources.rows import Missing, MissingScores, RowColumns, Rows
from confide.sources.tables import STREAMED_ROWS, CountedTable, as_table, count_looked, discreet, stream

if TYPE_CHECKING:  # kernels are loaded for many rows only
    from confide.kernels.sums import RankSums
    from confide.sources.engine_sums import RankedTable
    from confide.sources.paired_sums import PlacementSums


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
        local = _is_local(held)
        few = checked.distinct <= MOST_SCORES or (local and checked.rows <= STREAMED_ROWS)
        if few or columns.weight is not None:
            return count_looked(checked, columns, in_engine=not local and columns.weight is None)
        (ends,) = checked.ends
        rows = _score_rows(checked, 0, local=local)
        if local:
            from confide.sources.streamed_sums import rank_streamed as rank
        else:
            from confide.sources.engine_sums import rank_in_engine as rank
        ranked = rank(rows, ends, checked.rows, error=CURVE_ERROR, thresholds=thresholds(*ends))
        return SummedTable(ranked, checked.missing)


def table_sums(table: Any, *, label: str, score: str, positive: object = None) -> RankSums:
    """Return the rank sums of one score of an Ibis table or file."""
    with discreet(table):
        columns = RowColumns(label=label, scores=(score,))
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, distinct=False)
        local = _is_local(held)
        rows = _score_rows(checked, 0, local=local)
        if local:
            from confide.sources.streamed_sums import sum_streamed as add
        else:
            from confide.sources.engine_sums import sum_in_engine as add
        return add(rows, checked.ends[0], checked.rows)


def table_placements(table: Any, *, label: str, scores: Sequence[str], positive: object = None) -> PlacementSums | Rows:
    """Return the sums of DeLong's components of several scores of an Ibis table or file, or its rows if few."""
    with discreet(table):
        columns = RowColumns(label=label, scores=tuple(scores))
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, distinct=False)
        if _is_local(held) and checked.rows <= STREAMED_ROWS:
            return stream(checked, columns)
        from confide.sources.paired_sums import sum_placements

        named = {f"score{i}": checked.table[f"score{i}"] + 0.0 for i in range(len(scores))}
        return sum_placements(checked.table.select("label", **named), checked.ends, checked.rows)


def _score_rows(checked: CheckedTable, place: int, *, local: bool) -> Any:
    """Return a table with the columns `label` and `score`; the kernels take minus zero for zero themselves."""
    score = checked.table[f"score{place}"]
    return checked.table.select("label", score=score if local else score + 0.0)


def _is_local(table: Any) -> bool:
    """Return whether the engine of a table is in this process."""
    return bool(table.get_backend().name == "duckdb")
