"""Rows fit for private counting: by rules for each row, so that no row changes how another is read.

A label is positive by its own spelling (see `private_labels`), and a score is a number by its own text. Whether all
rows are fit is the only thing that an error tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import ColumnError, NoRowsError, ParameterError, ScoreError
from confide.sources.feature_columns import spelling
from confide.sources.private_labels import PrivateLabels

_TEXT = "column {!r} does not hold text; check that it is the right column"
_PLAIN = "column {!r} holds neither numbers nor text nor true/false; make it one of them before"


@dataclass(frozen=True, slots=True, repr=False)
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
    labels = PrivateLabels(label, _as_written(positive, table[label].type()))
    number = _number(table[score], score, parse_text)
    # A type that the engine does not convert is refused here, whether or not there is a row.
    summary = _summary(table.select(score0=number))
    given = table[label]
    given = given.cast("string") if given.type().is_decimal() else given  # with any digits, which no other type holds
    values = table.select(value=given).distinct().to_pyarrow().column("value").to_pylist()
    if not values:
        raise NoRowsError("the table has no rows; check the file or the query that made it")
    no_number = table[label].type().is_decimal()
    kind = given.type()
    written = [float(str(np.float32(value))) if kind.is_float32() and value is not None else value for value in values]
    labels.add([None if no_number and value == "NaN" else value for value in written])
    chosen = [
        ibis.literal(value, type=kind) for value, is_ours in zip(values, labels.decided(), strict=True) if is_ours
    ]
    ours = given.isin(chosen) if chosen else ibis.literal(False)
    named = table.select(label=ours.ifelse(1, 0), score0=number)
    if summary["bad"]:
        raise ScoreError(
            f"column {score!r} does not hold a finite number in every row; check that it is the right column and that "
            "decimals have a point, and remove or replace scores that are missing, NaN or infinite"
        )
    return FitRows(named, summary["rows"], summary["distinct"])


def _as_written(positive: object, kind: Any) -> object:
    """Return the positive label as a column of this type has it; refuse one that it cannot have."""
    spelled = spelling(positive)
    if not kind.is_boolean() or spelled is None:
        return positive
    truth = {"true": True, "1": True, "false": False, "0": False}.get(spelled)
    if truth is None:
        raise ParameterError("labels in this column are true or false; name one of them as the positive label")
    return truth


def as_number(column: Any) -> Any:
    """Return a column of numbers, or of true and false, as float64.

    Decimals are read by their digits: engines round by the scale of the column, which other rows may have decided, or
    divide two numbers that they have rounded.
    """
    kind = column.type()
    if kind.is_decimal():
        return column.cast("string").cast("float64")
    return (column.cast("int32") if kind.is_boolean() else column).cast("float64")


def _summary(scores: Any) -> dict[str, Any]:
    """Return the number of rows, of distinct scores, about, and of those that are no finite number."""
    import ibis

    score = scores.score0
    bad = score.isnull() | score.isnan() | score.isinf()
    counted = scores.aggregate(
        rows=scores.count(), distinct=score.approx_nunique(), bad=bad.ifelse(1, ibis.literal(0)).sum()
    )
    return dict(counted.to_pyarrow().to_pylist()[0])


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
    if kind.is_numeric() or kind.is_boolean() or kind.is_null():
        return as_number(column)
    raise ScoreError(f"column {name!r} does not hold numbers; check that it is the right column")
