"""A ledger in a SQLite file.

Durability: a rollback journal with `synchronous=EXTRA`, which is FULL and also brings the removal of
the journal to the disk before a commit returns. With FULL alone a power cut just after a commit can
bring the journal back, and with it the state before the charge. A write-ahead log would be durable
too, but keeps committed charges in a second file that is easily lost when the first is copied.

Isolation: `BEGIN IMMEDIATE` takes the only write lock before anything is read.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine, insert
from sqlalchemy.exc import DBAPIError

from confide.errors import LedgerError
from confide.files import create_file
from confide.ledger.key import KeyFile
from confide.ledger.place import FilePlace
from confide.ledger.store import LOCK_SECONDS, Store
from confide.ledger.tables import META, SCHEMA
from confide.ledger.transaction import first_meta

# What the driver calls an error, and what it means; the first that fits.
_MEANING = {
    "SQLITE_BUSY": f"another process has held its lock for {LOCK_SECONDS} seconds; try again",
    "SQLITE_READONLY": "it cannot be written to; make the file and its folder writable",
    "SQLITE_PERM": "it may not be opened; make the file and its folder readable and writable",
    "SQLITE_CANTOPEN": "it cannot be opened; check that the file and its folder are there and writable",
    "SQLITE_FULL": "the disk is full; make room first",
    "SQLITE_IOERR": "the disk cannot be read or written; check it",
}
_MARK = "A confide ledger was made beside this file. If it is gone, put it back from a backup.\n"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_DAMAGED = "the file is empty, damaged or no ledger; restore it from a backup, or name another"


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
        return next((meaning for known, meaning in _MEANING.items() if str(name).startswith(known)), _DAMAGED)


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
