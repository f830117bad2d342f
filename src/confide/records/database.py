"""Stores of sealed chains: SQLite by default, PostgreSQL for many machines.

Both make the same promise: a transaction is on the disk when its commit returns, and only one transaction at a time
appends.

SQLite. Durability: a rollback journal with `synchronous=EXTRA`, which is FULL and also brings the removal of
the journal to the disk before a commit returns. With FULL alone a power cut just after a commit can
bring the journal back, and with it the state before the commit. A write-ahead log would be durable
too, but keeps committed entries in a second file that is easily lost when the first is copied. An anchor beside the
file knows the ends of all chains: an older copy of the file alone is refused.

Isolation: `BEGIN IMMEDIATE` takes the only write lock before anything is read.

PostgreSQL. Durability: a commit waits until it is on the disk (`synchronous_commit`), and a server that does not
write through (`fsync=off`) is refused.

Isolation: the row of the register is locked (`FOR UPDATE`) before a chain is read. In READ COMMITTED, what is read
after the lock includes all that was committed before it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from confide.atomic_files import create_file
from confide.errors import ParameterError
from confide.postgresql_reach import Reach, reach_of
from confide.records.anchor import Anchor
from confide.records.chain import End, Owner
from confide.records.key_file import KeyFile
from confide.records.transaction import RECORDS, Chains, check_version, newest_links

LOCK_SECONDS = 30


class Store(ABC):
    """A database that may hold records. `shown` names it in messages, without a password."""

    engine: Engine

    def __init__(self, *, shown: str, key_file: KeyFile, owner: Owner) -> None:
        self.shown = shown
        self.key_file = key_file
        self.owner = owner

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there are records, without creating any."""

    @abstractmethod
    def create(self) -> None:
        """Make an empty store and its key, unless another process just did."""

    @abstractmethod
    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin a transaction."""

    @abstractmethod
    def has_strange_objects(self, connection: Connection) -> bool:
        """Return whether the database holds a foreign trigger, rule or index that could change the tables."""

    @abstractmethod
    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step, without its text, which may hold secrets."""

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Run a block in one transaction: all of it is stored, or nothing."""
        with self.explained(), self.engine.connect() as connection:
            self.begin(connection, writing=writing)
            if self.has_strange_objects(connection):
                check_version(connection, self.owner)  # another version has other tables
                raise self.owner.error(
                    f"{self.shown}: somebody added triggers, rules or indexes to its tables, which could undo what is "
                    f"written. {self.owner.stops}; restore it from a backup"
                )
            yield connection
            connection.commit()  # whoever leaves by an exception is rolled back when the connection closes

    @contextmanager
    def chains(self, *, writing: bool) -> Iterator[Chains]:
        """Run a block on the chains in one transaction. They are made by the first one that writes."""
        if writing and not self.exists():
            self.create()
        with self.transaction(writing=writing) as connection:
            yield Chains.on(connection, self.key_file, self.owner)

    @contextmanager
    def inspecting(self) -> Iterator[tuple[Chains, bool]]:
        """Run a block on records that may have been changed; yield also whether the anchor has seen no more of them."""
        with self.transaction(writing=False) as connection:
            yield Chains.on(connection, self.key_file, self.owner), True

    def newest(self, chain: str, most: int) -> list[object]:
        """Return the newest texts of a chain, the oldest of them first, also of records that were changed."""
        with self.transaction(writing=False) as connection:
            return [link.text for link in newest_links(connection, RECORDS, chain, most)]

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn a driver's errors into ours."""
        try:
            yield
        except (SQLAlchemyError, UnicodeDecodeError) as error:  # a damaged file may name what is wrong in damaged text
            raise self.owner.error(f"{self.shown}: {self.explain(error)}. {self.owner.stops}") from None

    def close(self) -> None:
        """Close the connections to the database."""
        self.engine.dispose()


# What the driver calls an error, and what it means; the first that fits.
_SQLITE_ERRORS = {
    "SQLITE_BUSY": f"another process has held its lock for {LOCK_SECONDS} seconds; try again",
    "SQLITE_READONLY": "it cannot be written to; make the file and its folder writable",
    "SQLITE_PERM": "it may not be opened; make the file and its folder readable and writable",
    "SQLITE_CANTOPEN": "it cannot be opened; check that the file and its folder are there and writable",
    "SQLITE_FULL": "the disk is full; free space first",
    "SQLITE_IOERR": "the disk cannot be read or written; check it",
}
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"


