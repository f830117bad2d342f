"""Places of ledgers, SQLite files and PostgreSQL, and the secret key beside each.

The key is in the environment's `CONFIDE_LEDGER_KEY`, or in a private file: beside a SQLite ledger, or in the user's
configuration folder for PostgreSQL.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from confide.errors import LedgerError, ParameterError
from confide.files import create_file
from confide.ledger.entries import same_seal, seal

ENVIRONMENT = "CONFIDE_LEDGER"

_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """A SQLite file; `shown` is how it was named, `default` whether nobody named it."""

    path: Path
    shown: str
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlace:
    """A PostgreSQL database; `shown` holds no password."""

    url: str = field(repr=False)
    shown: str


def find_place(url: str | Path | None = None) -> FilePlace | ServerPlace:
    """Read where a ledger is: a path, `sqlite:///path` or `postgresql://user@host/database`.

    Without one: the environment's `CONFIDE_LEDGER`, else `confide/ledger.sqlite` in the user's data folder.

    >>> find_place("postgresql://ana:secret@db.example/ledgers").shown
    'postgresql://ana@db.example/ledgers'
    """
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

_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFile:
    """File of a ledger's key, unless the environment holds the key."""

    path: Path

    @classmethod
    def of(cls, place: FilePlace | ServerPlace) -> KeyFile:
        """Return the key file of a ledger's place."""
        if isinstance(place, FilePlace):
            return cls(path=place.path.with_name(place.path.name + ".key"))
        return cls(path=user_folder("XDG_CONFIG_HOME", ".config") / "ledger.key")

    def load(self) -> bytes | None:
        """Return the key, or None if there is none yet."""
        given = os.environ.get(KEY_ENVIRONMENT)
        if given is not None:
            return _checked(given, f"the environment variable {KEY_ENVIRONMENT}", ParameterError)
        try:
            with self.path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = file.read(10_000)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"the ledger's key {self.path} cannot be read ({error.strerror}); only its owner can use the ledger"
            ) from None
        if mode & 0o077:
            raise LedgerError(
                f"others may read the ledger's key, or change it. Take that away first: chmod 600 '{self.path}'"
            )
        return _checked(text.decode("ascii", "replace"), f"the ledger's key {self.path}", LedgerError)

    def settle(self, key: bytes) -> bytes:
        """Return the key that there is, making the file of it with the given one if there is none.

        The file appears whole or not at all, and the first of several processes wins.
        """
        there = self.load()
        if there is not None:
            return there
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_file(self.path, lambda unfinished: unfinished.write_text(key.hex() + "\n"))
        except FileExistsError:
            pass
        except OSError as error:
            raise LedgerError(
                f"the ledger's key {self.path} cannot be written ({error.strerror}); make its folder writable, or put "
                f"64 random hexadecimal digits into {KEY_ENVIRONMENT}"
            ) from None
        settled = self.load()
        if settled is None:
            raise LedgerError(f"the ledger's key {self.path} was removed as soon as it was made; try again")
        return settled


def fresh_key() -> bytes:
    """Draw a new key."""
    return secrets.token_bytes(_BYTES)


def key_check(key: bytes) -> str:
    """Return the value by which a ledger recognises its key."""
    return seal(key, "key check")


def check_key(key: bytes | None, meta: Mapping[str, str], file: KeyFile) -> bytes:
    """Return the key if it is the one that the ledger was made with."""
    if key is None:
        raise LedgerError(
            f"the ledger's key is missing. Put the file back as {file.path}, or its content into {KEY_ENVIRONMENT}; "
            "without it nothing can be released"
        )
    if not same_seal(str(meta.get("key check")), key_check(key)):
        raise LedgerError(
            f"the key does not belong to this ledger. Give the one that it was made with, in {file.path} or in "
            f"{KEY_ENVIRONMENT}; nothing is released"
        )
    return key


def _checked(text: str, what: str, error: type[LedgerError] | type[ParameterError]) -> bytes:
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) < _BYTES:
        raise error(f"{what} must hold at least {2 * _BYTES} hexadecimal digits; restore the one it was made with")
    return key
