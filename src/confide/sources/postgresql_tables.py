"""Tables of PostgreSQL in a read-only snapshot, with credentials that libpq finds by itself.

libpq reads PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE and `~/.pgpass`. Python never holds a password. The server's
messages quote values, and the driver's quote the connection: neither is shown, only what an error's code means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import psycopg
from ibis import schema as ibis_schema
from ibis.backends.postgres import Backend
from psycopg import sql

from confide.errors import ConfideError, DataError, ParameterError, UnreadableError, UsageError
from confide.postgresql_reach import reach_of
from confide.sources.digests import digest_of
from confide.sources.error_details import replaced_errors
from confide.sources.locations import TableLocation, check_columns, statement_of, unused_name

_CONNECT_SECONDS = "10"
_BATCH_ROWS = 1 << 16
_LOCAL = (
    "SET LOCAL TIME ZONE 'UTC'",
    "SET LOCAL DateStyle = 'ISO, MDY'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL extra_float_digits = 1",  # as many digits as tell numbers apart
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL lc_monetary = 'C'",
)

# Classes and codes of SQLSTATE; the first that fits.
_MEANING = {
    "28": "the server does not let this user in; check PGUSER, PGPASSWORD and PGPASSFILE in the environment",
    "3D": "there is no such database; check its name in the URL",
    "3F": "there is no such schema; check its name",
    "42P01": "there is no such table, or not in a schema that is searched; check its name, letter case included, and "
    "write schema.table",
    "42501": "this user may not read the table; let its owner grant SELECT",
    "53": "the server has run out of connections, memory or disk; try again later",
    "57014": "the server cancelled the query; let its administrator raise statement_timeout for this user",
    "57": "the server is stopping; try again later",
    "08": "the connection was lost; try again",
}
_PARAMETER_MISSING = "08P01"  # a violation of the protocol: fewer values than the statement needs
_TEXT = 'CAST({0} AS text) COLLATE "C" AS {0}'
_NUMERIC = (
    "CASE WHEN {0} = 'NaN' THEN 'NaN' WHEN abs({0}) < 2.4703282292062328e-324 THEN 0 "
    "WHEN {0} > 1.7976931348623158e308 THEN 'Infinity' WHEN {0} < -1.7976931348623158e308 THEN '-Infinity' "
    "ELSE {0} END AS {0}"
)
"""Numbers of any size, as double precision has them: the server would refuse to convert the least and the largest."""

_UNSCALED = _NUMERIC.replace("ELSE {0}", "ELSE trim_scale({0})")
"""The same for a type without a number of decimals: 1.0 and 1.00 are printed alike."""

_WHOLE = """
WITH RECURSIVE family (oid, is_child) AS (
  SELECT oid, EXISTS (SELECT FROM pg_inherits WHERE inhrelid = pg_class.oid)
  FROM pg_class WHERE oid = to_regclass(%(name)s)
  UNION SELECT inhrelid, false FROM pg_inherits JOIN family ON inhparent = family.oid
)
SELECT relkind IN ('r', 'p') AND NOT relrowsecurity AND NOT is_child FROM family JOIN pg_class USING (oid)
"""
"""For a table and all its parts: whether it is a table of this server whose rows nothing selects."""

_NO_NUMBERS = ("money", "oid")
"""Types that Ibis takes for numbers, and PostgreSQL converts to none."""

_WHERE = (
    "Host, port and database are in the URL or in PGHOST, PGPORT, PGDATABASE and PGSERVICE in the environment, and "
    "credentials in PGUSER, PGPASSWORD and PGPASSFILE"
)
_UNREACHED = f"the settings of the connection cannot be read; check them. {_WHERE}"


class _Column(NamedTuple):
    name: str
    kind: str
    is_text: bool


class _Snapshot(Backend):  # type: ignore[misc]  # Ibis has no types
    """Ibis's backend on an open transaction. Placeholders in compiled SQL stand for the rows' own SQL and small tables.

    Ibis would parse a query and write it anew. So it is told of a table by the name of the placeholder instead, and
    the text of the query takes its place as it is. Ibis would also make temporary tables of those in memory, which a
    read-only transaction does not take: they are written into the query.
    """

    rows_name = ""
    rows_sql = ""
    small_tables: dict[str, str]

    def compile(self, *arguments: Any, **options: Any) -> str:
        """Compile an expression, with the SQL of the rows and of small tables in place."""
        compiled: str = super().compile(*arguments, **options)
        for name, text in self.small_tables.items():
            compiled = compiled.replace(f'"{name}"', text)
        return compiled.replace(f'"{self.rows_name}"', self.rows_sql)

    def _register_in_memory_table(self, op: Any) -> None:
        self.small_tables[op.name] = _unnested(op.data.to_pyarrow(op.schema))

    def _make_memtable_finalizer(self, name: str) -> None:
        return None


@contextmanager
def open_postgresql(location: TableLocation) -> Iterator[tuple[Any, Callable[[], bytes]]]:
    """Open a table or a query: yield its table in Ibis, and a function that digests its rows."""
    connection = _connected(location)
    try:
        with _discreet(location), connection.transaction():
            base = _base(location, connection)
            columns = _columns(connection, base, location)
            backend = _backend(connection, base, columns)
            kinds = ibis_schema({column.name: _kind(column) for column in columns})
            table = ops.DatabaseTable(name=backend.rows_name, schema=kinds, source=backend).to_expr()
            yield table, lambda: digest_of(kinds, _row_hashes(connection, base))
    finally:
        connection.close()


def names_view(connection: Any, location: TableLocation) -> bool:
    """Return whether a location names anything but a whole table of this server.

    A view, materialised or not, selects rows by their values. So do partitions and other children of a table,
    row-level security, and whatever a foreign table is on its server, also as a part of another table.
    """
    name = sql.Identifier(*location.table).as_string(connection)
    with connection.cursor() as cursor:
        cursor.execute(_WHOLE, {"name": name})
        return any(not is_whole for (is_whole,) in cursor.fetchall())


def _connected(location: TableLocation) -> Any:
    """Connect, and make every transaction a read-only snapshot."""

    settings: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "application_name": "confide"}
    settings |= {**location.settings, **({"dbname": location.place} if location.place else {})}

    def ours(error: Exception) -> ConfideError:
        meaning = _meaning(getattr(error, "sqlstate", None)) or _unreached(error, settings)
        return UnreadableError(f"{location.shown} cannot be opened: {meaning}")

    with replaced_errors(ours):
        connection = psycopg.connect(
            autocommit=True, client_encoding="utf8", prepare_threshold=None, **settings
        )  # without prepared statements, as poolers share sessions
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    return connection


def _unreached(error: Exception, settings: Mapping[str, Any]) -> str:
    """Return how far a connection came, and what to check."""
    if not isinstance(error, psycopg.OperationalError):
        return _UNREACHED
    return f"{reach_of(error, settings)}. {_WHERE}"


@contextmanager
def _discreet(location: TableLocation) -> Iterator[None]:
    """Replace errors of the driver that nothing inside has replaced."""

    def ours(error: Exception) -> ConfideError:
        state = getattr(error, "sqlstate", None)
        meaning = _meaning(state) or "check the table, or the query that makes it"
        return DataError(f"{location.shown} cannot be read to its end; {meaning}")

    try:
        yield
    except psycopg.Error:
        with replaced_errors(ours):
            raise


def _base(location: TableLocation, connection: Any) -> str:
    if location.query is not None:
        return statement_of(location.query, "postgres")
    return f"TABLE {sql.Identifier(*location.table).as_string(connection)}"


def _columns(connection: Any, base: str, location: TableLocation) -> tuple[_Column, ...]:
    """Describe the columns without reading a row. A result in binary makes the
    protocol one that takes a single statement."""
    prefix = "SELECT * FROM ("

    def ours(error: Exception) -> ConfideError:
        state = getattr(error, "sqlstate", None) or ""
        if state == _PARAMETER_MISSING and location.query is not None:
            return ParameterError("the query has a parameter such as $1, and none is given; write its value there")
        meaning = _meaning(state)
        if meaning is not None:
            return UsageError(f"{location.shown} cannot be read: {meaning}")
        place = getattr(getattr(error, "diag", None), "statement_position", None)
        line = "" if place is None else f" near line {base[: max(int(place) - len(prefix), 0)].count(chr(10)) + 1}"
        return ParameterError(
            f"PostgreSQL cannot run the query{line} (SQLSTATE {state}); check it, it must be one SELECT statement"
        )

    with replaced_errors(ours), connection.cursor() as cursor:
        for setting in _LOCAL:
            cursor.execute(setting)
        cursor.execute(f"{prefix}{base}\n) AS base LIMIT 0", binary=True)
        described = cursor.description or ()
        check_columns([column.name for column in described])
        cursor.execute(
            "SELECT format_type(given.kind, given.modifier), pg_type.typcategory IN ('S', 'E') "
            "FROM unnest(%s::oid[], %s::int[]) WITH ORDINALITY AS given (kind, modifier, place) "
            "JOIN pg_type ON pg_type.oid = given.kind ORDER BY given.place",
            ([column.type_code for column in described], [_modifier(column) for column in described]),
        )
        found = cursor.fetchall()
    return tuple(_Column(column.name, kind, is_text) for column, (kind, is_text) in zip(described, found, strict=True))


def _modifier(column: Any) -> int:
    """Return the modifier of a decimal's type, which holds its digits; -1 for every other type."""
    if column.precision is None or column.scale is None:
        return -1
    return int(column.precision << 16 | column.scale) + 4