class SQLiteStore(Store):
    """A file, with the anchor beside it.

    With `anchored`, whoever writes needs the file and its anchor, which `create` alone makes; otherwise the next write
    makes them anew.
    `makes_folder` says whether the folder may be made, too.
    """

    def __init__(
        self,
        path: Path,
        *,
        shown: str,
        key_file: KeyFile,
        owner: Owner,
        anchored: bool = False,
        makes_folder: bool = False,
    ) -> None:
        super().__init__(shown=shown, key_file=key_file, owner=owner)
        self.path = path
        self.engine = _engine(path)
        self.anchor = Anchor(path.with_name(f"{path.name}.anchor"), error=owner.error, disk=self._reachable)
        self._anchored = anchored
        self._makes_folder = makes_folder

    def exists(self) -> bool:
        """Return whether the file exists.

        A key, or an anchor that knows of entries, is refused without its file: removing it must not restore a budget.
        """
        path = self.path
        left = [self.key_file.path, self.anchor.path]
        with self._reachable():
            if path.exists() or not any(os.path.lexists(one) for one in left):
                return path.exists()
            with _alone_in(path.parent):  # perhaps another process is just making them
                if path.exists():
                    return True
            if self._was_never_used():
                return False
            names = " and ".join(f"'{one}'" for one in left if os.path.lexists(one))
        raise self.owner.error(
            f"{self.shown} is not there, but {names} says that it was made. Put it back from a backup; if you do "
            f"want to begin with nothing recorded, remove {names}"
        )

    def _was_never_used(self) -> bool:
        """Return whether a process died while it made the file: the anchor is there, and knows of no entry."""
        key = self.key_file.load()
        return key is not None and self.anchor.read(key) == {}

    def create(self) -> None:
        """Make key, anchor and file: the file appears whole, with tables and key check, or not at all."""
        path = self.path
        with self._reachable():
            if self._makes_folder:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.parent.is_dir():
                raise self.owner.error(f"the folder of {self.shown} does not exist; create it first")
            with _alone_in(path.parent):
                if not path.exists():
                    key = self.key_file.ensure()
                    self.anchor.advance(key, {})
                    try:
                        create_file(path, lambda unfinished: self._build(unfinished, key))
                    except OSError:
                        self.anchor.remove()
                        raise

    def _build(self, unfinished: Path, key: bytes) -> None:
        with self.explained(), _engine(unfinished).connect() as connection:
            self.begin(connection, writing=True)
            RECORDS.schema.create_all(connection, checkfirst=False)
            RECORDS.first_rows(connection, key)
            connection.commit()

    @contextmanager
    def chains(self, *, writing: bool) -> Iterator[Chains]:
        """Run a block on the chains, which must hold what the anchor has seen; the anchor follows the commit."""
        if writing and not self.exists():
            if self._anchored:
                raise self.owner.error(f"{self.shown} is not there; {self.owner.remedy}")
            self.create()
        text = self.anchor.text()  # before the transaction: what was committed since may have moved the anchor on
        with super().chains(writing=writing) as chains:
            seen = self._checked_anchor(chains, text)
            yield chains
            ends = chains.ends() if writing else seen
        if ends != seen or (writing and text is None):
            self.anchor.advance(chains.key, ends)

    @contextmanager
    def inspecting(self) -> Iterator[tuple[Chains, bool]]:
        """Run a block on records that may have been changed; yield also whether the anchor has seen no more of them."""
        text = self.anchor.text()
        with super().inspecting() as (chains, _):
            yield chains, chains.lacks(self._ends(chains, text)) is None

    def _ends(self, chains: Chains, text: bytes | None) -> dict[str, End]:
        """Return what the anchor has seen, given its content."""
        if text is not None:
            return self.anchor.parse(text, chains.key)
        if self._anchored:
            raise self.owner.error(f"{self.anchor.path} is missing; {self.owner.remedy}")
        return {}

    def _checked_anchor(self, chains: Chains, text: bytes | None) -> dict[str, End]:
        seen = self._ends(chains, text)
        lacking = chains.lacks(seen)
        if lacking is not None:
            raise self.owner.error(
                f"{self.shown} lacks entries of {self.owner.chain(lacking)} that '{self.anchor.path}' has seen: it is "
                f"an older copy, or entries were deleted. {self.owner.stops}; restore both from one backup"
            )
        return seen

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.owner.error(
                f"{self.shown} cannot be reached or made ({error.strerror}); choose a folder that can be written to"
            ) from None

    def begin(self, connection: Connection, *, writing: bool) -> None:
        """Begin, with the write lock if something is to be written."""
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    def has_strange_objects(self, connection: Connection) -> bool:
        """Return whether the file holds anything but the tables and indexes of a new store."""
        known = connection.exec_driver_sql(_OBJECTS).all()
        ours = [row for row in known if row.tbl_name in RECORDS.schema.tables or row.type in ("trigger", "view")]
        return bool(ours) and {tuple(row) for row in ours} != _expected_objects()

    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step."""
        name = getattr(error.orig, "sqlite_errorname", "") if isinstance(error, DBAPIError) else ""
        return next(
            (meaning for known, meaning in _SQLITE_ERRORS.items() if str(name).startswith(known)),
            "the file is empty, damaged or no records of this version; restore it from a backup, or name another",
        )


@cache
def _expected_objects() -> set[tuple[object, ...]]:
    """Return the objects of a new store."""
    with create_engine("sqlite+pysqlite://").connect() as connection:
        RECORDS.schema.create_all(connection, checkfirst=False)
        return {tuple(row) for row in connection.exec_driver_sql(_OBJECTS).all()}


def _engine(path: Path) -> Engine:
    """An engine that opens what is there, and keeps no connection open: there is nothing to leak or to fork."""
    return create_engine("sqlite+pysqlite://", creator=lambda: _connect(path), poolclass=NullPool)


def _connect(path: Path) -> sqlite3.Connection:
    # `mode=rw`, for SQLite would otherwise make a new, empty file where records were.
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
    """Hold the lock under which one process at a time creates a store in a folder; it ends with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_CONNECT_SECONDS = 10
