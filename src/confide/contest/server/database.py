"""Database of a server: SQLite or PostgreSQL, and its tables.

Durability: SQLite writes ahead with `synchronous=FULL`, so that a commit returns when it is on the disk. PostgreSQL
runs with `synchronous_commit` on; a server with `fsync` off is refused.

Isolation: one writing transaction at a time. SQLite takes its only write lock first (`BEGIN IMMEDIATE`). In PostgreSQL
a writer locks the register of the chains (`FOR UPDATE`) before it reads what it decides by; see `records.transaction`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from confide.errors import HomeError, StoreUnavailableError
from confide.records.database import LOCK_SECONDS, unreached
from confide.records.transaction import Tables

SCHEMA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

CONTESTS = Table(
    "oracle_contests",
    SCHEMA,
    Column("name", String(40), primary_key=True),
    Column("state", String(20), nullable=False),
    Column("bundle", String(64), nullable=False),  # SHA-256 of server.zip
    Column("created_at", String(40), nullable=False),
)

MEMBERS = Table(
    "oracle_members",
    SCHEMA,
    Column("id", Integer, primary_key=True),
    Column("contest", String(40), ForeignKey("oracle_contests.name"), nullable=False),
    Column("name", String(80), nullable=False),
    Column("created_at", String(40), nullable=False),
    UniqueConstraint("contest", "name"),
)

TOKENS = Table(
    "oracle_tokens",
    SCHEMA,
    Column("id", String(26), primary_key=True),
    Column("member", Integer, ForeignKey("oracle_members.id"), nullable=False, index=True),
    Column("role", String(20), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of the token; the token itself is not kept
    Column("created_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
    Column("expires_at", String(40), nullable=False),
    Column("seal", String(64), nullable=False, server_default=""),  # of all other columns and the member
    CheckConstraint("role IN ('participant', 'organiser')", name="role"),
)

SUBMISSIONS = Table(
    "oracle_submissions",
    SCHEMA,
    Column("id", String(26), primary_key=True),
    Column("contest", String(40), ForeignKey("oracle_contests.name"), nullable=False),
    Column("member", Integer, ForeignKey("oracle_members.id"), nullable=False),
    Column("received_at", String(40), nullable=False),
    Column("day", String(10), nullable=False),  # of UTC
    Column("digest", String(64), nullable=False),  # SHA-256 of the aligned scores
    Column("value", Double, nullable=False),
    Column("goodness", Double, nullable=False),
    Column("standard_error", Double, nullable=False),
    Column("detail", Text, nullable=False),  # JSON: intervals
    Column("token", String(26)),  # with which it was sent
    UniqueConstraint("member", "digest"),
    Index(None, "member", "day"),
    Index(None, "contest", "member", "goodness"),
)

KEYS = Table(
    "oracle_keys",
    SCHEMA,
    Column("member", Integer, ForeignKey("oracle_members.id"), primary_key=True),
    Column("key", String(200), primary_key=True),  # the header Idempotency-Key
    Column("submission", String(26), ForeignKey("oracle_submissions.id"), nullable=False),
    Column("seal", String(64), nullable=False),  # of all other columns
)

FINALISTS = Table(
    "oracle_finalists",
    SCHEMA,
    Column("member", Integer, ForeignKey("oracle_members.id"), primary_key=True),
    Column("submission", String(26), ForeignKey("oracle_submissions.id"), primary_key=True),
)

FINALS = Table(
    "oracle_finals",
    SCHEMA,
    Column("contest", String(40), ForeignKey("oracle_contests.name"), primary_key=True),
    Column("published_at", String(40), nullable=False),
    Column("result", Text, nullable=False),  # JSON
    Column("names", Text, nullable=False),  # JSON: participant and submission of each entry
)

ORACLE = Tables("oracle", SCHEMA)
"""Tables of the sealed chains: one chain for each contest, under its name."""

_MAKING = 0x6F7261636C65  # "oracle": the lock of those who make tables
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

    def has_tables(self, connection: Connection) -> bool:
        """Return whether the tables are there; refuse those of an older version."""
        there = {name for name in inspect(connection).get_table_names() if name.startswith("oracle_")}
        if there and not set(ORACLE.names) <= there:
            raise HomeError(
                "the database was written by an older version of confide. Finish its contests with that version, or "
                "start with a new --home and an empty database"
            )
        return bool(there)

    def make_tables(self, key: bytes) -> None:
        """Make the tables, unless another process just did."""
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MAKING})
            if not self.has_tables(connection):
                SCHEMA.create_all(connection, checkfirst=False)
                ORACLE.first_rows(connection, key)

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
        "runs, and that its disk has space"
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
