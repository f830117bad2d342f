"""Home folder of a server: settings, database, key, bundles, and score files that are on the disk first."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from confide.atomic_files import flush
from confide.counts import FloatArray
from confide.errors import HomeError, ParameterError, StoreUnavailableError
from confide.records.key_file import KeyFile

DATABASE = "CONFIDE_ORACLE_DATABASE"
"""Environment variable with the URL of a PostgreSQL database; without it the home folder holds a SQLite file."""

MEBIBYTE = 2**20


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)


def database_from_environment() -> str | None:
    """Return the URL of the database, if the environment names one."""
    return os.environ.get(DATABASE) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a server.

    Parameters
    ----------
    home
        The folder that holds the database, bundles and score files.
    bundles
        Files `server.zip` to import at start.
    database
        URL of a PostgreSQL database; None stands for a SQLite file in `home`.
    labels, ledger, account
        For contests that charge each answer: the file of labels, the ledger and the account.
    largest_body, largest_final, largest_request
        Bytes of the largest score file, of the largest result of a final, and of the largest other request.
    header_seconds, body_seconds, idle_seconds
        The longest time that the first headers and a body may take, and that a client may send nothing in a body. After
        once or twice `idle_seconds` a client that leaves its answer unread is disconnected.
    workers, queue
        Score files that are read at once, and those that may wait; one more is refused.
    uploads_each
        Uploads of one participant at once.
    uncounted_files
        Files of one token in ten minutes that are read without being scored: refused ones, and those sent before.
    board_seconds
        The oldest leaderboard that is shown after a new submission.
    """

    home: Path
    bundles: tuple[Path, ...] = ()
    database: str | None = field(default_factory=database_from_environment, repr=False)
    host: str = "127.0.0.1"
    port: int = 8765
    metrics_port: int | None = None
    labels: Path | None = None
    ledger: str | None = None
    account: str | None = None
    largest_body: int = 64 * MEBIBYTE
    largest_final: int = 4 * MEBIBYTE
    largest_request: int = 64 * 1024
    header_seconds: float = 10.0
    body_seconds: float = 120.0
    idle_seconds: float = 10.0
    workers: int = field(default_factory=available_cores)
    queue: int = 64
    uploads_each: int = 16
    uncounted_files: int = 60
    board_seconds: float = 2.0

    def __post_init__(self) -> None:
        for parameter in ("port", "metrics_port"):
            number = getattr(self, parameter)
            if number is not None and not 0 <= number <= 65535:
                raise ParameterError(f"`{parameter}` must lie between 0 and 65535; got {number}")
        for parameter in ("workers", "queue", "uploads_each", "uncounted_files"):
            if getattr(self, parameter) < 1:
                raise ParameterError(f"`{parameter}` must be at least 1")


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
            flush(self.folder / folder)

    def require(self) -> None:
        """Refuse a folder in which no server was ever started."""
        if not self.key_file.exists():
            raise HomeError(
                f"{self.folder} is not the home of a server; name the folder that was given to `confide serve --home`"
            )

    @property
    def key(self) -> KeyFile:
        """Return the key that seals the records."""
        return KeyFile(path=self.key_file, what="the server's key", error=HomeError)

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


_PROBE = 4_096


def store(path: Path, content: bytes, temporary: Path) -> None:
    """Write a file under its final name: its content first, then the name, both through to the disk."""
    with disk():
        if not path.exists():  # files are named by their content
            handle, name = tempfile.mkstemp(dir=temporary)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(path)
            finally:
                Path(name).unlink(missing_ok=True)
        flush(path.parent)  # also if another thread, or a process before a crash, has just given the name


@contextmanager
def disk() -> Iterator[None]:
    """Replace errors of a disk that is full, read-only or broken."""
    try:
        yield
    except OSError:
        raise StoreUnavailableError(
            "the server's home folder cannot be written to at present, so the change is not confirmed; check that its "
            "disk has space and can be written to, then look whether the change is there"
        ) from None


def probe(temporary: Path, room: int) -> None:
    """Write a small file through to the disk and remove it; raise an error if that fails, or if little room is left."""
    with disk():
        status = os.statvfs(temporary)
        if status.f_bavail * status.f_frsize < room:
            raise OSError
        with tempfile.TemporaryFile(dir=temporary) as file:
            file.write(bytes(_PROBE))
            file.flush()
            os.fsync(file.fileno())


def load_scores(path: Path, rows: int) -> FloatArray:
    """Map the scores of a submission to memory: the system reads them where they are used."""
    try:
        scores: FloatArray = np.memmap(path, dtype="<f8", mode="r")
    except (OSError, ValueError):  # no file, or an empty one
        scores = np.empty(0)
    if scores.size != rows:
        raise HomeError(f"the score file {path} is missing or damaged; restore the home folder from a backup")
    return scores


def map_influences(path: Path, rows: int) -> NDArray[np.float32] | None:
    """Map the influences of a submission to memory; None if they must be computed again."""
    try:
        influences: NDArray[np.float32] = np.memmap(path, dtype="<f4", mode="r")
    except (OSError, ValueError):  # no file, or an empty one
        return None
    return influences if influences.size == rows else None