_LOST = "08"  # class of SQLSTATE: connection exception
_MAKING = 0x636F6E66696465  # "confide": the lock of those who make a store

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
_DAMAGED_DATABASE = "its tables are damaged or no records of this version; restore them, or name another database"


class PostgreSQLStore(Store):
    """A database on a server."""

    def __init__(self, url: str, *, shown: str, key_file: KeyFile, owner: Owner) -> None:
        super().__init__(shown=shown, key_file=key_file, owner=owner)
        self._seen = False
        try:
            self.engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": _CONNECT_SECONDS})
        except ModuleNotFoundError:
            raise owner.error(
                "a PostgreSQL database needs another package; install it with pip install 'confide[postgres]'"
            ) from None
        except ArgumentError:
            raise ParameterError(f"{shown} must look like postgresql://user@host:port/database") from None

    def exists(self) -> bool:
        """Return whether all tables exist; some without the others hold no records.

        Once seen they are not looked for again: were they dropped since, whatever uses them fails.
        """
        if not self._seen:
            with self.transaction(writing=False) as connection:
                self._seen = self._tables_are_there(connection)
        return self._seen

    def create(self) -> None:
        """Make the tables, in one transaction and by one process at a time."""
        with self.transaction(writing=True) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:making)"), {"making": _MAKING})
            if not self._tables_are_there(connection):
                RECORDS.schema.create_all(connection, checkfirst=False)
                # Uncompressed, as the room that a padded answer takes would otherwise depend on what it says.
                connection.execute(text(f"ALTER TABLE {RECORDS.entries.name} ALTER COLUMN text SET STORAGE EXTERNAL"))
                RECORDS.first_rows(connection, self.key_file.ensure())

    def _tables_are_there(self, connection: Connection) -> bool:
        # In one statement, as another process may make them meanwhile: all are seen, or none.
        there = connection.execute(
            text("SELECT count(*) FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)"),
            {"names": list(RECORDS.names)},
        ).scalar_one()
        if there not in (0, len(RECORDS.names)):
            raise self.owner.error(f"{self.shown}: {_DAMAGED_DATABASE}. {self.owner.stops}")
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
            raise self.owner.error(
                f"{self.shown}: the server runs with fsync off, so that a crash could lose what is written; switch it "
                "on"
            )

    def has_strange_objects(self, connection: Connection) -> bool:
        """Return whether the tables have a trigger, a rule or a row-level policy."""
        return bool(connection.execute(text(_STRANGE), {"names": list(RECORDS.names)}).scalar_one())

    def explain(self, error: Exception) -> str:
        """Describe a driver's error and the next step."""
        if not isinstance(error, DBAPIError):
            return _DAMAGED_DATABASE
        reach = unreached(error, self.engine)
        if reach is not None:
            return f"{reach}. Host, user and database are in the URL"
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
