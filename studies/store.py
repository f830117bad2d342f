"""Finished pieces of studies on the disk, so that a study that was stopped goes on where it was.

A piece is stored as named arrays. It is found again only if study, settings, data and code are the same: the code of
the study, of what studies share and of `confide`, with the versions of the libraries that compute. Files appear whole
or not at all, so a run that is killed leaves no half of a piece; a file that cannot be read counts as absent.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import confide
from confide.atomic_files import replacement

Arrays: TypeAlias = dict[str, NDArray[Any]]
"""What a piece yields: arrays of numbers, truth values or text, by name."""

FOLDER_VARIABLE = "CONFIDE_STUDIES_CACHE"

_HERE = Path(__file__).parent
_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "opendp", "python-flint")
_DIGITS = 16
_SHOWING = frozenset(
    {
        *("plots.py", "tables.py", "report.py", "page.py", "claims.py", "command.py", "options.py", "exhibits.py"),
        *("catalogue.py", "summaries.py", "settings_words.py", "all_command.py", "__main__.py"),
    }
)
"""Modules of studies that show what was computed; none of them may compute what a piece stores."""
_SHOWING_ROOMS = frozenset({"report", "cli", "service"})


def default_folder() -> Path:
    """Return the folder of finished pieces: `CONFIDE_STUDIES_CACHE`, or `.studies` beside the package."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else _HERE.parent / ".studies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Folder for the finished pieces of one study with one set of settings; with `fresh` it starts empty."""

    folder: Path

    @classmethod
    def open(cls, above: Path, study: str, settings: Mapping[str, Any], *, fresh: bool = False) -> Store:
        """Find the folder of a study, and remove pieces that an older version of the code has left."""
        of_study, code = above / study, code_digest(study.replace("-", "_"))
        for old in of_study.iterdir() if of_study.is_dir() else ():
            if old.name != code:
                shutil.rmtree(old, ignore_errors=True)
        store = cls(folder=of_study / code / _digest(json.dumps(settings, sort_keys=True)))
        if fresh:
            shutil.rmtree(store.folder, ignore_errors=True)
        return store

    def get(self, name: str) -> Arrays | None:
        """Return a finished piece, or None."""
        try:
            with self._path(name).open("rb") as file, np.load(file, allow_pickle=False) as held:
                return {key: held[key] for key in held.files}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, name: str, arrays: Arrays) -> None:
        """Store a finished piece."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacement(self._path(name)) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    def _path(self, name: str) -> Path:
        return self.folder / f"{_digest(name)}.npz"


@cache
def code_digest(package: str) -> str:
    """Return a digest of all code that a study's numbers depend on."""
    found = sha256()
    for above, path in _sources(package):
        found.update(path.relative_to(above).as_posix().encode() + b"\n" + path.read_bytes())
    for library in _LIBRARIES:
        found.update(f"{library} {_version(library)}\n".encode())
    found.update(platform.python_version().encode())
    return found.hexdigest()[:_DIGITS]


def _sources(package: str) -> Iterator[tuple[Path, Path]]:
    library = Path(confide.__file__).parent
    for path in sorted((*_HERE.glob("*.py"), *(_HERE / package).rglob("*.py"))):
        if path.name not in _SHOWING:
            yield _HERE, path
    for path in sorted(library.rglob("*.py")):
        if path.relative_to(library).parts[0] not in _SHOWING_ROOMS:
            yield library, path


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]
