"""Rows in a table that an engine holds: checked, counted, and placed on public grids.

The order is the same for every source: types of columns, rows without a score, labels, scores, weights. Rows that
`missing="drop"` leaves out are left out of all checks but those of types.

Ranks of one score need neither: see `rank_tables`.

A table is DuckDB's own (`DuckTable`: files and databases of DuckDB) or one of Ibis (PostgreSQL, Spark, ...), which
answer to the same interface. One query looks at the columns (how many rows, anything missing, how many distinct
scores); then either the engine groups by score and sends one row for each, or it streams the columns that are needed to
the counting kernel.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts, check_weight_sum
from confide.errors import (
    ColumnError,
    ConfideError,
    DataError,
    ParameterError,
    ScoreError,
    UnreadableError,
    UsageError,
    WeightError,
)
from confide.sources.arrays import check_weight_range, count_checked, refuse_private_weights
from confide.sources.duckdb_tables import DuckTable
from confide.sources.engine_tables import (
    check_unchanged,
    column_batches,
    equals,
    fetch_columns,
    fetch_rows,
    is_engine_table,
    number,
    whole,
)
from confide.sources.error_details import detail, first_error, replaced_errors
from confide.sources.fit_rows import ExactColumn, as_number, check_type, fit_rows
from confide.sources.labels import positive_value
from confide.sources.rows import Grouping, Missing, MissingScores, RowColumns, Rows, member_codes, name_groups

_NAN = "NaN"
_UNPRINTED = ("is_uuid", "is_unknown", "is_inet", "is_macaddr", "is_geospatial")


@dataclass(frozen=True, slots=True, repr=False)
class CheckedTable:
    """A table whose columns were looked at: `label` is 0/1, the others numbers that are present.

    `ends` are the least and the greatest of each score.
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
    missing: Missing = "refuse",
    distinct: bool = True,
) -> CheckedTable:
    """Check the columns in a few queries, then name them label, score0, ..., weight, group0, ..., cluster, fold.

    Unless `distinct`, distinct scores are not counted, and their number is that of rows.
    """
    scores, weight = columns.scores, columns.weight or columns.survey_weight
    ColumnError.require(columns.names, list(table.columns))
    _check_types(table, columns)
    exact = ExactColumn.of(table[columns.label])
    read, left_out = table.select(**_named(table, columns, exact)), None
    if missing == "drop":
        read, left_out = _without_missing(read, scores)
    chosen = _positive_label(read, positive, exact)
    summary = _summary(read, len(scores), weight is not None, distinct)
    _refuse_bad(summary, scores, weight)
    ends = tuple((summary[f"low{i}"], summary[f"high{i}"]) for i in range(len(scores)))
    ours = equals(read.label, chosen)
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
            if table[name].type().is_string() and not fetch_rows(table.select(name).limit(1)):
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
    if any(getattr(kind, unprinted, bool)() for unprinted in _UNPRINTED):
        return column.cast("string")
    return column


def _without_missing(table: Any, scores: Sequence[str]) -> tuple[Any, MissingScores]:
    """Leave out the rows in which any score is null or NaN, and count them."""
    absent = [table[f"score{i}"].isnull() | table[f"score{i}"].isnan() for i in range(len(scores))]
    anywhere = functools.reduce(operator.or_, absent)
    tally = {f"absent{i}": mask.ifelse(1, 0).sum() for i, mask in enumerate(absent)}
    counted = table.aggregate(rows=anywhere.ifelse(1, 0).sum(), all=table.count(), **tally)
    (found,) = fetch_rows(counted)
    if not found["all"]:
        raise _no_rows()
    if found["rows"] == found["all"]:
        raise DataError("every row lacks a score; check the columns of scores")
    by_score = tuple((name, int(found[f"absent{i}"])) for i, name in enumerate(scores))
    return table.filter(~anywhere), MissingScores(rows=int(found["rows"]), by_score=by_score)


def _positive_label(table: Any, positive: object, label: ExactColumn) -> Any:
    """Return the code of the positive label."""
    found = [row["label"] for row in fetch_rows(table.select("label").distinct().limit(4))]
    if not found:
        raise _no_rows()
    values = label.values(found)
    if label.kind.is_decimal():
        values = [None if text is None else Decimal(text) for text in values]
    return found[values.index(positive_value(values, positive))]


