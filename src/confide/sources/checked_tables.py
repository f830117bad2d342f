"""Columns of a table that an engine holds, checked before its rows are counted or streamed.

The order is the same for every source: types of columns, rows without a score, labels, scores, weights. Rows that
`missing="drop"` leaves out are left out of all checks but those of types.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from confide.counts import check_weight_sum
from confide.errors import ColumnError, DataError, ScoreError, WeightError
from confide.sources.fetched import fetch
from confide.sources.fit_rows import ExactColumn, as_number, check_type
from confide.sources.labels import positive_value
from confide.sources.rows import Missing, MissingScores, RowColumns
from confide.sources.score_cells import number

_NAN = "NaN"


@dataclass(frozen=True, slots=True, repr=False)
class CheckedTable:
    """A table whose columns were looked at: `label` is 0/1, the others numbers that are present.

    `ends` are the least and the greatest of each score, unless rows are private.
    """

    table: Any
    rows: int
    distinct: int
    integer_weights: bool
    missing: MissingScores | None = None
    ends: tuple[tuple[float, float], ...] = ()


def look(
    table: Any,
    columns: RowColumns,
    *,
    positive: object,
    one_class: bool = False,
    missing: Missing = "refuse",
    distinct: bool = True,
) -> CheckedTable:
    """Check the columns in a few queries, then name them label, score0, ..., weight, group0, ..., cluster, fold.

    Unless `distinct`, distinct scores are not counted, and their number is that of rows.
    """
    import ibis

    scores, weight = columns.scores, columns.weight or columns.survey_weight
    ColumnError.require(columns.names, list(table.columns))
    _check_types(table, columns)
    exact = ExactColumn.of(table[columns.label])
    read, left_out = table.select(**_named(table, columns, exact)), None
    if missing == "drop":
        read, left_out = _without_missing(read, scores)
    chosen = _positive_label(read, positive, exact, one_class=one_class)
    summary = _summary(read, len(scores), weight is not None, distinct)
    _refuse_bad(summary, scores, weight)
    ends = tuple((summary[f"low{i}"], summary[f"high{i}"]) for i in range(len(scores)))
    ours = ibis.literal(False) if chosen is None else _equals(read.label, chosen)
    whole = weight is None or table[weight].type().is_integer()
    coded = read.mutate(
        label=ours.ifelse(1, 0), **({"weight": read.weight.cast("int64")} if weight is not None and whole else {})
    )
    return CheckedTable(coded, summary["rows"], summary["distinct"], whole, left_out, ends)


def _check_types(table: Any, columns: RowColumns) -> None:
    """Refuse columns by their types alone."""
    check_type(table[columns.label])
    weight = columns.weight or columns.survey_weight
    for name, error in [*((s, ScoreError) for s in columns.scores), *([(weight, WeightError)] if weight else [])]:
        if not table[name].type().is_numeric() and not table[name].type().is_boolean():
            if table[name].type().is_string() and not fetch(table.select(name).limit(1)).num_rows:
                raise _no_rows()  # every column of a file without rows is text
            raise error(
                f"column {name!r} does not hold numbers alone; check that it is the right column, that missing values "
                "are left empty, and that decimals have a point"
            )


def _named(table: Any, columns: RowColumns, label: ExactColumn) -> dict[str, Any]:
    """Return the columns by their new names; whole weights as they are, as they may be too large for 64 bits."""
    weight = columns.weight or columns.survey_weight
    named: dict[str, Any] = {
        "label": label.code,
        **{f"score{i}": as_number(table[name]) for i, name in enumerate(columns.scores)},
        **{f"group{i}": _as_printed(table[name]) for i, name in enumerate(columns.groups)},
    }
    if weight is not None:
        named["weight"] = table[weight] if table[weight].type().is_integer() else as_number(table[weight])
    members = (("cluster", columns.cluster), ("fold", columns.fold))
    return named | {role: _as_printed(table[name]) for role, name in members if name}


def _as_printed(column: Any) -> Any:
    """Return groups as text where Python has no such type, or one with another number of digits.

    Decimals of PostgreSQL have any number of digits, and those of Arrow a fixed one.
    """
    kind = column.type()
    if kind.is_decimal():
        return column.cast("string").nullif(_NAN)
    if kind.is_uuid() or kind.is_unknown() or kind.is_inet() or kind.is_macaddr() or kind.is_geospatial():
        return column.cast("string")
    return column


def _without_missing(table: Any, scores: Sequence[str]) -> tuple[Any, MissingScores]:
    """Leave out the rows in which any score is null or NaN, and count them."""
    import ibis

    absent = [table[f"score{i}"].isnull() | table[f"score{i}"].isnan() for i in range(len(scores))]
    anywhere = functools.reduce(operator.or_, absent)
    tally = {f"absent{i}": mask.ifelse(1, ibis.literal(0)).sum() for i, mask in enumerate(absent)}
    counted = table.aggregate(rows=anywhere.ifelse(1, ibis.literal(0)).sum(), all=table.count(), **tally)
    found = fetch(counted).to_pylist()[0]
    if not found["all"]:
        raise _no_rows()
    if found["rows"] == found["all"]:
        raise DataError("every row lacks a score; check the columns of scores")
    by_score = tuple((name, int(found[f"absent{i}"])) for i, name in enumerate(scores))
    return table.filter(~anywhere), MissingScores(rows=int(found["rows"]), by_score=by_score)


def _positive_label(table: Any, positive: object, label: ExactColumn, *, one_class: bool) -> Any:
    """Return the code of the positive label; None if no row has it."""
    found = fetch(table.select("label").distinct().limit(4)).column("label").to_pylist()
    if not found:
        raise _no_rows()
    values = label.values(found)
    if label.kind.is_decimal():
        values = [None if text is None else Decimal(text) for text in values]
    chosen = positive_value(values, positive, one_class=one_class)
    return None if chosen is None else found[values.index(chosen)]


def _equals(code: Any, chosen: Any) -> Any:
    """Return where a label has a code; engines would round a literal with a point."""
    import ibis

    kind = code.type()
    if kind.is_floating():
        return code.cast("float64") == number(chosen)
    return code == ibis.literal(chosen, type=kind)


def _summary(table: Any, scores: int, weighted: bool, distinct: bool) -> dict[str, Any]:
    import ibis

    zero = ibis.literal(0)
    aggregates: dict[str, Any] = {"rows": table.count()}
    aggregates["distinct"] = table.score0.approx_nunique() if distinct else table.count()
    for i in range(scores):
        column = table[f"score{i}"]
        bad = column.isnull() | column.isnan() | column.isinf()
        aggregates[f"bad{i}"] = bad.ifelse(1, zero).sum()
        aggregates |= {f"low{i}": column.min(), f"high{i}": column.max()}
    if weighted:
        column, whole = table.weight, table.weight.type().is_integer()
        bad = column.isnull() if whole else column.isnull() | column.isnan() | column.isinf()
        aggregates["bad_weight"] = bad.ifelse(1, zero).sum()
        aggregates["least_weight"] = column.min()
        if whole:
            aggregates["whole_sum"] = column.cast("float64").sum()
    row = fetch(table.aggregate(**aggregates)).to_pylist()[0]
    return dict(row)


def _refuse_bad(summary: dict[str, Any], scores: Sequence[str], weight: str | None) -> None:
    for i, name in enumerate(scores):
        if summary[f"bad{i}"]:
            raise ScoreError(
                f"column {name!r} has scores that are missing, NaN or infinite; remove or replace them first, or "
                "evaluate without those rows (`missing`)"
            )
    if weight is not None:
        if summary["bad_weight"]:
            raise WeightError(f"column {weight!r} has weights that are missing, NaN or infinite; replace them first")
        if summary["least_weight"] < 0:
            raise WeightError(
                f"column {weight!r} has negative weights; correct or remove those rows, as a weight counts rows"
            )
        if summary["least_weight"] == 0:
            raise WeightError(f"column {weight!r} has weights of zero; remove those rows")
        check_weight_sum(summary.get("whole_sum", 0.0))


def _no_rows() -> DataError:
    return DataError("the table has no rows; check the file or the query that made it")
