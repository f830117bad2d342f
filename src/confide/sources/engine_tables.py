"""What tables of DuckDB (`DuckTable`) and of other engines, through Ibis, do not have in common.

Ibis and PyArrow are loaded for tables of Ibis alone: whoever made one has both, or is told what to install.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataError
from confide.sources.duckdb_tables import DuckColumn, DuckTable, objects

BATCH_ROWS = 1 << 20
"""Rows of numbers that are fetched at once."""


def is_engine_table(source: Any) -> bool:
    """Return whether an engine holds the rows: DuckDB in this process, or one that Ibis knows."""
    return isinstance(source, DuckTable) or hasattr(source, "to_pyarrow_batches")


def engine_of(table: Any) -> str:
    """Return the name of the engine that holds a table."""
    return "duckdb" if isinstance(table, DuckTable) else str(table.get_backend().name)


def is_local(table: Any) -> bool:
    """Return whether the engine of a table is in this process."""
    return engine_of(table) == "duckdb"


def fetch_rows(table: Any) -> list[dict[str, Any]]:
    """Return a few rows as dictionaries of Python values."""
    if isinstance(table, DuckTable):
        return table.rows()
    rows: list[dict[str, Any]] = _arrow(table).to_pylist()
    return rows


def fetch_columns(table: Any, kinds: Mapping[str, type]) -> dict[str, NDArray[Any]]:
    """Return whole columns: numbers of the given types, of which none is missing, or objects, None where missing."""
    if not isinstance(table, DuckTable):
        found = _arrow(table)
        return {name: _array_of(found, name, kind) for name, kind in kinds.items()}
    typed = {
        name: table[name] if kind is object else table[name].cast(np.dtype(kind).name) for name, kind in kinds.items()
    }
    return table.select(**typed).arrays()


def column_batches(table: Any, values: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield columns, some rows at a time: those in `values` as Python values, others as numbers, none missing."""
    if isinstance(table, DuckTable):
        if values:
            found = table.arrays()
            yield {name: column.tolist() if name in values else column for name, column in found.items()}
        else:
            yield from table.number_batches()
        return
    for batch in table.to_pyarrow_batches(chunk_size=BATCH_ROWS):
        columns = zip(batch.schema.names, batch.columns, strict=True)
        yield {name: column.to_pylist() if name in values else numbers(column) for name, column in columns}


def value_batches(table: Any, size: int) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of Python values, some rows at a time."""
    if isinstance(table, DuckTable):
        yield from table.value_batches(size)
        return
    for batch in table.to_pyarrow_batches(chunk_size=size):
        if batch.num_rows:
            yield {name: batch.column(name).to_pylist() for name in batch.schema.names}


def numbers(array: Any) -> NDArray[Any]:
    """Return a column of Arrow's numbers without missing ones; Arrow's own conversion would load pandas."""
    try:
        return np.from_dlpack(array)
    except (TypeError, NotImplementedError, ValueError):  # booleans, decimals and the like
        return np.asarray(array.to_numpy(zero_copy_only=False))


def check_unchanged(unchanged: bool) -> None:
    """Refuse results of several queries that do not fit together."""
    if not unchanged:
        raise DataError("the table changed while it was read; try again when nobody writes to it")


def number(like: Any, value: float) -> Any:
    """Return a float64 for the engine of a column or a table, as text that it reads: it may round a literal."""
    if isinstance(like, DuckColumn | DuckTable):
        return like.literal(float(value))
    import ibis

    return ibis.literal(repr(float(value))).cast("float64")


def whole(like: Any, value: int) -> Any:
    """Return a whole number of 64 bits for the engine of a column or a table."""
    if isinstance(like, DuckColumn | DuckTable):
        return like.literal(int(value))
    import ibis

    return ibis.literal(int(value), type="int64")


def equals(code: Any, chosen: Any) -> Any:
    """Return where a column holds a code that the engine sent before; engines would round a literal with a point."""
    if isinstance(code, DuckColumn) or code.type().is_floating():
        return code.cast("float64") == number(code, chosen) if code.type().is_floating() else code == chosen
    import ibis

    return code == ibis.literal(chosen, type=code.type())


def least(one: Any, other: Any) -> Any:
    """Return the lesser of two numbers in each row."""
    if isinstance(one, DuckColumn):
        return one.least(other)
    import ibis

    return ibis.least(one, other)


def running(value: Any, group: Any, order: Any) -> Any:
    """Let a sum or a count run up to each row of its group, and those that tie with it."""
    if isinstance(value, DuckColumn):
        return value.over([group], order)
    import ibis

    return value.over(ibis.range_window(group_by=group, order_by=order, preceding=None, following=0))


def within_groups(value: Any, group: Sequence[Any]) -> Any:
    """Return a sum or a count of all rows of each row's group."""
    if isinstance(value, DuckColumn):
        return value.over(group)
    import ibis

    return value.over(ibis.window(group_by=list(group)))


def small_table(like: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    """Return a table of numbers in memory that the engine of another table takes along with a query."""
    if isinstance(like, DuckTable):
        return like.small(columns)
    import ibis
    import pyarrow as pa

    return ibis.memtable(pa.table(dict(columns)))


def exact_text(column: Any) -> Any | None:
    """Return a code that tells texts apart by their bytes; None if the engine is not known to have one."""
    engine = engine_of(column.as_table())
    if isinstance(column, DuckColumn):
        return column.hex()
    call = _engine_functions()
    if engine in ("duckdb", "pyspark"):
        return call["hex"](column)
    if engine == "postgres":
        return call["encode"](call["convert_to"](column, "UTF8"), "hex")
    return None


@cache
def _engine_functions() -> dict[str, Any]:
    """Declare functions of engines that Ibis has no name for."""
    import ibis

    declare, text, binary = ibis.udf.scalar.builtin, ibis.dtype("string"), ibis.dtype("binary")
    return {
        "hex": declare(lambda value: None, name="hex", signature=((text,), text)),
        "convert_to": declare(lambda value, encoding: None, name="convert_to", signature=((text, text), binary)),
        "encode": declare(lambda value, form: None, name="encode", signature=((binary, text), text)),
    }


def _arrow(table: Any) -> Any:
    """Return a small result as an Arrow table; from DuckDB by way of batches, which does not load pandas."""
    if table.get_backend().name != "duckdb":
        return table.to_pyarrow()
    import pyarrow as pa

    schema = table.schema().to_pyarrow()
    batches = [batch for batch in table.to_pyarrow_batches() if batch.num_rows]
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def _array_of(table: Any, name: str, kind: type) -> NDArray[Any]:
    column = table.column(name)
    if kind is object or column.null_count:
        return objects(column.to_pylist())
    chunks = [numbers(chunk) for chunk in column.chunks]
    return np.concatenate(chunks).astype(kind) if chunks else np.empty(0, kind)
