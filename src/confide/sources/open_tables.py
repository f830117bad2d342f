"""Open the table at a location for reading, in one snapshot and without leave to write.

PostgreSQL: one read-only transaction at the isolation level REPEATABLE READ, so that all queries of a request see the
rows of one moment. DuckDB: the file is opened read-only, which keeps writers of other processes out. A query runs as it
is written, inside a subquery or a temporary view. Private rows must lie in the database itself: a query or a view of
DuckDB can read a file, and DuckDB decides the types of text by all its rows, so that one changes how others are read.
Texts are compared byte by byte, whatever the collation of a column:
where a collation takes two spellings for equal, one row could otherwise change how another is read.

Spark: the session is the one that runs, or a new one: on the master of the URL, or for a path alone on this machine,
unless Spark's own settings name a master. Nobody may rewrite the files while they are read, as Spark keeps no snapshot.
Its log quotes values of rows. It is off while a table is open, unless the data holder wants to see errors (`details`).
Executors on other machines keep logs of their own, which their administrator must protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.errors import (
    ConfideError,
    DataError,
    ParameterError,
    UnreadableError,
    UsageError,
    did_you_mean,
)
from confide.sources.digests import digest_of, duckdb_row_hashes
from confide.sources.duckdb_files import connect_duckdb
from confide.sources.duckdb_tables import DuckTable, DuckType, quoted_name
from confide.sources.error_details import replaced_errors, shows_errors
from confide.sources.locations import Engine, TableLocation, check_columns, statement_of, unused_name


@dataclass(frozen=True, slots=True, repr=False)
class OpenTable:
    """A table of DuckDB or of Ibis in an open snapshot, and a function that digests all its rows (see `digest_of`)."""

    table: Any
    digest: Callable[[], bytes]


@contextmanager
def open_table(location: TableLocation, *, private: bool = False) -> Iterator[OpenTable]:
    """Open the table at a location until the block ends. Errors quote neither rows nor credentials.

    With `private` DuckDB opens no file but the database.
    """
    if location.engine is Engine.DUCKDB:
        opening = _duckdb(location, private)
    else:
        opening = (_postgresql if location.engine is Engine.POSTGRESQL else _spark)(location)
    with opening as opened:
        yield opened


@contextmanager
def opened(source: Any, *, private: bool = False) -> Iterator[Any]:
    """Return the table at a location until the block ends (see `open_table`); anything else as it is."""
    if not isinstance(source, TableLocation):
        yield source
        return
    with open_table(source, private=private) as held:
        yield held.table


def is_view(table: Any, location: TableLocation) -> bool:
    """Return whether the name of an open table of PostgreSQL or DuckDB may select rows by their values.

    Views do: each is a query by another name. In PostgreSQL so do partitions, foreign tables, and tables whose rows a
    policy hides.
    """
    if location.query is not None or location.engine is Engine.SPARK:
        return False
    if location.engine is Engine.POSTGRESQL:
        from confide.sources.postgresql_tables import names_view

        return names_view(table.get_backend().con, location)
    return not _duckdb_has(table.connection, "table", location)


@contextmanager
def _postgresql(location: TableLocation) -> Iterator[OpenTable]:
    try:
        from confide.sources.postgresql_tables import open_postgresql
    except ModuleNotFoundError:
        raise UsageError("tables in PostgreSQL need its driver and Ibis: pip install 'confide[databases]'") from None
    with open_postgresql(location) as (table, digest):
        yield OpenTable(table, digest)


@contextmanager
def _duckdb(location: TableLocation, private: bool) -> Iterator[OpenTable]:
    import duckdb

    def ours(error: Exception) -> ConfideError:
        return DataError(f"{location.shown} cannot be read to its end ({type(error).__name__}); check the table")

    connection, view = _duckdb_connection(location, private), unused_name()
    try:
        table, columns = _duckdb_table(connection, location, view)
        try:
            yield OpenTable(table, lambda: digest_of(table.schema(), duckdb_row_hashes(connection, view, columns)))
        except duckdb.Error:
            with replaced_errors(ours):
                raise
    finally:
        connection.close()


def _duckdb_connection(location: TableLocation, private: bool) -> Any:
    file = Path(location.place)
    if not file.is_file():
        raise UsageError(f"there is no file {file}; check the path in the URL, which is absolute after four slashes")

    def ours(error: Exception) -> ConfideError:
        return UnreadableError(
            f"{file} cannot be opened ({type(error).__name__}); check that it is a database of DuckDB that you may "
            "read, and that no other program has it open for writing"
        )

    with replaced_errors(ours):
        connection = connect_duckdb(file)
        connection.execute("SET autoinstall_known_extensions = false")
        if private:
            connection.execute("SET enable_external_access = false")
    return connection


def _duckdb_has(connection: Any, kind: str, location: TableLocation) -> bool:
    """Return whether the database itself has a table, or a view, of this name.

    As in DuckDB, what stands before the point is a schema, or the database if there is no such schema.
    """
    *schema, name = location.table
    where = f"FROM duckdb_{kind}s() WHERE database_name = current_database() AND NOT internal AND NOT temporary"
    schemas = "SELECT lower(schema_name) FROM duckdb_schemas() WHERE database_name = current_database()"
    (database,) = connection.execute("SELECT lower(current_database())").fetchone()
    inside = schema[0].lower() if schema else "main"
    if inside == database and (inside,) not in connection.execute(schemas).fetchall():
        inside = "main"
    found = f"SELECT count(*) {where} AND lower(schema_name) = ? AND lower({kind}_name) = lower(?)"
    (count,) = connection.execute(found, [inside, name]).fetchone()
    return bool(count)


def _duckdb_table(connection: Any, location: TableLocation, view: str) -> tuple[DuckTable, list[str]]:
    """Make a view of the table or the query, with texts that are compared byte by byte."""

    import duckdb

    def ours(error: Exception) -> ConfideError:
        if isinstance(error, duckdb.PermissionException):
            return ParameterError(
                "the table or query reads a file outside of the database; private rows must lie in the database, where "
                "each has its type: copy them into a table with CREATE TABLE"
            )
        if location.query is not None:
            return ParameterError(
                f"DuckDB cannot run the query ({type(error).__name__}); check it, it must be one SELECT statement"
            )
        return UsageError(
            f"{location.shown} cannot be read ({type(error).__name__}); if it is a view, check the query that it is"
        )

    with replaced_errors(ours):
        if location.query is None and not any(_duckdb_has(connection, kind, location) for kind in ("table", "view")):
            raise _no_table(connection, location)
        named = f"FROM {'.'.join(map(quoted_name, location.table))}"
        base = named if location.query is None else statement_of(location.query, "duckdb")
        inner = f"({base}\n) AS base"
        if len(connection.extract_statements(f"SELECT * FROM {inner}")) != 1:  # noqa: S608 - the data holder's query
            raise ParameterError("the query must be one SELECT statement; put others into files of their own")
        found = connection.execute(f"DESCRIBE SELECT * FROM {inner}").fetchall()  # noqa: S608 - the data holder's query
        columns = [str(name) for name, *_ in found]
        check_columns(columns)
        texts = {name for name, kind, *_ in found if DuckType(str(kind)).is_string()}
        chosen = [
            f'CAST({quoted_name(name)} AS VARCHAR) COLLATE "binary" AS {quoted_name(name)}'
            if name in texts
            else quoted_name(name)
            for name in columns
        ]
        connection.execute(f"CREATE TEMP VIEW {view} AS SELECT {', '.join(chosen)} FROM {inner}")  # noqa: S608
        return DuckTable(connection, f"SELECT * FROM {view}"), columns  # noqa: S608  # our own name


def _no_table(connection: Any, location: TableLocation) -> UsageError:
    known = [
        name
        for kind in ("table", "view")
        for (name,) in connection.execute(f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE NOT internal").fetchall()  # noqa: S608
    ]
    asked = ".".join(location.table)
    if asked in known:
        hint = "A point divides schema and table; read a table with a point in its name by a `query`"
    else:
        hint = did_you_mean(location.table[-1], known).rstrip() or "Check the name, and the schema before it"
    return UsageError(f"there is no table {asked!r} in {location.place}. {hint}")


@contextmanager
def _spark(location: TableLocation) -> Iterator[OpenTable]:
    session, view = _spark_session(location), unused_name()

    def ours(error: Exception) -> ConfideError:
        return UnreadableError(
            f"Spark cannot open {location.shown} ({type(error).__name__}); check the path, the table or the query"
        )

    def later(error: Exception) -> ConfideError:
        return DataError(f"Spark could not read {location.shown} to its end ({type(error).__name__})")

    import ibis

    with _silent(session):
        with replaced_errors(ours):
            backend = ibis.pyspark.connect(session)
            rows = _spark_rows(session, location)
            rows.createOrReplaceTempView(view)
            table = backend.table(view)
        try:
            yield OpenTable(table, _no_digest)
        except Exception as error:
            if not type(error).__module__.startswith(("pyspark", "py4j", "ibis")):
                raise
            with replaced_errors(later):
                raise
        finally:
            session.catalog.dropTempView(view)


@contextmanager
def _silent(session: Any) -> Iterator[None]:
    """Turn Spark's logs of Java and of Python off, and on again afterwards as they were."""
    if shows_errors():
        yield
        return
    context, python = session.sparkContext, _python_loggers()
    level = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString()
    disabled = [logger.disabled for logger in python]
    context.setLogLevel("OFF")
    for logger in python:
        logger.disabled = True
    try:
        yield
    finally:
        context.setLogLevel(level)
        for logger, before in zip(python, disabled, strict=True):
            logger.disabled = before


