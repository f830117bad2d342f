"""Identity of data: a file's bytes as they lie there, and the digest of all rows of a table.

The engine hashes each row with SHA-256 and sends the hashes in ascending order; the digest is the SHA-256 of the
columns' names and types and of the hashes one after the other. Two tables with one digest have the same rows, each as
often: a sorted list of hashes is a faithful encoding of a multiset of them, so two such tables would give a collision
of SHA-256. (Adding or XORing hashes would be cheaper, and broken: Wagner's generalised birthday attack finds other rows
with the same sum.) Rows are encoded without ambiguity before they are hashed. No row leaves the engine.

All columns are digested, not only those that a question uses: whether data changed must not tell in which column.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from confide.errors import ParameterError, UsageError
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


_BATCH_ROWS = 1 << 16
_HASH_BYTES = 32
_SEVERAL_TYPES = ("UNION(", "VARIANT")


def digest_of(schema: Any, hashes: Iterable[bytes]) -> bytes:
    """Return the digest of a table from the types of its columns and the sorted hashes of its rows."""
    result = sha256(repr([(name, str(kind)) for name, kind in schema.items()]).encode())
    for one in hashes:
        if len(one) != _HASH_BYTES:
            raise AssertionError("a hash of a row has another length")
        result.update(one)
    return result.digest()


def duckdb_row_hashes(connection: Any, view: str, columns: Sequence[str]) -> Iterator[bytes]:
    """Yield the sorted hashes of the rows of a view of DuckDB."""
    for name, kind, *_ in connection.execute(f"DESCRIBE {view}").fetchall():
        if any(each in kind for each in _SEVERAL_TYPES):
            raise ParameterError(
                f"column {name!r} holds values of several types, whose texts do not tell them apart; leave it out with "
                "a view or a query"
            )
    parts = " || ".join(_length_prefixed(name) for name in columns)
    # On the connection itself: another cursor would not see the temporary view.
    connection.execute(f"SELECT unhex(sha256({parts})) AS hash FROM {view} ORDER BY hash")  # noqa: S608 - our own view
    while rows := connection.fetchmany(_BATCH_ROWS):
        for (value,) in rows:
            yield bytes(value)


def _length_prefixed(name: str) -> str:
    """Write a value as its length in bytes and its text: no two lists of values give the same text."""
    text = f'CAST("{name.replace(chr(34), chr(34) * 2)}" AS VARCHAR)'
    return f"coalesce(strlen({text}) || ':' || {text}, 'null;')"
