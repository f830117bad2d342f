"""Files and folders that only their owner may read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from confide.federation.site_files import write_whole
from confide.files import flush

OWNER_FOLDER, OWNER_FILE = 0o700, 0o600


def write_json(path: Path, plain: Any) -> None:
    """Write plain data as JSON, whole or not at all."""
    write_whole(path, json.dumps(plain, indent=1) + "\n")


def make_owned(folder: Path) -> Path:
    """Make a folder that only its owner may enter; restrict an existing one."""
    folder.mkdir(mode=OWNER_FOLDER, parents=True, exist_ok=True)
    folder.chmod(OWNER_FOLDER)
    return folder


def own_tree(folder: Path) -> None:
    """Restrict a folder and everything in it to its owner."""
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(OWNER_FOLDER)
        for name in names:
            (Path(parent) / name).chmod(OWNER_FILE)


def flush_tree(folder: Path) -> None:
    """Bring everything in a folder to the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            flush(Path(parent) / name)
        flush(Path(parent))
