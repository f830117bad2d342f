"""Rows fit for private counting: by rules for each row, so that no row changes how another is read.

A label is positive by its own spelling (see `private_labels`), and a score is a number by its own text. Whether all
rows are fit is the only thing that an error tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confide.errors import ColumnError, NoRowsError, ScoreError
from confide.sources.private_labels import PrivateLabels

_TEXT = "column {!r} does not hold text; check that it is the right column"
_PLAIN = "column {!r} holds neither numbers nor text nor true/false; make it one of them before"


@dataclass(frozen=True, slots=True)
class FitRows:
    """A table with the columns `label`, 0 or 1, and `score0`, a finite number; and its size."""

    table: Any
    rows: int
    distinct: int


def fit_rows(table: Any, *, label: str, score: str, positive: object, parse_text: bool) -> FitRows:
    """Check an Ibis table for private counting; with `parse_text` scores may be written as text."""
    import ibis

    ColumnError.require([label, score], list(table.columns))
    check_type(table[label])
    number = _number(table[score], score, parse_text)
    values = table.select(value=table[label]).distinct().to_pyarrow().column("value").to_pylist()
    if not values:
        raise NoRowsError("the table has no rows; check the file or the query that made it")
    labels = PrivateLabels(label, positive)
    labels.add(values)
    kind = table[label].type()
    chosen = [
        ibis.literal(value, type=kind) for value, is_ours in zip(values, labels.decided(), strict=True) if is_ours
    ]
    ours = table[label].isin(chosen) if chosen else ibis.literal(False)
    named = table.select(label=ours.ifelse(1, 0), score0=number)
    bad = named.score0.isnull() | named.score0.isnan() | named.score0.isinf()
    (summary,) = (
        named.aggregate(
            rows=named.count(),
            distinct=named.score0.approx_nunique(),
            bad=bad.ifelse(1, ibis.literal(0)).sum(),
        )
        .to_pyarrow()
        .to_pylist()
    )
    if summary["bad"]:
        raise ScoreError(
            f"column {score!r} does not hold a finite number in every row; check that it is the right column and that "
            "decimals have a point, and remove or replace scores that are missing, NaN or infinite"
        )
    return FitRows(named, summary["rows"], summary["distinct"])


def check_type(column: Any, *, text: bool = False) -> None:
    """Refuse a column by its type alone, whether or not any row has a value."""
    kind, name = column.type(), column.get_name()
    if kind.is_string() or kind.is_null() or (not text and (kind.is_numeric() or kind.is_boolean())):
        return
    raise ColumnError((_TEXT if text else _PLAIN).format(name))


def _number(column: Any, name: str, parse_text: bool) -> Any:
    kind = column.type()
    if kind.is_string() and parse_text:
        return column.try_cast("float64")
    if kind.is_decimal():  # by its digits: engines round by the scale of the column, which other rows may have decided
        return column.cast("string").cast("float64")
    if kind.is_numeric() or kind.is_boolean() or kind.is_null():
        return column.cast("float64")
    raise ScoreError(f"column {name!r} does not hold numbers; check that it is the right column")
