"""Rows in a table that an engine holds: counted there when distinct scores are few, streamed when many.

Any Ibis table works: DuckDB over files, PostgreSQL, Spark, ... One query looks at the columns (how
many rows, anything missing, how many distinct scores); then either the engine groups by score and
sends one row for each, or it streams the columns that are needed to the counting kernel.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import (
    ColumnError,
    ConfideError,
    DataError,
    LabelError,
    ParameterError,
    ScoreError,
    UnreadableError,
    WeightError,
)
from confide.sources.arrays import count_checked
from confide.sources.details import detail, replaced_errors
from confide.sources.fit_rows import fit_rows
from confide.sources.labels import positive_value
from confide.sources.rows import Grouping, Missing, MissingScores, RowColumns, Rows, member_codes, name_groups

_FEW_DISTINCT_SHARE = 0.1
_BATCH_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class CountedTable:
    """Counts, and the number of rows they stand for."""

    counts: ScoreCounts
    rows: int
    missing: MissingScores | None = None


@dataclass(frozen=True, slots=True)
class _Checked:
    """A table whose columns were looked at: `label` is 0/1, the others numbers that are present."""

    table: Any
    rows: int
    distinct: int
    integer_weights: bool
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
    """Count an Ibis table, or the file at a path, by score.

    With `one_class` rows are private: a single label is allowed, as are labels that are not `positive`, and each row
    is read by itself (see `fit_rows`).
    """
    private = one_class and weight is None
    columns = RowColumns(label=label, scores=(score,), weight=weight)
    with discreet(table, private=private):
        if private:
            checked = _fit(table, label=label, score=score, positive=positive)
        else:
            held = as_table(table, columns=columns.names)
            checked = _look(held, columns, positive=positive, one_class=one_class, missing=missing)
        if checked.distinct <= _FEW_DISTINCT_SHARE * checked.rows:
            return CountedTable(_count_in_engine(checked, weight is not None), checked.rows, checked.missing)
        rows = _stream(checked, columns)
    return CountedTable(count_checked(rows.labels, rows.scores[0], rows.weights), checked.rows, checked.missing)


def table_rows(table: Any, columns: RowColumns, *, positive: object = None, missing: Missing = "refuse") -> Rows:
    """Read the needed columns of a table into memory, row by row."""
    with discreet(table):
        held = as_table(table, columns=columns.names)
        return _stream(_look(held, columns, positive=positive, missing=missing), columns)


def table_column(table: Any, column: str) -> FloatArray:
    """Read one column of numbers into memory; rows without a value are left out."""
    with discreet(table):
        held = as_table(table)
        ColumnError.require([column], list(held.columns))
        if not held[column].type().is_numeric():
            raise ScoreError(f"column {column!r} does not hold numbers; name a column of scores")
        result = held.select(column).to_pyarrow().column(column).drop_null().to_numpy()
    return np.asarray(result, dtype=np.float64)


@contextmanager
def discreet(source: Any, *, private: bool = False) -> Iterator[None]:
    """Turn an engine's error into ours: engines quote the values that they stumble over.

    With `private` not even the kind of error is shown, as it may depend on a single row.
    """

    def ours(error: Exception) -> ConfideError:
        kind = f" ({type(error).__name__})"
        kind = detail(kind) if private else kind
        if isinstance(source, str | Path):
            return UnreadableError(f"{source} cannot be read to its end{kind}; check that it is complete")
        return DataError(f"the engine could not count the table{kind}; check the query that makes it")

    with replaced_errors(ours):
        yield


def as_table(source: Any, *, as_written: bool = False, columns: Sequence[str] | None = None) -> Any:
    """Return an Ibis table: the one given, or one that reads the file at a path (see `open_file`)."""
    if isinstance(source, str | Path):
        from confide.sources.files import open_file

        return open_file(source, as_written=as_written, columns=columns)
    if not hasattr(source, "to_pyarrow_batches"):
        raise ParameterError(
            f"a {type(source).__name__} is not a dataframe, an Ibis table or a path; "
            "use ScoreCounts.from_frame for dataframes and from_arrays for arrays"
        )
    return source


def _fit(source: Any, *, label: str, score: str, positive: object) -> _Checked:
    """Check private rows, each by itself."""
    table = as_table(source, as_written=True, columns=(label, score))
    is_file = isinstance(source, str | Path)
    fit = fit_rows(table, label=label, score=score, positive=positive, parse_text=is_file)
    return _Checked(fit.table, fit.rows, fit.distinct, True)


def _look(
    table: Any, columns: RowColumns, *, positive: object, one_class: bool = False, missing: Missing = "refuse"
) -> _Checked:
    """Check the columns in one query, then name them label, score0, ..., weight, group0, ..., cluster, fold."""
    import ibis

    label, scores, weight = columns.label, columns.scores, columns.weight or columns.survey_weight
    ColumnError.require(columns.names, list(table.columns))
    labels = _label_values(table, label)
    for name, error in [*((s, ScoreError) for s in scores), *([(weight, WeightError)] if weight else [])]:
        if not table[name].type().is_numeric() and not table[name].type().is_boolean():
            raise error(
                f"column {name!r} does not hold numbers alone; check that it is the right column, that missing values "
                "are left empty, and that decimals have a point"
            )
    chosen = positive_value(labels, positive, one_class=one_class)
    named: dict[str, Any] = {
        "label": ibis.literal(False)
        if chosen is None
        else table[label] == ibis.literal(chosen, type=table[label].type()),
        **{f"score{i}": table[name].cast("float64") for i, name in enumerate(scores)},
        **{f"group{i}": table[name] for i, name in enumerate(columns.groups)},
    }
    whole = weight is None or table[weight].type().is_integer()
    if weight is not None:
        named["weight"] = table[weight].cast("int64" if whole else "float64")
    named |= {role: table[name] for role, name in (("cluster", columns.cluster), ("fold", columns.fold)) if name}
    read, left_out = table.select(**named), None
    if missing == "drop":
        read, left_out = _without_missing(read, scores)
    summary = _summary(read, len(scores), weight is not None)
    _refuse_bad(summary, scores, weight)
    return _Checked(read.mutate(label=read.label.ifelse(1, 0)), summary["rows"], summary["distinct"], whole, left_out)


def _without_missing(table: Any, scores: Sequence[str]) -> tuple[Any, MissingScores]:
    """Leave out the rows in which any score is null or NaN, and count them."""
    import ibis

    absent = [table[f"score{i}"].isnull() | table[f"score{i}"].isnan() for i in range(len(scores))]
    anywhere = functools.reduce(operator.or_, absent)
    tally = {f"absent{i}": mask.ifelse(1, ibis.literal(0)).sum() for i, mask in enumerate(absent)}
    counted = table.aggregate(rows=anywhere.ifelse(1, ibis.literal(0)).sum(), all=table.count(), **tally)
    found = _fetch(counted).to_pylist()[0]
    if found["rows"] == found["all"]:
        raise DataError("every row lacks a score; check the columns of scores")
    by_score = tuple((name, int(found[f"absent{i}"])) for i, name in enumerate(scores))
    return table.filter(~anywhere), MissingScores(rows=int(found["rows"]), by_score=by_score)


def _label_values(table: Any, label: str) -> list[Any]:
    """Return up to four distinct labels as Python values."""
    result = _fetch(table.select(value=table[label]).distinct().limit(4))
    if result.num_rows == 0:
        raise DataError("the table has no rows; check the file or the query that made it")
    values: list[Any] = result.column("value").to_pylist()
    if any(value is None for value in values):
        raise LabelError(f"column {label!r} has missing labels; remove those rows or fill them in, then try again")
    return values


def _summary(table: Any, scores: int, weighted: bool) -> dict[str, Any]:
    import ibis

    zero = ibis.literal(0)
    aggregates: dict[str, Any] = {"rows": table.count(), "distinct": table.score0.approx_nunique()}
    for i in range(scores):
        column = table[f"score{i}"]
        bad = column.isnull() | column.isnan() | column.isinf()
        aggregates[f"bad{i}"] = bad.ifelse(1, zero).sum()
    if weighted:
        column = table.weight
        bad = column.isnull() if column.type().is_integer() else column.isnull() | column.isnan() | column.isinf()
        aggregates["bad_weight"] = bad.ifelse(1, zero).sum()
        aggregates["least_weight"] = column.min()
    row = _fetch(table.aggregate(**aggregates)).to_pylist()[0]
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


def _count_in_engine(checked: _Checked, weighted: bool) -> ScoreCounts:
    table = checked.table
    score = table.score0 + 0.0  # minus zero and zero are one score
    if not weighted:
        grouped = table.group_by(score=score).aggregate(ours=table.label.sum(), all=table.count())
        result = _fetch(grouped)
        ours, every = _column(result, "ours", np.int64), _column(result, "all", np.int64)
        theirs = every - ours
    else:
        positive, kind = table.label == 1, np.int64 if checked.integer_weights else np.float64
        grouped = table.group_by(score=score).aggregate(
            ours=positive.ifelse(table.weight, 0).sum(), theirs=positive.ifelse(0, table.weight).sum()
        )
        result = _fetch(grouped)
        ours, theirs = _column(result, "ours", kind), _column(result, "theirs", kind)
    scores = _column(result, "score", np.float64)
    order = np.argsort(scores)
    return ScoreCounts(scores[order], ours[order], theirs[order])


def _fetch(table: Any) -> Any:
    """Return a small result as an Arrow table; from DuckDB by way of batches, which does not load pandas."""
    if table.get_backend().name != "duckdb":
        return table.to_pyarrow()
    import pyarrow as pa

    schema = table.schema().to_pyarrow()
    batches = [batch for batch in table.to_pyarrow_batches() if batch.num_rows]
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def _column(table: Any, name: str, kind: type) -> NDArray[Any]:
    chunks = [_numbers(chunk) for chunk in table.column(name).chunks]
    return np.concatenate(chunks).astype(kind) if chunks else np.empty(0, kind)


def _numbers(array: Any) -> NDArray[Any]:
    """Return a column of numbers without missing ones; Arrow's own conversion would load pandas."""
    try:
        return np.from_dlpack(array)
    except (TypeError, NotImplementedError, ValueError):  # booleans, decimals and the like
        return np.asarray(array.to_numpy(zero_copy_only=False))


def _stream(checked: _Checked, columns: RowColumns) -> Rows:
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
    for batch in checked.table.to_pyarrow_batches(chunk_size=_BATCH_ROWS):
        part = slice(filled, filled + batch.num_rows)
        if part.stop > checked.rows:
            raise DataError("the table changed while it was read; try again when nobody writes to it")
        labels[part] = _numbers(batch.column("label"))
        for i, column in enumerate(scores):
            column[part] = _numbers(batch.column(f"score{i}"))
        if weights is not None:
            weights[part] = _numbers(batch.column("weight"))
        for i, texts in enumerate(groups):
            texts[part] = name_groups(batch.column(f"group{i}").to_pylist())
        for role, values in members.items():
            values[part] = batch.column(role).to_pylist()
        filled = part.stop
    if filled != checked.rows:
        raise DataError("the table changed while it was read; try again when nobody writes to it")
    codes = {role: member_codes(values, role) for role, values in members.items()}
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
