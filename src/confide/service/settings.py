"""Settings of a server."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from confide.errors import ParameterError

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
