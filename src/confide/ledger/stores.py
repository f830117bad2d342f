"""Stores of entries: SQLite by default, PostgreSQL for many machines.

Both make the same promise: a transaction is on the disk when its commit returns, and only one transaction at a time
adds to an account.

SQLite. Durability: a rollback journal with `synchronous=EXTRA`, which is FULL and also brings the removal of
the journal to the disk before a commit returns. With FULL alone a power cut just after a commit can
bring the journal back, and with it the state before the charge. A write-ahead log would be durable
too, but keeps committed charges in a second file that is easily lost when the first is copied.

Isolation: `BEGIN IMMEDIATE` takes the only write lock before anything is read.

PostgreSQL. Durability: a commit waits until it is on the disk (`synchronous_commit`), and a server that does not
write through (`fsync=off`) is refused.

Isolation: the row that holds the end of an account's chain is locked (`FOR UPDATE`) before the chain
is read. In READ COMMITTED, what is read after the lock includes all that was committed before it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine, insert, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from confide.errors import LedgerError, ParameterError
from confide.files import create_file
from confide.ledger.place import FilePlace, KeyFile, ServerPlace
from confide.ledger.transaction import ENTRIES, META, SCHEMA, first_meta
from confide.postgresql_reach import Reach, reach_of

LOCK_SECONDS = 30


class Store(ABC):
    """A database that may hold a ledger."""

    shown: str
    engine: Engine

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there is a ledger, without creating one."""

    @abstractmethod
    def create(self, settle: Callable[[], bytes]) -> None:
        """Make an empty ledger, unless another process just did.

        `settle` returns the key of the new ledger; while it runs, no other process creates the ledger.
        """

    @abstractmethod
    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin a transaction."""

    @abstractmethod
    def strange_objects(self, connection: Connection) -> bool:
        """Return whether the database holds a foreign trigger, rule or index that could change the ledger's tables."""

    @abstractmethod
    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step, without its text, which may hold secrets."""

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Run a block in one transaction: all of it is stored, or nothing."""
        with self.explained(), self.engine.connect() as connection:
            self.begin(connection, writing=writing)
            if self.strange_objects(connection):
                raise LedgerError(
                    f"ledger {self.shown}: somebody added triggers, rules or indexes to its tables, which could undo "
                    "charges. Nothing is released; restore it from a backup"
                )
            yield connection
            connection.commit()  # whoever leaves by an exception is rolled back when the connection closes

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn a driver's errors into ours."""
        try:
            yield
        except (SQLAlchemyError, UnicodeDecodeError) as error:  # a damaged file may name what is wrong in damaged text
            raise LedgerError(f"ledger {self.shown}: {self.explain(error)}. Nothing is released") from None


def open_store(place: FilePlace | ServerPlace) -> Store:
    """Return the store at a place; nothing is read or written yet."""
    if isinstance(place, FilePlace):
        return SQLiteStore(place)

    return PostgreSQLStore(place)


# What the driver calls an error, and what it means; the first that fits.
_SQLITE_ERRORS = {
    "SQLITE_BUSY": f"another process has held its lock for {LOCK_SECONDS} seconds; try again",
    "SQLITE_READONLY": "it cannot be written to; make the file and its folder writable",
    "SQLITE_PERM": "it may not be opened; make the file and its folder readable and writable",
    "SQLITE_CANTOPEN": "it cannot be opened; check that the file and its folder are there and writable",
    "SQLITE_FULL": "the disk is full; free space first",
    "SQLITE_IOERR": "the disk cannot be read or written; check it",
}
_MARK = "A confide ledger was made beside this file. If it is gone, put it back from a backup.\n"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_DAMAGED_FILE = "the file is empty, damaged or no ledger; restore it from a backup, or name another"