def _summary(table: Any, scores: int, weighted: bool, distinct: bool) -> dict[str, Any]:
    aggregates: dict[str, Any] = {"rows": table.count()}
    aggregates["distinct"] = table.score0.approx_nunique() if distinct else table.count()
    for i in range(scores):
        column = table[f"score{i}"]
        bad = column.isnull() | column.isnan() | column.isinf()
        aggregates[f"bad{i}"] = bad.ifelse(1, 0).sum()
        aggregates |= {f"low{i}": column.min(), f"high{i}": column.max()}
    if weighted:
        column, whole = table.weight, table.weight.type().is_integer()
        bad = column.isnull() if whole else column.isnull() | column.isnan() | column.isinf()
        aggregates["bad_weight"] = bad.ifelse(1, 0).sum()
        aggregates |= {"least_weight": column.min(), "greatest_weight": column.max()}
        if whole:
            aggregates["whole_sum"] = column.cast("float64").sum()
    (row,) = fetch_rows(table.aggregate(**aggregates))
    return row


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
        if "whole_sum" in summary:
            check_weight_sum(summary["whole_sum"])
        else:
            check_weight_range(summary["least_weight"], summary["greatest_weight"])


def _no_rows() -> DataError:
    return DataError("the table has no rows; check the file or the query that made it")


_FEW_DISTINCT_SHARE = 0.1

STREAMED_ROWS = 5_000_000
"""Rows that an engine in this process sends at once; of more, distinct scores are summed range by range."""


@dataclass(frozen=True, slots=True, repr=False)
class CountedTable:
    """Counts, and the number of rows they stand for."""

    counts: ScoreCounts
    rows: int
    missing: MissingScores | None = None


def count_table(
    table: Any,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    positive: object = None,
    one_class: bool = False,
    missing: Missing = "refuse",
) -> CountedTable:
    """Count a table of DuckDB or of Ibis, or the file at a path, by score.

    With `one_class` rows are private: a single label is allowed, as are labels that are not `positive`, and each row
    is read by itself (see `fit_rows`).
    """
    if one_class:
        refuse_private_weights(weight)
    columns = RowColumns(label=label, scores=(score,), weight=weight)
    with discreet(table, private=one_class):
        if one_class:
            return _count_private(table, label=label, score=score, positive=positive)
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, missing=missing)
        return count_looked(checked, columns)


def count_looked(checked: CheckedTable, columns: RowColumns, *, in_engine: bool = False) -> CountedTable:
    """Count the one score of a table whose columns were looked at; with `in_engine`, never from rows.

    Engines add up weights in any order. Sums of weights that are not whole would depend on it, so these are streamed.
    """
    exact = columns.weight is None or checked.integer_weights
    if in_engine or (exact and checked.distinct <= _FEW_DISTINCT_SHARE * checked.rows):
        return CountedTable(_count_in_engine(checked, columns.weight is not None), checked.rows, checked.missing)
    rows = stream(checked, columns)
    return CountedTable(count_checked(rows.labels, rows.scores[0], rows.weights), checked.rows, checked.missing)


def table_rows(table: Any, columns: RowColumns, *, positive: object = None, missing: Missing = "refuse") -> Rows:
    """Read the needed columns of a table into memory, row by row."""
    with discreet(table):
        held = as_table(table, columns=columns.names)
        return stream(look(held, columns, positive=positive, missing=missing), columns)


def table_column(table: Any, column: str) -> FloatArray:
    """Read one column of numbers into memory; rows without a value are left out."""
    with discreet(table):
        held = as_table(table)
        ColumnError.require([column], list(held.columns))
        if not held[column].type().is_numeric():
            raise ScoreError(f"column {column!r} does not hold numbers; name a column of scores")
        chosen = held.select(value=as_number(held[column]))
        return fetch_columns(chosen.filter(~chosen.value.isnull()), {"value": np.float64})["value"]


@contextmanager
def discreet(source: Any, *, private: bool = False) -> Iterator[None]:
    """Turn an engine's error into ours: engines quote the values that they stumble over.

    With `private` not even the kind of error is shown, as it may depend on a single row.
    """

    def ours(error: Exception) -> ConfideError:
        kind = f" ({type(first_error(error)).__name__})"
        kind = detail(kind) if private else kind
        if isinstance(source, str | Path):
            return UnreadableError(f"{source} cannot be read to its end{kind}; check that it is complete")
        return DataError(f"the engine could not count the table{kind}; check the query that makes it")

    with replaced_errors(ours):
        yield


def as_table(source: Any, *, as_written: bool = False, columns: Sequence[str] | None = None) -> Any:
    """Return the table that is given, of DuckDB or of Ibis, or that of the file at a path (see `open_file`)."""
    if isinstance(source, str | Path):
        from confide.sources.duckdb_files import open_file

        return open_file(source, as_written=as_written, columns=columns)
    if not isinstance(source, DuckTable) and is_engine_table(source) and find_spec("pyarrow") is None:
        raise UsageError("tables of Ibis need PyArrow: pip install 'confide[databases]'")
    if not is_engine_table(source):
        raise ParameterError(
            f"a {type(source).__name__} is not a dataframe, an Ibis table or a path; "
            "use ScoreCounts.from_frame for dataframes and from_arrays for arrays"
        )
    return source


