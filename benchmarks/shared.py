"""Real data that are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path


def shared_file(name: str) -> Path | None:
    """A file in `$CONFIDE_SHARED/data`, or in `shared/data` beside the repository or above it; or None."""
    repository = Path(__file__).resolve().parents[1]
    places = [folder / "shared" for folder in repository.parents]
    if "CONFIDE_SHARED" in os.environ:
        places.insert(0, Path(os.environ["CONFIDE_SHARED"]))
    return next((place / "data" / name for place in places if (place / "data" / name).is_file()), None)
