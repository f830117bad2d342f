"""Public files that a study reads and the repository does not ship: their names, origins and checksums."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

ADVICE = "it is public: put it into the folder of --data"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """File by its name, with the SHA-256 checksum of the version that the published results come from."""

    name: str
    what: str
    sha256: str

    def find(self, folder: Path | None) -> Path | None:
        """Return the file of a folder, or None where it is absent."""
        found = None if folder is None else folder / self.name
        return found if found is not None and found.is_file() else None

    def state(self, folder: Path | None) -> str:
        """Say whether the file is there and is the one that is meant."""
        found = self.find(folder)
        if found is None:
            return "absent"
        return "as published" if checksum(found) == self.sha256 else "another version"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "what": self.what, "sha256": self.sha256}


def checksum(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
