"""Scores as the body of a request: a file, a dataframe or a mapping from ids to scores."""

from __future__ import annotations

import io
import os
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from confide.client.transport import Body
from confide.errors import ParameterError, UnreadableError

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"

_PARQUET_BEGINS = b"PAR1"
_GZIP_BEGINS = b"\x1f\x8b"


def file_body(path: Path) -> Body:
    """Return the body of a file, whose first bytes tell CSV from Parquet."""
    try:
        with path.open("rb") as stream:
            begins, size = stream.read(4), os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read ({error.strerror}); check the name") from None
    if not size:
        raise UnreadableError(f"{path} is empty; give a file with a line for each row")
    if begins.startswith(_GZIP_BEGINS):
        raise ParameterError(f"{path} is compressed; submit plain CSV, or Parquet, which is compressed by itself")
    return Body(size=size, kind=PARQUET if begins == _PARQUET_BEGINS else CSV, open=lambda: path.open("rb"))


def bytes_body(content: bytes, kind: str) -> Body:
    """Return the body of content in memory."""
    return Body(size=len(content), kind=kind, open=lambda: io.BytesIO(content))


def scores_body(scores: Any, *, id_column: str, score_column: str) -> Body:
    """Return a dataframe, or a mapping from ids to scores, as CSV."""
    from confide.sources.score_frames import score_csv

    return bytes_body(score_csv(scores, id_column=id_column, score_column=score_column), CSV)


def content_key(body: Body) -> str:
    """Return the SHA-256 of a body, in hex: the key under which the same file is the same submission."""
    digest = sha256()
    with body.open() as stream:
        for part in _blocks(stream):
            digest.update(part)
    return digest.hexdigest()


def _blocks(stream: BinaryIO) -> Any:
    return iter(lambda: stream.read(1 << 20), b"")
