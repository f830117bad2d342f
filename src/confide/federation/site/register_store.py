"""File of a site's register: SQLite, with a secret key beside it that only its owner may read."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from confide.errors import FederationError
from confide.files import create_file

FILE, KEY_FILE = "register.db", "register.key"

SETTLED_TABLE = """
CREATE TABLE IF NOT EXISTS settled (
    kind TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, sites TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (kind, name, source)
)
"""
"""Table of settled lists; registers of earlier versions do not have it."""

MET_TABLE = """
CREATE TABLE IF NOT EXISTS met (
    kind TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, site TEXT NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (kind, name, source, site)
)
"""
"""Table of the own keys of the sites with which a sum was answered that survives dropouts."""

LOGS_TABLE = """
CREATE TABLE IF NOT EXISTS logs (
    name TEXT NOT NULL PRIMARY KEY, entries INTEGER NOT NULL, last TEXT NOT NULL, seal TEXT NOT NULL
)
"""
"""Table of anchors: how many entries each log of the site has, see `log_anchors`."""

_LOCK_SECONDS = 30
_KEY_BYTES = 32
_TABLES = (
    """
CREATE TABLE fixed (
    kind TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, terms TEXT NOT NULL,
    data TEXT NOT NULL, counts TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (kind, name, source)
)
""",
    """
CREATE TABLE listed (
    question TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, model TEXT NOT NULL, sites TEXT NOT NULL, at TEXT NOT NULL
)
""",
)


class RegisterStore:
    """Register's file and key in a site's folder; the file is created with the first entry."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.key_path = folder / KEY_FILE

    def exists(self) -> bool:
        """Return whether there is a register; refuse a key without one, as the register's entries would be lost."""
        if self.path.exists():
            return True
        if self.key_path.exists():
            raise FederationError(
                f"the register {self.path} is not there, but its key is. Put it back from a backup; if this site has "
                f"answered nothing yet, remove '{self.key_path}'"
            )
        return False

    def create(self) -> None:
        """Create the register before its key, which comes with the first entry: no entry is ever without a key."""
        try:
            create_file(self.path, self._build)
        except FileExistsError:
            pass
        except OSError as error:
            raise FederationError(
                f"the register {self.path} cannot be made ({error.strerror}); make the site's folder writable"
            ) from None

    def _build(self, unfinished: Path) -> None:
        connection = _connected(unfinished)
        try:
            for table in _TABLES:
                connection.execute(table)
        finally:
            connection.close()

    def key(self, connection: sqlite3.Connection) -> bytes:
        """Return the key; make a fresh one for a register that has neither key nor entries."""
        if not self.key_path.exists() and not used(connection):
            try:
                create_file(
                    self.key_path, lambda unfinished: unfinished.write_text(secrets.token_hex(_KEY_BYTES) + "\n")
                )
            except FileExistsError:
                pass
            except OSError as error:
                raise FederationError(
                    f"the register's key {self.key_path} cannot be made ({error.strerror}); make its folder writable"
                ) from None
        return self.read_key()

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[sqlite3.Connection]:
        """Store all of a block or nothing; only one process writes at a time."""
        try:
            connection = _connected(self.path)
            try:
                connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed
        except sqlite3.Error as error:
            raise FederationError(
                f"the register {self.path} cannot be used ({error.sqlite_errorname}); check that it is whole, "
                "writable and not held by another program for long. Nothing is answered"
            ) from None

    def read_key(self) -> bytes:
        """Return the key; refuse one that others than its owner may read."""
        return _read_key(self.key_path)


def _connected(path: Path) -> sqlite3.Connection:
    # `mode=rw`, for SQLite would otherwise make a new, empty file where a register was.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=_LOCK_SECONDS, isolation_level=None
    )
    connection.execute("PRAGMA synchronous=EXTRA")  # as FULL, and the journal's removal is on the disk too
    return connection


def used(connection: sqlite3.Connection) -> bool:
    """Return whether the register has any entry."""
    found = connection.execute("SELECT 1 FROM fixed UNION ALL SELECT 1 FROM listed LIMIT 1")
    return found.fetchone() is not None


def _read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(1_000).decode("ascii", "replace").strip()
    except OSError as error:
        raise FederationError(
            f"the register's key {path} cannot be read ({error.strerror}); put it back from a backup"
        ) from None
    if mode & 0o077:
        raise FederationError(f"others may read the register's key; take that away first: chmod 600 '{path}'")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) < _KEY_BYTES:
        raise FederationError(f"the register's key {path} must hold {2 * _KEY_BYTES} hexadecimal digits; put it back")
    return key
