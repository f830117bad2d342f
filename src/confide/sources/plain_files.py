"""Counts of a Parquet or CSV file whose columns are beyond doubt, by DuckDB alone.

Loading Ibis takes longer than reading a million rows. So a file of moderate size with two labels and a number in each
row is read without it. Where anything is unusual, nothing is decided here: `count_table` reads the file again, and
says what is wrong. Counts are the same either way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ConfideError
from confide.sources.arrays import count_checked
from confide.sources.files import (
    MISSING,
    NAMED,
    keep_named,
    limit_engine,
    literally,
    quoted_name,
    quoted_text,
    reader_of,
    spill_folder,
    wide_decimals,
)
from confide.sources.labels import positive_value
from confide.sources.tables import STREAMED_ROWS, CountedTable

MOST_BYTES = 1 << 29
"""Size of such a file."""

_BATCH_ROWS = 1 << 18
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"})
_LABELS = _WHOLE | {"BOOLEAN", "VARCHAR"}
_NUMBERS = _WHOLE | {"BOOLEAN", "FLOAT", "DOUBLE"}


def count_plain_file(path: str | Path, *, label: str, score: str, positive: object = None) -> CountedTable | None:
    """Count the file at a path by score; None where its ending, size, types or values are not the plainest."""
    file = Path(path)
    try:
        reader, packed = reader_of(file, path)
    except ConfideError:
        return None
    if packed or reader == "read_json" or file.stat().st_size > MOST_BYTES:
        return None
    import duckdb

    try:
        with duckdb.connect(config={"temp_directory": spill_folder()}) as con:
            limit_engine(con)
            source = _source(con, file, reader, (label, score))
            return None if source is None else _count(con, source, label, score, positive)
    except duckdb.Error:
        return None


def _source(con: Any, file: Path, reader: str, columns: tuple[str, str]) -> str | None:
    """Return what to select from: a Parquet file, or a table with the named columns of a CSV file."""
    if reader == "read_parquet":
        if wide_decimals(con, file):
            return None
        return f"read_parquet({quoted_text(literally(file))}, hive_partitioning = false)"
    return NAMED if keep_named(con, literally(file), columns, missing=MISSING) else None


def _count(con: Any, source: str, label: str, score: str, positive: object) -> CountedTable | None:
    described = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608  # quoted
    types = {name: str(kind) for name, kind, *_ in described}
    if types.get(label) not in _LABELS or types.get(score) not in _NUMBERS:
        return None
    name, number = quoted_name(label), quoted_name(score)
    (rows,) = con.execute(f"SELECT count(*) FROM {source}").fetchone()  # noqa: S608  # quoted
    if rows > STREAMED_ROWS:
        return None
    found = con.execute(f"SELECT DISTINCT {name} FROM {source} LIMIT 4").fetchall()  # noqa: S608  # quoted
    try:
        chosen = positive_value([value for (value,) in found], positive, one_class=False)
    except ConfideError:
        return None
    # The value is written into the query: to bind it, DuckDB would load pandas.
    value = quoted_text(chosen) if isinstance(chosen, str) else str(chosen)
    read = _read(con, f"CAST({name} = CAST({value} AS {types[label]}) AS UTINYINT)", number, source, rows)
    return None if read is None else CountedTable(count_checked(*read), rows)


def _read(con: Any, label: str, score: str, source: str, rows: int) -> tuple[NDArray[np.bool_], FloatArray] | None:
    """Read labels and scores batch by batch; None if one is missing or infinite. (NumPy at once would load pandas.)"""
    query = f"SELECT {label} AS label, CAST({score} AS DOUBLE) AS score FROM {source}"  # noqa: S608  # quoted
    labels, scores, filled = np.empty(rows, dtype=np.bool_), np.empty(rows), 0
    for batch in con.execute(query).fetch_record_batch(_BATCH_ROWS):
        part = slice(filled, filled + batch.num_rows)
        if part.stop > rows or any(column.null_count for column in batch.columns):
            return None
        labels[part], scores[part] = (np.from_dlpack(batch.column(name)) for name in ("label", "score"))
        if not np.isfinite(scores[part]).all():
            return None
        filled = part.stop
    return (labels, scores) if filled == rows else None
