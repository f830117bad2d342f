"""Tables on Spark: a path of Parquet or CSV, a table of the catalogue, or a query.

The session is the one that runs, or a new one: on the master of the URL, or for a path alone on this machine, unless
Spark's own settings name a master. Nobody may rewrite the files while they are read: Spark keeps no snapshot.

Spark's log quotes values of rows. It is off while a table is open, unless the data holder wants to see errors
(`details`). Executors on other machines keep logs of their own, which their administrator must protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confide.errors import ConfideError, DataError, ParameterError, UnreadableError, UsageError
from confide.sources.details import replaced_errors, shows_errors
from confide.sources.locations import TableLocation, statement_of, unused_name


@contextmanager
def open_spark(location: TableLocation) -> Iterator[tuple[Any, Callable[[], bytes]]]:
    """Open rows on Spark: yield their table in Ibis, and a function that refuses to digest them."""
    session, view = _session(location), unused_name()

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
            rows = _rows(session, location)
            rows.createOrReplaceTempView(view)
            table = backend.table(view)
        try:
            yield table, _no_digest
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


def _session(location: TableLocation) -> Any:
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


def _rows(session: Any, location: TableLocation) -> Any:
    if location.query is not None:
        return session.sql(statement_of(location.query, "spark"))
    if location.table:
        return session.table(".".join(f"`{part.replace('`', '``')}`" for part in location.table))
    if location.infers_types:
        return session.read.csv(location.place, header=True, inferSchema=True)
    return session.read.parquet(location.place)


def _no_digest() -> bytes:
    raise ParameterError("rows on Spark cannot be identified; give a site a table in PostgreSQL or DuckDB, or a file")