def _count_private(source: Any, *, label: str, score: str, positive: object) -> CountedTable:
    """Count private rows, each of which is read by itself."""
    table = as_table(source, as_written=True, columns=(label, score))
    is_file = isinstance(source, str | Path)
    fit = fit_rows(table, label=label, score=score, positive=positive, parse_text=is_file)
    if fit.distinct <= _FEW_DISTINCT_SHARE * fit.rows:
        counts = ScoreCounts(*fit.grouped(fit.table.score0 + 0.0, np.float64))  # minus zero and zero are one score
    else:
        counts = count_checked(*fit.streamed(), None)
    return CountedTable(counts, fit.rows)


def _count_in_engine(checked: CheckedTable, weighted: bool) -> ScoreCounts:
    table = checked.table
    score = table.score0 + 0.0  # minus zero and zero are one score
    positive = table.label == 1
    if weighted:
        kind = np.int64 if checked.integer_weights else np.float64
        sums = {
            "ours": positive.ifelse(table.weight, 0).sum(),
            "theirs": positive.ifelse(0, table.weight).sum(),
        }
    else:
        kind = np.int64
        sums = {"ours": positive.ifelse(1, 0).sum(), "theirs": positive.ifelse(0, 1).sum()}
    grouped = table.group_by(score=score).aggregate(**sums)
    found = fetch_columns(grouped, {"score": np.float64, "ours": kind, "theirs": kind})
    order = np.argsort(found["score"])
    return ScoreCounts(found["score"][order], found["ours"][order], found["theirs"][order])


def stream(checked: CheckedTable, columns: RowColumns) -> Rows:
    """Fill arrays of known length from batches, so that nothing is held twice."""
    labels = np.empty(checked.rows, dtype=np.bool_)
    scores: tuple[FloatArray, ...] = tuple(np.empty(checked.rows) for _ in columns.scores)
    weights: CountArray | None = None
    if columns.weight or columns.survey_weight:
        weights = np.empty(checked.rows, dtype=np.int64 if checked.integer_weights else np.float64)
    groups = [np.empty(checked.rows, dtype=object) for _ in columns.groups]
    members = {
        role: np.empty(checked.rows, dtype=object)
        for role, name in (("cluster", columns.cluster), ("fold", columns.fold))
        if name is not None
    }
    filled = 0
    values = [*(f"group{i}" for i in range(len(groups))), *members]
    for batch in column_batches(checked.table, values):
        part = slice(filled, filled + len(batch["label"]))
        check_unchanged(part.stop <= checked.rows)
        labels[part] = batch["label"]
        for i, column in enumerate(scores):
            column[part] = batch[f"score{i}"]
        if weights is not None:
            weights[part] = batch["weight"]
        for i, texts in enumerate(groups):
            texts[part] = name_groups(batch[f"group{i}"])
        for role, codes_of in members.items():
            codes_of[part] = batch[role]
        filled = part.stop
    check_unchanged(filled == checked.rows)
    codes = {role: member_codes(values, f"{role}s") for role, values in members.items()}
    return Rows(
        labels,
        columns.scores,
        scores,
        weights,
        tuple(Grouping(name, texts) for name, texts in zip(columns.groups, groups, strict=True)),
        codes.get("cluster"),
        codes.get("fold"),
        checked.missing,
        columns.survey_weight is not None,
    )


MOST_CELLS = 4096
"""Largest number of cells that one query counts: each is a branch in its SQL."""


def count_cells(table: Any, *, label: str, score: str, positive: object, edges: FloatArray) -> ScoreCounts:
    """Count the rows of a table in cells `[edge, next edge)`, rows beyond the ends in the nearest one.

    A cell stands in the counts with its lower edge for a score. Rows are private: each is read by itself, as in
    `fit_rows`.
    """
    with discreet(table, private=True):
        held = as_table(table, as_written=True, columns=(label, score))
        fit = fit_rows(held, label=label, score=score, positive=positive, parse_text=isinstance(table, str | Path))
        cell = _cell(fit.table.score0, edges[1:-1], 0)
        cells, ours, theirs = fit.grouped(cell, np.int64)
    return ScoreCounts(edges[cells], ours, theirs)


def _cell(score: Any, inner: FloatArray, first: int) -> Any:
    """Return the number of a score's cell: a decision tree over the inner edges."""
    if not inner.size:
        return whole(score, first)
    middle = inner.size // 2
    edge = number(score, inner[middle])
    below, above = _cell(score, inner[:middle], first), _cell(score, inner[middle + 1 :], first + middle + 1)
    return (score < edge).ifelse(below, above)