def _kind(column: _Column) -> dt.DataType:
    """Return the type in Ibis; texts of every kind are strings."""
    if column.is_text:
        return dt.string
    if column.kind in _NO_NUMBERS:
        return dt.unknown
    try:
        return Backend.compiler.type_mapper.from_string(column.kind)
    except Exception:  # of a type that Ibis does not know, and that nothing here reads
        return dt.unknown


def _read_as(column: _Column) -> str:
    """Return the SQL that reads a column."""
    if column.is_text:
        return _TEXT
    if column.kind == "numeric":
        return _UNSCALED
    return _NUMERIC if column.kind.startswith("numeric(") and column.kind.endswith(")") else "{0}"


def _backend(connection: Any, base: str, columns: tuple[_Column, ...]) -> _Snapshot:
    """Return a backend whose rows have texts that are compared byte by byte."""
    chosen = sql.SQL(", ").join(sql.SQL(_read_as(column)).format(sql.Identifier(column.name)) for column in columns)
    backend: _Snapshot = _Snapshot.from_connection(connection)
    backend.small_tables, backend.rows_name = {}, unused_name()
    backend.rows_sql = f"(SELECT {chosen.as_string(connection)} FROM ({base}\n) AS base)"  # noqa: S608 - as given
    return backend


def _unnested(columns: Any) -> str:
    """Write a table of numbers as SQL; their texts tell all numbers apart."""
    kinds = {"int64": "bigint", "double": "double precision"}
    arrays = [
        f"CAST('{{{','.join(map(repr, column.to_pylist()))}}}' AS {kinds[str(column.type)]}[])"
        for column in columns.columns
    ]
    names = ", ".join(f'"{name}"' for name in columns.column_names)
    return f"(SELECT * FROM unnest({', '.join(arrays)}) AS small ({names}))"  # noqa: S608 - numbers alone


def _row_hashes(connection: Any, base: str) -> Iterator[bytes]:
    """Yield the sorted hashes of all rows. The text of a record quotes its values, so that it is not ambiguous."""
    hashed = f"SELECT sha256(convert_to(CAST(ROW(base.*) AS text), 'UTF8')) AS hash FROM ({base}\n) AS base"  # noqa: S608
    with connection.cursor(name="confide_hashes") as cursor:
        cursor.itersize = _BATCH_ROWS
        cursor.execute(f"{hashed} ORDER BY hash")
        for (value,) in cursor:
            yield bytes(value)


def _meaning(state: str | None) -> str | None:
    return next((meaning for known, meaning in _MEANING.items() if state and state.startswith(known)), None)
