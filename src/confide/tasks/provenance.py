"""Read the origin of a result: the clock, the version, the command line and the bytes of the file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path

import confide
from confide.provenance import Provenance, PublicProvenance, shown_command
from confide.sources.digests import raw_bytes


def read_provenance(
    *, file: Path | None = None, arguments: Sequence[str] | None = None, seed: int | None = None
) -> Provenance:
    """Return the origin of exact numbers. `arguments` is the command line after the word `confide`."""
    return Provenance(
        version=confide.__version__,
        date=_today(),
        command=None if arguments is None else shown_command(arguments),
        sha256=None if file is None else _digest(file),
        seed=seed,
    )


def public_provenance(day: date | None = None) -> PublicProvenance:
    """Return the origin of numbers that may be published; `day` is the day of their release, by default today."""
    return PublicProvenance(version=confide.__version__, date=_today() if day is None else day)


def _today() -> date:
    return datetime.now(UTC).date()


def _digest(file: Path) -> str:
    digest = sha256()
    for piece in raw_bytes(file):
        digest.update(piece)
    return digest.hexdigest()