class SQLiteStore(Store):
    """A file, and its key beside it."""

    def __init__(self, place: FilePlace) -> None:
        self.place = place
        self.shown = place.shown
        self.engine = _engine(place.path)

    def exists(self) -> bool:
        """Return whether the file exists.

        A key or a marker without its ledger is refused: removing the ledger must not restore the budget.
        """
        path = self.place.path
        left = [KeyFile.of(self.place).path, self._marker]
        with self._reachable():
            if path.exists() or not any(os.path.lexists(one) for one in left):
                return path.exists()
            with _alone_in(path.parent):  # perhaps another process is just making both
                if path.exists():
                    return True
            names = " and ".join(f"'{one}'" for one in left if os.path.lexists(one))
        raise LedgerError(
            f"ledger {self.shown} is not there, but {names} says that it was made. Put the ledger back; if you do "
            f"want to begin with nothing spent, remove {names}"
        )

    @property
    def _marker(self) -> Path:
        """File beside a ledger that records its creation, also if the key is kept elsewhere."""
        return self.place.path.with_name(self.place.path.name + ".made")

    def create(self, settle: Callable[[], bytes]) -> None:
        """Make the file: it appears whole, with tables and key check, or not at all."""
        path = self.place.path
        with self._reachable():
            if self.place.default:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.parent.is_dir():
                raise LedgerError(f"the folder of ledger {self.shown} does not exist; create it first")
            with _alone_in(path.parent):
                if not path.exists():
                    key = settle()
                    create_file(path, lambda unfinished: self._build(unfinished, key))
                self._mark()

    def _mark(self) -> None:
        if not self._marker.exists():
            with suppress(FileExistsError):
                create_file(self._marker, lambda unfinished: unfinished.write_text(_MARK, encoding="utf-8"))

    def _build(self, unfinished: Path, key: bytes) -> None:
        with self.explained(), _engine(unfinished).connect() as connection:
            self.begin(connection, writing=True)
            SCHEMA.create_all(connection, checkfirst=False)
            connection.execute(insert(META), first_meta(key))
            connection.commit()

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"ledger {self.shown} cannot be reached or made ({error.strerror}); choose a folder that can be "
                "written to"
            ) from None

    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin, with the write lock if something is to be written."""
        if writing and self.place.path.exists():
            with self._reachable():
                self._mark()  # a crash, or a copy, may have left the ledger without it
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    def strange_objects(self, connection: Connection) -> bool:
        """Return whether the file holds anything but the tables and indexes of a new ledger."""
        known = connection.exec_driver_sql(_OBJECTS).all()
        ours = [row for row in known if row.tbl_name in SCHEMA.tables or row.type in ("trigger", "view")]
        return bool(ours) and {tuple(row) for row in ours} != _expected_objects()

    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step."""
        name = getattr(error.orig, "sqlite_errorname", "") if isinstance(error, DBAPIError) else ""
        return next(
            (meaning for known, meaning in _SQLITE_ERRORS.items() if str(name).startswith(known)), _DAMAGED_FILE
        )


@cache
def _expected_objects() -> set[tuple[object, ...]]:
    """Return the objects of a new ledger."""
    with create_engine("sqlite+pysqlite://").connect() as connection:
        SCHEMA.create_all(connection, checkfirst=False)
        return {tuple(row) for row in connection.exec_driver_sql(_OBJECTS).all()}


def _engine(path: Path) -> Engine:
    """An engine that opens what is there, and keeps no connection open: there is nothing to leak or to fork."""
    return create_engine("sqlite+pysqlite://", creator=lambda: _connect(path), poolclass=NullPool)


def _connect(path: Path) -> sqlite3.Connection:
    # `mode=rw`, for SQLite would otherwise make a new, empty file where a ledger was.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=LOCK_SECONDS,
        isolation_level=None,  # transactions begin when we say so
        check_same_thread=False,
    )
    connection.execute("PRAGMA synchronous=EXTRA")
    connection.execute("PRAGMA fullfsync=ON")  # macOS: through the disk's own cache
    return connection


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the lock under which one process at a time creates a ledger in a folder; it ends with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_CONNECT_SECONDS = 10
_LOST = "08"  # class of SQLSTATE: connection exception
_MAKING = 0x636F6E66696465  # "confide": the lock of those who make a ledger

# Classes and codes of SQLSTATE; the first that fits.
_POSTGRESQL_ERRORS = {
    "08": "the connection to the server was lost; try again",
    "28": "the server does not let this user in; check the user and the password",
    "3D": "there is no such database; create it first (createdb)",
    "42501": "the user may not use the tables; let the database's owner grant it",
    "25006": "the server only lets us read; connect to the one that writes",
    "55P03": f"another process has held its lock for {LOCK_SECONDS} seconds; try again",
    "40": "another process was faster; try again",
    "53": "the server has run out of connections, memory or disk; try again later",
    "57": "the server is stopping; try again later",
    "23": "two processes took the same place; try again",
}
_STRANGE = """
WITH ours AS (
    SELECT oid, relrowsecurity FROM pg_class WHERE relname = ANY(:names) AND relkind = 'r' AND pg_table_is_visible(oid)
)
SELECT (SELECT count(*) FROM pg_trigger JOIN ours ON tgrelid = ours.oid WHERE NOT tgisinternal)
     + (SELECT count(*) FROM pg_rewrite JOIN ours ON ev_class = ours.oid)
     + (SELECT count(*) FROM ours WHERE relrowsecurity)
"""
_DAMAGED_DATABASE = "its tables are damaged or no ledger; restore them from a backup, or name another database"