def _python_loggers() -> list[Any]:
    """Return the loggers by which Spark 4 repeats errors of queries in Python."""
    try:
        from pyspark.logger import PySparkLogger
    except ModuleNotFoundError:  # before Spark 4
        return []
    return [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]


def _spark_session(location: TableLocation) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise UsageError("tables on Spark need it: pip install 'confide[spark]', and Java 17 or later") from None

    def ours(error: Exception) -> ConfideError:
        return UsageError(
            f"Spark cannot start ({type(error).__name__}); check that Java is installed, and the master in the URL"
        )

    builder = SparkSession.builder.appName("confide").config("spark.ui.showConsoleProgress", "false")
    host = location.settings.get("host")
    if host is not None:
        builder = builder.master(f"spark://{host}:{location.settings['port']}")
    with replaced_errors(ours):
        return builder.getOrCreate()


def _spark_rows(session: Any, location: TableLocation) -> Any:
    if location.query is not None:
        return session.sql(statement_of(location.query, "spark"))
    if location.table:
        return session.table(".".join(f"`{part.replace('`', '``')}`" for part in location.table))
    if location.infers_types:
        return session.read.csv(location.place, header=True, inferSchema=True)
    return session.read.parquet(location.place)


def _no_digest() -> bytes:
    raise ParameterError("rows on Spark cannot be identified; give a site a table in PostgreSQL or DuckDB, or a file")
