"""Files that hold private keys."""

from __future__ import annotations

from pathlib import Path


def private_keys(folder: Path) -> set[str]:
    """Return the files in a folder that hold a private key."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in files if b"PRIVATE KEY" in path.read_bytes()}
