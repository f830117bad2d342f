"""Folder of a new federation, made so that a killed process leaves no private key where nobody looks for it.

Everything is made in the folder that the coordinator named. As long as it is not finished, it has a folder
`unfinished`, and no `federation.toml`, which is written last. So no command takes it for a federation, and the next
`confide federation init` of that folder deletes what is there, keys included, and begins anew. Nothing is ever written
beside the folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from confide.errors import ParameterError
from confide.federation.flare.federation import FILE
from confide.federation.flare.files import make_owned
from confide.files import flush

UNFINISHED = "unfinished"
"""Folder in the folder of a federation that is being made, or whose making was interrupted."""

_PARTS = ("authority", "server", "coordinator", f".{FILE}-*", UNFINISHED)
"""All that is made in a new federation's folder before its settings. The last one shows that the others may go."""


def is_unfinished(folder: Path) -> bool:
    """Return whether the making of a federation in this folder was interrupted."""
    return (folder / UNFINISHED).is_dir() and not (folder / FILE).exists()


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a folder to work in while a federation is made in `folder`, which must be new, empty or unfinished.

    The block writes `federation.toml` last. After an error everything is removed.
    """
    existed = folder.exists()
    if not is_unfinished(folder):
        _require_empty(folder)
    _make_folder(folder)
    with _alone_in(folder):
        _clear(folder)
        _require_empty(folder)
        try:
            make_owned(folder / UNFINISHED)
            yield folder / UNFINISHED / "work"
            (folder / UNFINISHED).rmdir()
        except BaseException:
            _clear(folder)
            if not existed:
                with suppress(OSError):
                    folder.rmdir()
            raise
        flush(folder)
        flush(folder.parent)


def _clear(folder: Path) -> None:
    """Delete what an interrupted call made, and nothing else."""
    if not is_unfinished(folder):
        return
    for part in _PARTS:
        for path in folder.glob(part):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _require_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{folder} exists already; give a new or empty folder")


def _make_folder(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_owned(folder)
    except OSError as error:
        raise ParameterError(f"{folder} cannot be made or owned ({error.strerror}); give another folder") from None


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder; the lock ends with the process. Some network file systems cannot lock folders: go on there."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(
                f"another process is making a federation in {folder}; wait for it, or give another folder"
            ) from None
        except OSError:
            pass
        yield
    finally:
        os.close(handle)
