"""Read a file as it lies there, in pieces: its bytes identify the data that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from confide.errors import UsageError

_PIECE = 1 << 20


def raw_bytes(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces."""
    if file.is_dir():
        raise UsageError(f"{file} is a folder; give a file")
    if not file.exists():
        raise UsageError(f"{file} does not exist; check the path")
    try:
        with file.open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); check its permissions") from None
