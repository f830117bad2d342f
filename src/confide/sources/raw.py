"""Read a file as it lies there, in pieces: its bytes identify the data that it holds."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from confide.errors import UsageError
from confide.sources.locations import no_file

_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


def unpacked_bytes(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces, unpacked where it is gzipped."""
    packed = b"".join(raw_bytes(file))
    if not packed.startswith(_GZIP):
        yield packed
        return
    try:
        yield gzip.decompress(packed)
    except (OSError, EOFError):
        raise UsageError(f"{file} is damaged; give a whole file") from None


def raw_bytes(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces."""
    if file.is_dir():
        raise UsageError(f"{file} is a folder; give a file")
    if not file.exists():
        raise no_file(file)
    try:
        with file.open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); check its permissions") from None
