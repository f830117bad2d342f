"""Places of ledgers, SQLite files and PostgreSQL, and the secret key beside each.

The key is in the environment's `CONFIDE_LEDGER_KEY`, or in a private file: beside a SQLite ledger, or in the user's
configuration folder for PostgreSQL.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from confide.errors import LedgerError, ParameterError
from confide.records.chain import Owner
from confide.records.key_file import KeyFile

if TYPE_CHECKING:
    from confide.records.database import Store

ENVIRONMENT = "CONFIDE_LEDGER"

_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """A SQLite file; `shown` is how it was named, `default` whether nobody named it.

    With `anchored`, the file and its anchor must be there already: whoever writes makes neither.
    """

    path: Path
    shown: str
    default: bool = False
    anchored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlace:
    """A PostgreSQL database; `shown` holds no password."""

    url: str = field(repr=False)
    shown: str


def find_place(url: str | Path | FilePlace | None = None) -> FilePlace | ServerPlace:
    """Read where a ledger is: a path, `sqlite:///path` or `postgresql://user@host/database`.

    Without one: the environment's `CONFIDE_LEDGER`, else `confide/ledger.sqlite` in the user's data folder.

    >>> find_place("postgresql://ana:secret@db.example/ledgers").shown
    'postgresql://ana@db.example/ledgers'
    """
    if isinstance(url, FilePlace):
        return url
    url = url or os.environ.get(ENVIRONMENT) or None
    if url is None:
        path = user_folder("XDG_DATA_HOME", ".local/share") / "ledger.sqlite"
        return FilePlace(path=path, shown=str(path), default=True)
    if isinstance(url, Path) or "://" not in url:
        return _file(str(url))
    scheme = url.partition("://")[0].lower()
    if scheme in _SQLITE:
        _, _, rest = url.partition("://")
        if not rest.startswith("/") or len(rest) == 1 or "?" in rest or rest == "/:memory:":
            raise ParameterError("a SQLite ledger must be a file: sqlite:///ledger.sqlite, or just its path")
        return _file(rest[1:])
    if scheme in _POSTGRESQL:
        return ServerPlace(url="postgresql+psycopg" + url[len(scheme) :], shown=_without_secrets(url))
    raise ParameterError(
        f"ledger must be a path, sqlite:///path or postgresql://user@host/database; got one that begins with {scheme!r}"
    )


def user_folder(variable: str, usual: str) -> Path:
    """Return the folder `confide` among a user's own files (XDG base directories)."""
    given = os.environ.get(variable, "")
    base = Path(given) if given.startswith("/") else Path.home() / usual
    return base / "confide"


def _file(path: str) -> FilePlace:
    # Resolved, because SQLite's journal and the key lie beside the file itself, not beside a link to it.
    return FilePlace(path=Path(path).expanduser().resolve(), shown=path)


def _without_secrets(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise ParameterError("ledger must look like postgresql://user@host:port/database") from None
    user = f"{parts.username}@" if parts.username else ""
    return f"postgresql://{user}{parts.hostname or ''}{port}{parts.path}"


KEY_ENVIRONMENT = "CONFIDE_LEDGER_KEY"

_OWNER = Owner(
    what="the ledger",
    stops="Nothing is charged or released",
    remedy="run `confide ledger verify`, and restore the ledger from a backup",
    error=LedgerError,
    chain=lambda chain: f"account {chain.removeprefix('account:')!r}" if chain else "an account",
)


def key_file(place: FilePlace | ServerPlace) -> KeyFile:
    """Return the key file of a ledger's place."""
    if isinstance(place, FilePlace):
        path = place.path.with_name(place.path.name + ".key")
    else:
        path = user_folder("XDG_CONFIG_HOME", ".config") / "ledger.key"
    return KeyFile(path=path, what="the ledger's key", error=LedgerError, variable=KEY_ENVIRONMENT)


def open_store(place: FilePlace | ServerPlace) -> Store:
    """Return the store at a place; nothing is read or written yet."""
    from confide.records.database import PostgreSQLStore, SQLiteStore  # brings SQLAlchemy with it

    shown = f"ledger {place.shown}"
    if isinstance(place, FilePlace):
        return SQLiteStore(
            place.path,
            shown=shown,
            key_file=key_file(place),
            owner=_OWNER,
            anchored=place.anchored,
            makes_folder=place.default,
        )
    return PostgreSQLStore(place.url, shown=shown, key_file=key_file(place), owner=_OWNER)
