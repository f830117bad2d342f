"""Tables that DuckDB holds in this process, by its own Python API.

`DuckTable` and `DuckColumn` answer to the part of Ibis's interface that this package uses, so that counting, ranking
and encoding are written once, and files need neither Ibis nor pandas nor PyArrow. Every operation writes SQL around the
query of the table; nothing runs before rows are fetched.

Values leave DuckDB in one of two ways. Numbers come as Arrow buffers. All others come as Python values, which DuckDB
converts exactly but for types that `ExactColumn` codes as text before.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.sources.arrow_stream import number_batches

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_TYPES = {
    "float64": "DOUBLE",
    "int64": "BIGINT",
    "int32": "INTEGER",
    "uint8": "UTINYINT",
    "string": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class DuckType:
    """A type of DuckDB. Whole numbers of 128 bits are decimals, as no array holds them."""

    name: str

    def __str__(self) -> str:
        return self.name

    def is_string(self) -> bool:
        """Return whether values are text."""
        return self.name == "VARCHAR" or (self.name.startswith("ENUM(") and self.name.endswith(")"))

    def is_boolean(self) -> bool:
        """Return whether values are true or false."""
        return self.name == "BOOLEAN"

    def is_integer(self) -> bool:
        """Return whether values are whole numbers of at most 64 bits."""
        return self.name in _WHOLE

    def is_decimal(self) -> bool:
        """Return whether values are numbers with a fixed number of decimals."""
        return self.name == "HUGEINT" or (self.name.startswith("DECIMAL(") and self.name.endswith(")"))

    def is_floating(self) -> bool:
        """Return whether values are floats."""
        return self.name in _FLOATS

    def is_float32(self) -> bool:
        """Return whether values are floats of 32 bits."""
        return self.name == "FLOAT"

    def is_float16(self) -> bool:
        """Return False: DuckDB has no floats of 16 bits."""
        return False

    def is_numeric(self) -> bool:
        """Return whether values are numbers."""
        return self.is_integer() or self.is_decimal() or self.is_floating()

    def is_null(self) -> bool:
        """Return whether no row can have a value."""
        return self.name == '"NULL"'

    def is_unknown(self) -> bool:
        """Return whether values are neither text nor numbers nor true or false: days, lists and others."""
        return not (self.is_string() or self.is_numeric() or self.is_boolean() or self.is_null())


class DuckColumn:
    """A column of a `DuckTable`, or what is computed from its columns."""

    __slots__ = ("_name", "_sql", "_table")
    __hash__ = None  # type: ignore[assignment]  # columns are compared row by row

    def __init__(self, table: DuckTable, sql: str, name: str = "") -> None:
        self._table, self._sql, self._name = table, sql, name

    def __repr__(self) -> str:
        return f"DuckColumn({self._sql})"

    def as_table(self) -> DuckTable:
        """Return the table of the column."""
        return self._table

    def type(self) -> DuckType:
        """Return the type of the values."""
        if self._name:
            return self._table.schema()[self._name]
        return self._table.select(value=self).schema()["value"]

    def get_name(self) -> str:
        """Return the name of the column."""
        return self._name

    def literal(self, value: float) -> DuckColumn:
        """Return a number, or true or false, for every row."""
        return self._new(_written(value))

    def _new(self, sql: str) -> DuckColumn:
        return DuckColumn(self._table, sql)

    def _operated(self, sign: str, other: Any) -> DuckColumn:
        return self._new(f"({self._sql} {sign} {_written(other)})")

    def __add__(self, other: Any) -> DuckColumn:
        return self._operated("+", other)

    def __sub__(self, other: Any) -> DuckColumn:
        return self._operated("-", other)

    def __mul__(self, other: Any) -> DuckColumn:
        return self._operated("*", other)

    def __rmul__(self, other: Any) -> DuckColumn:
        return self._new(f"({_written(other)} * {self._sql})")

    def __truediv__(self, other: Any) -> DuckColumn:
        return self._operated("/", other)

    def __floordiv__(self, other: Any) -> DuckColumn:
        """Divide whole numbers that are not negative."""
        return self._operated("//", other)

    def __mod__(self, other: Any) -> DuckColumn:
        return self._operated("%", other)

    def __neg__(self) -> DuckColumn:
        return self._new(f"(-{self._sql})")

    def __invert__(self) -> DuckColumn:
        return self._new(f"(NOT {self._sql})")

    def __and__(self, other: Any) -> DuckColumn:
        return self._operated("AND", other)

    def __or__(self, other: Any) -> DuckColumn:
        return self._operated("OR", other)

    def __eq__(self, other: object) -> DuckColumn:  # type: ignore[override]
        return self._operated("=", other)

    def __lt__(self, other: Any) -> DuckColumn:
        return self._operated("<", other)

    def __le__(self, other: Any) -> DuckColumn:
        return self._operated("<=", other)

    def __gt__(self, other: Any) -> DuckColumn:
        return self._operated(">", other)

    def __ge__(self, other: Any) -> DuckColumn:
        return self._operated(">=", other)

    def cast(self, kind: str) -> DuckColumn:
        """Convert the values; DuckDB raises an error if that is impossible."""
        return self._new(f"CAST({self._sql} AS {_TYPES[kind]})")

    def try_cast(self, kind: str) -> DuckColumn:
        """Convert the values; null where that is impossible."""
        return self._new(f"TRY_CAST({self._sql} AS {_TYPES[kind]})")

    def nullif(self, value: Any) -> DuckColumn:
        """Replace a value by null."""
        return self._new(f"nullif({self._sql}, {_written(value)})")

    def ifelse(self, then: Any, otherwise: Any) -> DuckColumn:
        """Return one of two values for each row, by a column of truths."""
        return self._new(f"CASE WHEN {self._sql} THEN {_written(then)} ELSE {_written(otherwise)} END")

    def isnull(self) -> DuckColumn:
        """Return whether values are null."""
        return self._new(f"({self._sql} IS NULL)")

    def isnan(self) -> DuckColumn:
        """Return whether floats are NaN."""
        return self._new(f"isnan({self._sql})")

    def isinf(self) -> DuckColumn:
        """Return whether floats are infinite."""
        return self._new(f"isinf({self._sql})")

    def abs(self) -> DuckColumn:
        """Return magnitudes."""
        return self._new(f"abs({self._sql})")

    def sqrt(self) -> DuckColumn:
        """Return square roots."""
        return self._new(f"sqrt({self._sql})")

    def floor(self) -> DuckColumn:
        """Return the greatest whole numbers that are not above."""
        return self._new(f"floor({self._sql})")

    def hex(self) -> DuckColumn:
        """Return the hexadecimal digits of the bytes of texts."""
        return self._new(f"hex({self._sql})")

    def least(self, other: Any) -> DuckColumn:
        """Return the lesser of two numbers in each row."""
        return self._new(f"least({self._sql}, {_written(other)})")

    def sum(self, where: DuckColumn | None = None) -> DuckColumn:
        """Add up the values."""
        return self._new(f"sum({self._sql}){_filter(where)}")

    def min(self) -> DuckColumn:
        """Return the least value."""
        return self._new(f"min({self._sql})")

    def max(self) -> DuckColumn:
        """Return the greatest value."""
        return self._new(f"max({self._sql})")

    def approx_nunique(self) -> DuckColumn:
        """Return the number of distinct values, about."""
        return self._new(f"approx_count_distinct({self._sql})")

    def over(self, group: Sequence[DuckColumn], order: DuckColumn | None = None) -> DuckColumn:
        """Let a sum or a count run over groups of rows: over all of each, or up to each row and those that tie."""
        parts = f"PARTITION BY {', '.join(each._sql for each in group)}"
        if order is not None:
            parts += f" ORDER BY {order._sql} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        return self._new(f"{self._sql} OVER ({parts})")


class DuckTable:
    """The rows of a query on a connection of DuckDB."""

    def __init__(self, connection: Any, query: str, columns: Sequence[str] | None = None) -> None:
        self.connection, self.query = connection, query
        self._columns = None if columns is None else tuple(columns)

    def __repr__(self) -> str:
        return "DuckTable(<private>)"

    @cached_property
    def _types(self) -> dict[str, DuckType]:
        described = self.connection.execute(f"DESCRIBE {self.query}").fetchall()
        return {str(name): DuckType(str(kind)) for name, kind, *_ in described}

    def schema(self) -> Mapping[str, DuckType]:
        """Return the type of each column."""
        return self._types

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._types) if self._columns is None else self._columns

    def __getitem__(self, name: str) -> DuckColumn:
        return DuckColumn(self, quoted_name(name), name)

    def __getattr__(self, name: str) -> DuckColumn:
        if name.startswith("_") or name not in self.columns:
            raise AttributeError(name)
        return self[name]

    def _of(self, what: str, rest: str = "", columns: Sequence[str] | None = None) -> DuckTable:
        query = f"SELECT {what} FROM ({self.query}) AS t{rest}"  # noqa: S608  # our own SQL
        return DuckTable(self.connection, query, self._columns if columns is None else columns)

    def literal(self, value: float) -> DuckColumn:
        """Return a number, or true or false, for every row."""
        return DuckColumn(self, _written(value))

    def select(self, /, *names: str, **named: DuckColumn) -> DuckTable:
        """Keep columns, and compute others."""
        return self._of(", ".join([*map(quoted_name, names), *_named(named)]), columns=(*names, *named))

    def mutate(self, /, **named: DuckColumn) -> DuckTable:
        """Add columns, or replace those of the same names."""
        kept = [name for name in self.columns if name not in named]
        return self.select(*kept, **named)

    def drop(self, *names: str) -> DuckTable:
        """Leave columns out."""
        return self.select(*(name for name in self.columns if name not in names))

    def rename(self, /, **old: str) -> DuckTable:
        """Give columns new names, each new name with the old one."""
        new = {before: after for after, before in old.items()}
        columns = {name: new.get(name, name) for name in self.columns}
        chosen = ", ".join(f"{quoted_name(before)} AS {quoted_name(after)}" for before, after in columns.items())
        return self._of(chosen, columns=tuple(columns.values()))

    def filter(self, *conditions: DuckColumn) -> DuckTable:
        """Keep the rows for which all conditions are true."""
        return self._of("*", " WHERE " + " AND ".join(each._sql for each in conditions))

    def distinct(self) -> DuckTable:
        """Keep one of equal rows."""
        return self._of("DISTINCT *")

    def limit(self, rows: int) -> DuckTable:
        """Keep at most so many rows."""
        return self._of("*", f" LIMIT {rows}")

    def join(self, other: DuckTable, on: Sequence[tuple[str, str]], how: str = "inner") -> DuckTable:
        """Join the rows of another table whose columns have other names."""
        equal = " AND ".join(f"t.{quoted_name(ours)} = o.{quoted_name(theirs)}" for ours, theirs in on)
        return self._of(
            "*", f" {how.upper()} JOIN ({other.query}) AS o ON {equal}", columns=(*self.columns, *other.columns)
        )

    def union(self, *others: DuckTable) -> DuckTable:
        """Return the rows of several tables."""
        query = " UNION ALL ".join(f"({each.query})" for each in (self, *others))
        return DuckTable(self.connection, query, self.columns)

    def count(self, where: DuckColumn | None = None) -> DuckColumn:
        """Count rows."""
        return DuckColumn(self, f"count(*){_filter(where)}")

    def aggregate(self, /, **named: DuckColumn) -> DuckTable:
        """Return one row of sums, counts and ends."""
        return self.select(**named)

    def group_by(self, /, *names: str, **keys: DuckColumn) -> DuckGroups:
        """Divide the rows by columns, or by what is computed from them."""
        return DuckGroups(self, {**{name: self[name] for name in names}, **keys})

    def small(self, columns: Mapping[str, NDArray[Any]]) -> DuckTable:
        """Return a table of numbers on the same connection."""
        kinds = {"i": "BIGINT", "f": "DOUBLE"}
        lists = [
            f"unnest(CAST({quoted_text(repr(values.tolist()))} AS {kinds[values.dtype.kind]}[])) AS {quoted_name(name)}"
            for name, values in columns.items()
        ]
        return DuckTable(self.connection, f"SELECT {', '.join(lists)}", tuple(columns))

    def kept(self) -> DuckTable:
        """Read the rows once, and return them as a temporary table."""
        name = f"confide_kept_{secrets.token_hex(8)}"
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {self.query}")
        return DuckTable(self.connection, f"SELECT * FROM {name}", self._columns)  # noqa: S608  # our own name

    def numbered(self, name: str, place: str) -> tuple[list[Any], DuckTable]:
        """Number the distinct values of a column; return them in order, and the rows with numbers for values.

        A column of floats has both zeros as one value, and all NaN.
        """
        column = quoted_name(name)
        distinct = f"SELECT DISTINCT {column} AS value FROM ({self.query}) AS t"  # noqa: S608  # our own SQL
        found = DuckTable(self.connection, f"SELECT value, row_number() OVER () - 1 AS place FROM ({distinct})").kept()  # noqa: S608
        values = [row["value"] for row in DuckTable(self.connection, f"{found.query} ORDER BY place").rows()]
        others = ", ".join(f"t.{quoted_name(other)}" for other in self.columns if other != name)
        joined = f"({self.query}) AS t JOIN ({found.query}) AS v ON t.{column} IS NOT DISTINCT FROM v.value"
        return values, DuckTable(self.connection, f"SELECT v.place AS {quoted_name(place)}, {others} FROM {joined}")  # noqa: S608

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of Python values."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.connection.execute(self.query).fetchall()]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return whole columns: of numbers where no value is null, else of Python values, None for null.

        Decimals and whole numbers of 128 bits would become floats: code them as text before.
        """
        found = self.connection.execute(self.query).fetchnumpy()
        return {name: _array(column) for name, column in found.items()}

    def value_batches(self, size: int) -> Iterator[dict[str, list[Any]]]:
        """Yield columns of Python values, some rows at a time."""
        names = self.columns
        cursor = self.connection.execute(self.query)
        while rows := cursor.fetchmany(size):
            yield dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def number_batches(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield columns of numbers, of which none is null, some rows at a time."""
        self.connection.execute("SELECT 1").fetchall()  # ends a result that nobody has read to its end
        yield from number_batches(self.connection.sql(self.query))


@dataclass(frozen=True, slots=True, repr=False)
class DuckGroups:
    """Rows of a table divided by keys."""

    table: DuckTable
    keys: Mapping[str, DuckColumn]

    def aggregate(self, /, **named: DuckColumn) -> DuckTable:
        """Return one row for each group: its keys, and sums, counts and ends."""
        places = ", ".join(str(place) for place in range(1, len(self.keys) + 1))
        return self.table._of(
            ", ".join([*_named(self.keys), *_named(named)]), f" GROUP BY {places}", (*self.keys, *named)
        )


def quoted_text(value: str) -> str:
    """Write a text for DuckDB."""
    return "'" + value.replace("'", "''") + "'"


def quoted_name(column: str) -> str:
    """Write the name of a column for DuckDB."""
    return '"' + column.replace('"', '""') + '"'


def _named(columns: Mapping[str, DuckColumn]) -> list[str]:
    return [f"{column._sql} AS {quoted_name(name)}" for name, column in columns.items()]


def _filter(where: DuckColumn | None) -> str:
    return "" if where is None else f" FILTER (WHERE {where._sql})"


def _written(value: Any) -> str:
    """Write a value. A float is cast from text: DuckDB would read its digits as a decimal, and round."""
    if isinstance(value, DuckColumn):
        return value._sql
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return f"CAST({value} AS BIGINT)" if -(1 << 63) <= value < 1 << 63 else f"({value})"
    return f"CAST({quoted_text(repr(value))} AS DOUBLE)" if isinstance(value, float) else quoted_text(value)


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return an array of Python values as they are."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _array(column: Any) -> NDArray[Any]:
    """Return a column of NumPy's, in which a mask stands for nulls."""
    if np.ma.is_masked(column):
        return objects(column.tolist())
    return np.asarray(column)
