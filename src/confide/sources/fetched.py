"""Small results of an engine as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataError


def fetch(table: Any) -> Any:
    """Return a small result as an Arrow table; from DuckDB by way of batches, which does not load pandas."""
    if table.get_backend().name != "duckdb":
        return table.to_pyarrow()
    import pyarrow as pa

    schema = table.schema().to_pyarrow()
    batches = [batch for batch in table.to_pyarrow_batches() if batch.num_rows]
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def array_of(table: Any, name: str, kind: type) -> NDArray[Any]:
    """Return a column of an Arrow table without missing values."""
    chunks = [numbers(chunk) for chunk in table.column(name).chunks]
    return np.concatenate(chunks).astype(kind) if chunks else np.empty(0, kind)


def numbers(array: Any) -> NDArray[Any]:
    """Return a column of numbers without missing ones; Arrow's own conversion would load pandas."""
    try:
        return np.from_dlpack(array)
    except (TypeError, NotImplementedError, ValueError):  # booleans, decimals and the like
        return np.asarray(array.to_numpy(zero_copy_only=False))


def check_unchanged(unchanged: bool) -> None:
    """Refuse results of several queries that do not fit together."""
    if not unchanged:
        raise DataError("the table changed while it was read; try again when nobody writes to it")
