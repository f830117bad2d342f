"""Every way to hand rows over, each as one function from columns to counts."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from confide import ScoreCounts

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Names:
    """Which columns hold what."""

    label: str = "label"
    score: str = "score"
    weight: str | None = None
    positive: object = None

    def keywords(self) -> dict[str, Any]:
        return {"label": self.label, "score": self.score, "weight": self.weight, "positive": self.positive}


Reader = Callable[[Columns, Names, Path], ScoreCounts]


def from_lists(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    weights = None if names.weight is None else list(columns[names.weight])
    return ScoreCounts.from_arrays(
        list(columns[names.label]), list(columns[names.score]), weights, positive=names.positive
    )


def from_numpy(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    weights = None if names.weight is None else np.array(columns[names.weight])
    return ScoreCounts.from_arrays(
        np.array(columns[names.label]), np.array(columns[names.score]), weights, positive=names.positive
    )


def from_pandas(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    return ScoreCounts.from_frame(pd.DataFrame(dict(columns)), **names.keywords())


def from_pandas_nullable(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    return ScoreCounts.from_frame(pd.DataFrame(dict(columns)).convert_dtypes(), **names.keywords())


def from_polars(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    return ScoreCounts.from_frame(pl.DataFrame(dict(columns), strict=False), **names.keywords())


def from_polars_lazy(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    return ScoreCounts.from_frame(pl.DataFrame(dict(columns), strict=False).lazy(), **names.keywords())


def from_pyarrow(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    return ScoreCounts.from_frame(arrow(columns), **names.keywords())


def arrow(columns: Columns) -> Any:
    return pa.table(
        {name: pa.array(list(values), type=None if values else pa.float64()) for name, values in columns.items()}
    )


def csv_text(columns: Columns) -> str:
    lines = [",".join(columns)]
    lines += [",".join(cell(value) for value in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


def cell(value: object) -> str:
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def from_csv(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    file = folder / "rows.csv"
    file.write_text(csv_text(columns), encoding="utf-8", newline="")
    return ScoreCounts.from_table(file, **names.keywords())


def from_csv_gz(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    file = folder / "rows.csv.gz"
    with gzip.open(file, "wt", encoding="utf-8", newline="") as text:
        csv.writer(text).writerow(columns)
        csv.writer(text).writerows([cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return ScoreCounts.from_table(str(file), **names.keywords())


def from_parquet(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    file = folder / "rows.parquet"
    pq.write_table(arrow(columns), file)
    return ScoreCounts.from_table(file, **names.keywords())


def from_json_lines(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    file = folder / "rows.jsonl"
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return ScoreCounts.from_table(file, **names.keywords())


def from_ibis_memory(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    return ScoreCounts.from_table(ibis.memtable(arrow(columns)), **names.keywords())


def from_duckdb_table(columns: Columns, names: Names, folder: Path) -> ScoreCounts:
    connection = ibis.duckdb.connect()
    try:
        return ScoreCounts.from_table(connection.create_table("rows", arrow(columns)), **names.keywords())
    finally:
        connection.disconnect()


ARRAYS: dict[str, Reader] = {"lists": from_lists, "NumPy": from_numpy}
FRAMES: dict[str, Reader] = {
    "pandas": from_pandas,
    "pandas nullable": from_pandas_nullable,
    "Polars": from_polars,
    "Polars lazy": from_polars_lazy,
    "PyArrow": from_pyarrow,
}
FILES: dict[str, Reader] = {
    "CSV": from_csv,
    "CSV.gz": from_csv_gz,
    "Parquet": from_parquet,
    "JSON lines": from_json_lines,
}
TABLES: dict[str, Reader] = {**FILES, "Ibis memory": from_ibis_memory, "DuckDB": from_duckdb_table}
NAMED: dict[str, Reader] = {**FRAMES, **TABLES}
READERS: dict[str, Reader] = {**ARRAYS, **NAMED}

# Ibis 12 calls methods that DuckDB 1.5 has renamed, and an option that pandas 3 has retired.
QUIET = (
    "ignore:fetch_(arrow_table|record_batch)\\(\\) is deprecated:DeprecationWarning",
    "ignore:The 'future.infer_string' option is deprecated",
)
