"""Deletion of what earlier runs left in an engine's workspace: logs, and the question.

FLARE never deletes them. `confide` does at each start of the engine, when no run is under way.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import UUID

_PLACES = ("", "jobs", "transfer", "snapshots")


def delete_runs(kit: Path) -> None:
    """Delete the folders of runs, which FLARE names by UUIDs; nothing else."""
    for place in _PLACES:
        for folder in (kit / place).glob("*-*-*-*-*"):
            if _names_run(folder.name) and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)


def _names_run(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
