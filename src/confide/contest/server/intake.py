"""Uploads: a file is counted while it arrives, then read, scored and recorded in a worker thread."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

from confide.contest.server.contests import LoadedContest
from confide.contest.server.home import disk
from confide.contest.server.oracle import Oracle
from confide.contest.server.problems import Kind, Refused
from confide.contest.server.submissions import FileKind, Outcome
from confide.contest.server.tokens import Caller

MEDIA_TYPES: dict[str, FileKind] = {"text/csv": "csv", "application/vnd.apache.parquet": "parquet"}


def too_large(most: int, step: str = "send only the id and score columns, or a Parquet file") -> Refused:
    """Return the refusal of a body that is too large."""
    return Refused(Kind.TOO_LARGE, f"the body has more than {most:,} bytes", step)


def too_slow() -> Refused:
    """Return the refusal of a body that does not arrive."""
    return Refused(Kind.SLOW, "the body did not arrive in time", "send the file again over a faster connection")


def media_kind(content_type: str | None) -> FileKind:
    """Return the kind of file that a content type names."""
    kind = MEDIA_TYPES.get((content_type or "").split(";")[0].strip().lower())
    if kind is None:
        raise Refused(
            Kind.MEDIA_TYPE,
            "the header Content-Type names no kind of file that can be scored",
            f"send the file itself as the body, as {' or '.join(MEDIA_TYPES)}",
        )
    return kind


def check_length(content_length: str | None, most: int) -> None:
    """Refuse a body by its header Content-Length, before any of it is read."""
    if content_length is not None and content_length.isdecimal() and int(content_length[:20]) > most:
        raise too_large(most)


async def save(chunks: AsyncIterator[bytes], folder: Path, most: int) -> Path:
    """Write chunks to a new file; refuse more than `most` bytes. The caller removes the file."""
    with disk():
        handle, name = tempfile.mkstemp(dir=folder, prefix="upload-")
    path, size = Path(name), 0
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > most:
                    raise too_large(most)
                with disk():
                    file.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


async def accept_upload(
    oracle: Oracle,
    contest: LoadedContest,
    caller: Caller,
    chunks: AsyncIterator[bytes],
    kind: FileKind,
    idempotency_key: str | None = None,
) -> Outcome:
    """Save an upload, then read, score and record it in a worker thread.

    A token that sent many files lately that were not scored is refused before its file is read.
    """
    settings = oracle.settings
    result = "failed"
    oracle.uncounted.require_left(caller.token)
    try:
        async with oracle.queue.upload(caller.member):
            path = await save(chunks, oracle.home.temporary, settings.largest_body)
            try:
                outcome = await oracle.queue.run(
                    lambda: oracle.recorder.accept(contest, caller, path, kind, idempotency_key)
                )
            finally:
                path.unlink(missing_ok=True)
        result = "replayed" if outcome.replayed else "scored"
        if outcome.replayed:
            oracle.uncounted.add(caller.token)
        return outcome
    except Refused as error:
        result = error.kind.value[1]
        if error.kind.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.kind is not Kind.UPLOADS:
            oracle.uncounted.add(caller.token)
        raise
    finally:
        oracle.metrics.submissions.labels(contest.name, result).inc()
