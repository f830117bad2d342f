"""Find real data that are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

FILES = (
    "aSAH.csv.gz",
    "adult.csv.gz",
    "gbsg2_federated_scores.csv.gz",
    "heart_disease_4sites.csv.gz",
    "sentiment140_sample20k.csv.gz",
    "sms_spam.csv.gz",
)
"""Files that tests read."""


def shared_folder() -> Path | None:
    """Return the folder that holds all of `FILES`, or None: another folder of that name may be somebody else's."""
    return next((place for place in _places() if all((place / name).is_file() for name in FILES)), None)


def shared_file(name: str) -> Path | None:
    """Return a file of the shared data, or None where it is absent.

    If `CONFIDE_SHARED` is set, only `$CONFIDE_SHARED/data` is searched, so that a folder with nothing in it stands for
    a machine without the data. Otherwise `shared/data` is searched beside the repository and above it.
    """
    return next((place / name for place in _places() if (place / name).is_file()), None)


def _places() -> list[Path]:
    if "CONFIDE_SHARED" in os.environ:
        return [Path(os.environ["CONFIDE_SHARED"]) / "data"]
    repository = Path(__file__).resolve().parents[1]
    return [folder / "shared" / "data" for folder in repository.parents]
