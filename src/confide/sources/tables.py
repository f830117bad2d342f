"""Rows in a table that an engine holds: counted there when distinct scores are few, streamed when many.

Ranks of one score need neither: see `rank_tables`.

Any Ibis table works: DuckDB over files, PostgreSQL, Spark, ... One query looks at the columns (how
many rows, anything missing, how many distinct scores); then either the engine groups by score and
sends one row for each, or it streams the columns that are needed to the counting kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import ColumnError, ConfideError, DataError, ParameterError, ScoreError, UnreadableError
from confide.sources.arrays import count_checked
from confide.sources.checked_tables import CheckedTable, look
from confide.sources.details import detail, first_error, replaced_errors
from confide.sources.fetched import array_of, check_unchanged, fetch, numbers
from confide.sources.fit_rows import fit_rows
from confide.sources.rows import Grouping, Missing, MissingScores, RowColumns, Rows, member_codes, name_groups

_FEW_DISTINCT_SHARE = 0.1
_BATCH_ROWS = 1 << 20

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
    """Count an Ibis table, or the file at a path, by score.

    With `one_class` rows are private: a single label is allowed, as are labels that are not `positive`, and each row
    is read by itself (see `fit_rows`).
    """
    private = one_class and weight is None
    columns = RowColumns(label=label, scores=(score,), weight=weight)
    with discreet(table, private=private):
        if private:
            return _count_private(table, label=label, score=score, positive=positive)
        held = as_table(table, columns=columns.names)
        checked = look(held, columns, positive=positive, one_class=one_class, missing=missing)
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
        result = held.select(column).to_pyarrow().column(column).drop_null().to_numpy()
    return np.asarray(result, dtype=np.float64)


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
    if not weighted:
        grouped = table.group_by(score=score).aggregate(ours=table.label.sum(), all=table.count())
        result = fetch(grouped)
        ours, every = array_of(result, "ours", np.int64), array_of(result, "all", np.int64)
        theirs = every - ours
    else:
        positive, kind = table.label == 1, np.int64 if checked.integer_weights else np.float64
        grouped = table.group_by(score=score).aggregate(
            ours=positive.ifelse(table.weight, 0).sum(), theirs=positive.ifelse(0, table.weight).sum()
        )
        result = fetch(grouped)
        ours, theirs = array_of(result, "ours", kind), array_of(result, "theirs", kind)
    scores = array_of(result, "score", np.float64)
    order = np.argsort(scores)
    return ScoreCounts(scores[order], ours[order], theirs[order])


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
    for batch in checked.table.to_pyarrow_batches(chunk_size=_BATCH_ROWS):
        part = slice(filled, filled + batch.num_rows)
        check_unchanged(part.stop <= checked.rows)
        labels[part] = numbers(batch.column("label"))
        for i, column in enumerate(scores):
            column[part] = numbers(batch.column(f"score{i}"))
        if weights is not None:
            weights[part] = numbers(batch.column("weight"))
        for i, texts in enumerate(groups):
            texts[part] = name_groups(batch.column(f"group{i}").to_pylist())
        for role, values in members.items():
            values[part] = batch.column(role).to_pylist()
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
