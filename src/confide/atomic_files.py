"""Files that appear whole or not at all: readers see the old content or the new, never a part of it.

Content is written under another name in the same folder, brought to the disk, and moved to its place in one step.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_file(path: Path, text: str, *, owner_only: bool = False) -> None:
    """Write a text to a file, in place of one that is there.

    With `owner_only` nobody but the owner may read the file; else the user's umask decides.
    """
    with replacement(path, owner_only=owner_only) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


@contextmanager
def replacement(path: Path, *, owner_only: bool = False) -> Iterator[Path]:
    """Yield a new file to write to; at the end it takes the place of `path`. After an error `path` is as it was."""
    unfinished = _new_file(path)
    try:
        yield unfinished
        flush(unfinished)
        if not owner_only:
            unfinished.chmod(0o666 & ~_umask())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def create_file(path: Path, build: Callable[[Path], object]) -> None:
    """Create a file that only its owner may read; raise FileExistsError if `path` exists.

    `build` writes the content to the path that it is given. The finished file is linked to its name. Opening `path`
    with O_EXCL and writing afterwards would not do: another process could read half of a key.
    """
    unfinished = _new_file(path)
    try:
        build(unfinished)
        flush(unfinished)
        os.link(unfinished, path)
        flush(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _new_file(beside: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=beside.parent, prefix=f".{beside.name}-")
    os.close(handle)
    return Path(name)


def flush(path: Path) -> None:
    """Bring the content of a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