class PostgreSQLStore(Store):
    """A database on a server."""

    def __init__(self, place: ServerPlace) -> None:
        self.shown = place.shown
        self._seen = False
        try:
            self.engine = create_engine(
                place.url, poolclass=NullPool, connect_args={"connect_timeout": _CONNECT_SECONDS}
            )
        except ModuleNotFoundError:
            raise LedgerError(
                "a ledger in PostgreSQL needs its driver: pip install 'confide[postgres]'. Nothing is released"
            ) from None
        except ArgumentError:
            raise ParameterError("ledger must look like postgresql://user@host:port/database") from None

    def exists(self) -> bool:
        """Return whether all tables exist; some without the others are no ledger.

        Once seen they are not looked for again: were they dropped since, whatever uses them fails.
        """
        if not self._seen:
            with self.transaction(writing=False) as connection:
                self._seen = self._tables_are_there(connection)
        return self._seen

    def create(self, settle: Callable[[], bytes]) -> None:
        """Make the tables, in one transaction and by one process at a time."""
        with self.transaction(writing=True) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:making)"), {"making": _MAKING})
            if not self._tables_are_there(connection):
                SCHEMA.create_all(connection, checkfirst=False)
                # Uncompressed, as the room that a padded answer takes would otherwise depend on what it says.
                connection.execute(text(f"ALTER TABLE {ENTRIES.name} ALTER COLUMN answer SET STORAGE EXTERNAL"))
                connection.execute(insert(META), first_meta(settle()))

    def _tables_are_there(self, connection: Connection) -> bool:
        # In one statement, as another process may make them meanwhile: all are seen, or none.
        there = connection.execute(
            text("SELECT count(*) FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)"),
            {"names": list(SCHEMA.tables)},
        ).scalar_one()
        if there not in (0, len(SCHEMA.tables)):
            raise LedgerError(f"ledger {self.shown}: {_DAMAGED_DATABASE}. Nothing is released")
        return bool(there)

    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin, with settings for this transaction only: a pool in between may share sessions."""
        if not writing:
            # One moment for all that is read.
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        if connection.exec_driver_sql("SHOW synchronous_commit").scalar() != "remote_apply":  # which is stronger
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        if connection.exec_driver_sql("SHOW fsync").scalar() != "on":
            raise LedgerError(
                f"ledger {self.shown}: the server runs with fsync off, so that a crash could lose charges; switch it on"
            )

    def strange_objects(self, connection: Connection) -> bool:
        """Return whether the ledger's tables have a trigger, a rule or a row-level policy."""
        strange = connection.execute(text(_STRANGE), {"names": list(SCHEMA.tables)}).scalar_one()
        return bool(strange)

    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step."""
        if not isinstance(error, DBAPIError):
            return _DAMAGED_DATABASE
        reach = unreached(error, self.engine)
        if reach is not None:
            return f"{reach}. Host, user and database are in the ledger's URL"
        state = getattr(error.orig, "sqlstate", None) or _LOST
        return next(
            (meaning for known, meaning in _POSTGRESQL_ERRORS.items() if state.startswith(known)), _DAMAGED_DATABASE
        )


def unreached(error: DBAPIError, engine: Engine) -> Reach | None:
    """Return how far a connection of an engine came that failed before it stood; None if it stood, or has a code."""
    if error.connection_invalidated or getattr(error.orig, "sqlstate", None):
        return None
    settings = {name: _first(engine.url.query.get(name)) for name in ("host", "port", "sslmode", "sslrootcert")}
    given = {"host": engine.url.host, "port": None if engine.url.port is None else str(engine.url.port)}
    return reach_of(error.orig, settings | {name: one for name, one in given.items() if one})


def _first(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value
