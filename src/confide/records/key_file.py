"""Files of secrets: made once, whole or not at all, and readable by their owner alone."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confide.atomic_files import create_file
from confide.errors import ConfideError, ParameterError, RecordsError

KEY_BYTES = 32
_MOST_BYTES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFile:
    """File of a secret. `what` names it in messages; `error` is the class of its errors."""

    path: Path
    what: str
    error: type[ConfideError] = RecordsError

    def read(self) -> bytes | None:
        """Return the content, or None if there is no file; refuse one that others than its owner may read."""
        try:
            with self.path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                content = file.read(_MOST_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.error(
                f"{self.what} {self.path} cannot be read ({error.strerror}); only its owner can use it"
            ) from None
        if mode & 0o077:
            raise self.error(
                f"others may read {self.what}, or change it. Take that away first: chmod 600 '{self.path}'"
            )
        return content

    def create(
        self, draw: Callable[[], bytes], otherwise: str = "make its folder writable", *, parents: bool = False
    ) -> None:
        """Make the file, unless there is one. It appears whole, and the first of several processes wins."""
        try:
            if not self.path.exists():
                if parents:
                    self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                create_file(self.path, lambda unfinished: unfinished.write_bytes(draw()))
        except FileExistsError:
            pass
        except OSError as error:
            raise self.error(f"{self.what} {self.path} cannot be written ({error.strerror}); {otherwise}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFile:
    """Key of 32 random bytes, as hexadecimal digits in a file, unless an environment variable holds it."""

    path: Path
    what: str
    error: type[ConfideError] = RecordsError
    variable: str | None = None

    def load(self) -> bytes | None:
        """Return the key, or None if there is none yet."""
        given = None if self.variable is None else os.environ.get(self.variable)
        if given is not None:
            return _parsed(given, f"the environment variable {self.variable}", ParameterError)
        content = self._file.read()
        return None if content is None else _parsed(content.decode("ascii", "replace"), str(self), self.error)

    def require(self) -> bytes:
        """Return the key; refuse a missing one."""
        key = self.load()
        if key is None:
            instead = "" if self.variable is None else f", or its content into {self.variable}"
            raise self.error(
                f"{self.what} is missing. Put the file back as {self.path}{instead}; without it nothing can be "
                "checked, and nothing is released"
            )
        return key

    def ensure(self) -> bytes:
        """Return the key, made first if there is none."""
        key = self.load()
        if key is None:
            instead = "" if self.variable is None else f", or put 64 random hexadecimal digits into {self.variable}"
            digits = secrets.token_hex(KEY_BYTES).encode() + b"\n"
            self._file.create(lambda: digits, f"make its folder writable{instead}", parents=True)
            key = self.load()
        if key is None:
            raise self.error(f"{self} was removed as soon as it was made; try again")
        return key

    @property
    def _file(self) -> SecretFile:
        return SecretFile(path=self.path, what=self.what, error=self.error)

    def __str__(self) -> str:
        return f"{self.what} {self.path}"


def _parsed(text: str, what: str, error: type[ConfideError]) -> bytes:
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) < KEY_BYTES:
        raise error(f"{what} must hold at least {2 * KEY_BYTES} hexadecimal digits; put it back from a backup")
    return key
