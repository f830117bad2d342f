"""Database of a server: a SQLite file, or PostgreSQL.

Durability: SQLite writes ahead with `synchronous=FULL`, so that a commit returns when it is on the disk. PostgreSQL
runs with `synchronous_commit` on; a server with `fsync` off is refused.

Isolation: one writing transaction at a time. SQLite takes its only write lock first (`BEGIN IMMEDIATE`). In PostgreSQL
a writer locks the row of its contest (`FOR UPDATE`) before it reads what it decides by; see `chain.locked`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from confide.errors import HomeError, StoreUnavailableError
from confide.ledger.postgresql import unreached

LOCK_SECONDS = 30
_POOL = 8
_OVERFLOW = 56


class Database:
    """A database, with reading and writing transactions."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        # Threads of this process wait here in turn; SQLite's own waiting is by polling.
        self._writing = threading.Lock() if self.is_sqlite else None

    @classmethod
    def at(cls, file: Path, url: str | None = None) -> Database:
        """Return the database at a URL, or in a SQLite file."""
        return cls(_sqlite(file) if url is None else _postgresql(url))

    @property
    def is_sqlite(self) -> bool:
        """Return whether the database is a SQLite file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a block that sees one moment of the database."""
        with outages(), self.engine.connect() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN")
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a block in one transaction: all of it is on the disk at the end, or nothing."""
        if self._writing is None:
            with outages(), self.engine.connect() as connection:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                yield connection
                connection.commit()
            return
        with self._writing, outages(), self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()  # whoever leaves by an exception is rolled back when the connection closes

    def probe(self) -> None:
        """Commit a change that changes nothing, through to the disk; raise an error if that is impossible."""
        with self.writing() as connection:
            if self.is_sqlite:
                number = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
                connection.exec_driver_sql(f"PRAGMA user_version = {int(number)}")
            else:
                connection.exec_driver_sql("SELECT pg_logical_emit_message(true, 'confide', '')")

    def check(self) -> None:
        """Refuse a database that cannot be reached, or that could lose what it confirmed."""
        try:
            with self.engine.connect() as connection:
                fsync = "on" if self.is_sqlite else connection.exec_driver_sql("SHOW fsync").scalar()
        except SQLAlchemyError as error:
            raise HomeError(f"the server's database cannot be used: {self._explain(error)}") from None
        if fsync != "on":
            raise HomeError("PostgreSQL runs with fsync off, so that a crash could lose submissions; switch it on")

    def _explain(self, error: SQLAlchemyError) -> str:
        reach = None if self.is_sqlite or not isinstance(error, DBAPIError) else unreached(error, self.engine)
        if reach is not None:
            return f"{reach}. Host, user and database are in its URL"
        return f"{type(error).__name__}; check that it runs, and its URL or the home folder"

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def outages() -> Iterator[None]:
    """Replace errors of a database that is absent, full, read-only or damaged. Their texts quote statements."""
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError):
        pass
    except DBAPIError as error:
        if not _is_read_only(error):
            raise
    else:
        return
    raise StoreUnavailableError(
        "the server's database cannot be read or written at present, so the change is not confirmed; check that it "
        "runs, and that its disk has room"
    )


def _is_read_only(error: DBAPIError) -> bool:
    """Return whether PostgreSQL takes no writes at present, as a standby does."""
    return getattr(error.orig, "sqlstate", None) == "25006" or error.connection_invalidated


def _sqlite(file: Path) -> Engine:
    engine = create_engine(
        f"sqlite+pysqlite:///{file}",
        connect_args={"timeout": LOCK_SECONDS, "check_same_thread": False},
        pool_size=_POOL,
        max_overflow=_OVERFLOW,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # transactions begin when we say so
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: through the disk's own cache
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def _postgresql(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise HomeError("the server's database must be postgresql+psycopg://user@host:port/database")
        return create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            connect_args={"connect_timeout": 10},
            pool_size=_POOL,
            max_overflow=_OVERFLOW,
            pool_pre_ping=True,
        )
    except (ArgumentError, ModuleNotFoundError):
        raise HomeError(
            "the server's database must be postgresql+psycopg://user@host:port/database, and needs the package psycopg"
        ) from None
