"""Home folder of a server: database, key, bundles and score files."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from confide.errors import HomeError
from confide.files import create_file

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Home:
    """Paths inside the home folder of a server."""

    folder: Path

    @property
    def database(self) -> Path:
        """Return the SQLite file."""
        return self.folder / "oracle.sqlite"

    @property
    def key_file(self) -> Path:
        """Return the file of the key that seals the audit chain."""
        return self.folder / "oracle.key"

    @property
    def anchor_file(self) -> Path:
        """Return the sealed file of the ends of all audit chains."""
        return self.folder / "oracle.anchor"

    @property
    def temporary(self) -> Path:
        """Return the folder of uploads that are not read yet."""
        return self.folder / "tmp"

    @property
    def contests(self) -> Path:
        """Return the folder of bundles."""
        return self.folder / "contests"

    def bundle(self, contest: str) -> Path:
        """Return the bundle of a contest."""
        return self.contests / contest / "server.zip"

    def scores(self, contest: str, digest: str) -> Path:
        """Return the file of a submission's scores: little-endian float64, in the template's order."""
        return self.folder / "scores" / contest / f"{digest}.f8"

    def influences(self, contest: str, digest: str) -> Path:
        """Return the file of a submission's influences on its value: little-endian float32, public rows."""
        return self.folder / "influences" / contest / f"{digest}.f4"

    def make(self) -> None:
        """Create the folders that are missing. Only their owner may read them."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("contests", "scores", "influences", "tmp"):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise HomeError(
                f"the home folder {self.folder} cannot be made ({error.strerror}); choose a folder that can be "
                "written to with --home"
            ) from None

    def make_contest(self, contest: str) -> None:
        """Create the folders of a contest."""
        for folder in ("contests", "scores", "influences"):
            (self.folder / folder / contest).mkdir(mode=0o700, exist_ok=True)

    def require(self) -> None:
        """Refuse a folder in which no server was ever started."""
        if not self.key_file.exists():
            raise HomeError(
                f"{self.folder} is not the home of a server; name the folder that was given to `confide serve --home`"
            )

    def key(self, *, new: bool = False) -> bytes:
        """Return the key of the audit chain. If `new`, nothing is sealed yet, and a missing key is made."""
        if not self.key_file.exists():
            if not new:
                raise HomeError(
                    f"the key {self.key_file} is missing, so that the records cannot be checked. Give the --home that "
                    "belongs to the database, or put the home folder back from a backup"
                )
            text = secrets.token_hex(_KEY_BYTES) + "\n"
            with suppress(FileExistsError):  # another process made it meanwhile
                create_file(self.key_file, lambda unfinished: unfinished.write_text(text, encoding="ascii"))
        if stat.S_IMODE(self.key_file.stat().st_mode) & 0o077:
            raise HomeError(f"others may read the key of the server. Change that first: chmod 600 '{self.key_file}'")
        try:
            key = bytes.fromhex(self.key_file.read_text(encoding="ascii").strip())
        except ValueError:
            key = b""
        if len(key) < _KEY_BYTES:
            raise HomeError(f"the key {self.key_file} is damaged; put it back from a backup")
        return key

    def clear_temporary(self) -> None:
        """Remove uploads that an earlier process left."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Hold the home for one server; the lock ends with the process."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise HomeError(
                    f"another server runs on the home folder {self.folder}; stop it, or choose another --home"
                ) from None
            yield
        finally:
            os.close(handle)
