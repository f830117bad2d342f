"""A file's rows with one more column, the scores that a model gives them."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numpy.typing import ArrayLike

from confide.atomic_files import replacement
from confide.counts import FloatArray
from confide.errors import DataError, ParameterError, UsageError
from confide.sources.arrays import checked_scores
from confide.sources.duckdb_files import open_file
from confide.sources.duckdb_tables import DuckTable, quoted_name, quoted_text
from confide.sources.tables import discreet

_WRITTEN = (".csv", ".parquet", ".pq")
_BATCH_ROWS = 1 << 16


def write_with_scores(source: str | Path, destination: str | Path, score_name: str, scores: ArrayLike) -> None:
    """Copy a file's rows, in their order, with a further column of scores to the last digit.

    The ending says whether CSV or Parquet is written. CSV is copied as it is written; what becomes Parquet has the
    types that the columns' values have together. The new file is there whole or not at all.
    """
    new, score = Path(destination), checked_scores(scores)
    check_destination(source, new)
    tabular = new.suffix.lower() == ".csv"
    with discreet(source):
        table = open_file(source, as_written=tabular)
        check_score_name(score_name, list(table.columns))
        (counted,) = table.aggregate(rows=table.count()).rows()
        if counted["rows"] != score.size:
            raise DataError("rows and scores differ in number; check that the file did not change, then try again")
        with _whole(new) as unfinished:
            (_write_csv if tabular else _write_parquet)(table, unfinished, score_name, score)


def check_destination(source: str | Path, destination: Path) -> None:
    """Refuse a file to write that is the one to read, or that could not be written, before any work is done."""
    if destination.suffix.lower() not in _WRITTEN:
        raise UsageError(f"{destination}: the ending must be one of {', '.join(_WRITTEN)}")
    if destination.is_dir():
        raise UsageError(f"{destination} is a folder; give the name of a file to write")
    if not destination.parent.is_dir() or not os.access(destination.parent, os.W_OK):
        raise UsageError(f"the folder of {destination} does not exist or cannot be written to; give another")
    if destination.exists() and Path(source).exists() and destination.samefile(source):
        raise UsageError(f"{destination} is the file that is read; give another name to write to")


def check_score_name(score_name: str, columns: list[str]) -> None:
    """Refuse a name for the scores that a column has, letter case aside."""
    if not score_name.strip():
        raise ParameterError("the column of scores has no name; give one")
    if score_name.lower() in (column.lower() for column in columns):
        raise ParameterError(f"there is a column {score_name!r} already; give the scores another name")


def _write_csv(table: DuckTable, path: Path, score_name: str, scores: FloatArray) -> None:
    texts = table.select(**{name: table[name].cast("string") for name in table.columns})
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*table.columns, score_name])
        filled = 0
        for batch in texts.value_batches(_BATCH_ROWS):
            columns = list(batch.values())
            part = scores[filled : filled + len(columns[0])]
            writer.writerows(zip(*columns, map(repr, part.tolist()), strict=True))
            filled += part.size
        _check_all(filled, scores)


def _write_parquet(table: DuckTable, path: Path, score_name: str, scores: FloatArray) -> None:
    con = table.connection
    con.register("confide_scores", {"score": scores})
    (counted,) = con.execute(f"SELECT count(*) FROM ({table.query})").fetchone()  # noqa: S608  # our own SQL
    _check_all(counted, scores)
    joined = f"({table.query}) AS t POSITIONAL JOIN confide_scores AS s"
    scored = f"SELECT t.*, s.score AS {quoted_name(score_name)} FROM {joined}"  # noqa: S608  # our own SQL
    con.execute(f"COPY ({scored}) TO {quoted_text(str(path))} (FORMAT parquet, USE_TMP_FILE false)")


def _check_all(rows: int, scores: FloatArray) -> None:
    if rows != scores.size:
        raise DataError("the file changed while it was read; try again when nobody writes to it")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file to write beside `path`, which takes its place once it is finished; only its owner may read it."""
    try:
        with replacement(path, owner_only=True) as unfinished:
            yield unfinished
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({type(error).__name__}); check that the disk has space for it"
        ) from None
