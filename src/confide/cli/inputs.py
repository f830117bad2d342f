"""Read what a command takes as FILE: a path, or `-` for standard input."""

from __future__ import annotations

from pathlib import Path


def readable(file: str) -> Path:
    """Return the path of a file. Standard input is copied to a temporary file, since its bytes are needed twice."""
    if file != "-":
        return Path(file)
    from confide.sources.files import spooled_input

    return spooled_input()
