"""Score files: each is on the disk, under its name, before the database mentions it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import HomeError, StoreUnavailableError

_PROBE = 4_096


def store(path: Path, content: bytes, temporary: Path) -> None:
    """Write a file under its final name: its content first, then the name, both through to the disk."""
    if path.exists():
        return  # files are named by their content
    with disk():
        handle, name = tempfile.mkstemp(dir=temporary)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
        _flush_folder(path.parent)


@contextmanager
def disk() -> Iterator[None]:
    """Replace errors of a disk that is full, read-only or broken."""
    try:
        yield
    except OSError:
        raise StoreUnavailableError(
            "the server's home folder cannot be written to at present, so the change is not confirmed; check that its "
            "disk has room and can be written to, then look whether the change is there"
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
    """Read the scores of a submission."""
    try:
        scores: FloatArray = np.fromfile(path, dtype="<f8")
    except OSError:
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


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
