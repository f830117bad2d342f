"""Replacement of a site's kit so that a crash leaves the old one or the new one, and no copy of a private key.

FLARE reads a key, its certificate and settings from separate files of one folder, `kit/startup`. So the folder is
replaced as a whole, by renaming:

1. `.kit-new/startup` is written and brought to the disk.
2. `kit/startup` becomes `.kit-old`.
3. `.kit-new/startup` becomes `kit/startup`.
4. `.kit-new` and `.kit-old` are deleted.

After a crash between steps 2 and 3 there is no `kit/startup`, and `.kit-old` shows that step 1 was completed. Whoever
opens the site next does step 3. After any other crash `kit/startup` is whole, and the next one to open the site deletes
the rest. A first kit takes one renaming, of `.kit-new` to `kit`.

One process at a time changes a kit: it holds a lock on the site's folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from confide.errors import FederationError
from confide.federation.flare.files import flush_tree, make_owned
from confide.federation.site.site_folder import SiteFolder
from confide.files import flush

KEY = "client.key"
"""Private key for TLS, in a kit's startup folder."""

_NEW, _OLD = ".kit-new", ".kit-old"
_LEFTOVERS = (".kit-*", ".site.key-*", ".request.key-*", ".*.request-*")
"""Names under which a killed process leaves unfinished kits, keys and requests in a site's folder."""


def startup_of(folder: SiteFolder) -> Path:
    """Return the folder of a site's certificate, the key to it, the root's certificate and the engine's settings."""
    return folder.kit / "startup"


@contextmanager
def changing(folder: SiteFolder) -> Iterator[None]:
    """Hold a site's folder to change its kit or its keys; repair it before, and leave no copy of a key behind."""
    with _locked(folder.path):
        _repair(folder)
        try:
            yield
        finally:
            _repair(folder)


def repair(folder: SiteFolder) -> None:
    """Complete or undo what a killed process left half-done in a site's folder."""
    if _needs_repair(folder):
        with _locked(folder.path):
            _repair(folder)


def new_kit(folder: SiteFolder) -> Path:
    """Make the folder for a new kit, to be filled and then given to `take_place`."""
    made = make_owned(folder.path / _NEW)
    make_owned(made / "startup")
    return made


def take_place(folder: SiteFolder) -> None:
    """Put the new kit in its place: all of it for a first kit, and only `startup` if the site has one."""
    new, old, startup = folder.path / _NEW, folder.path / _OLD, startup_of(folder)
    flush_tree(new)
    if folder.kit.exists():
        startup.rename(old)
        flush(folder.path)
        (new / "startup").rename(startup)
        flush(folder.kit)
    else:
        new.rename(folder.kit)
    flush(folder.path)


def leftovers(folder: SiteFolder) -> list[Path]:
    """Return what a killed process left in a site's folder."""
    return [path for pattern in _LEFTOVERS for path in folder.path.glob(pattern)]


def _needs_repair(folder: SiteFolder) -> bool:
    return bool(leftovers(folder)) or _is_taken_in(folder)


def _repair(folder: SiteFolder) -> None:
    _complete(folder)
    for path in leftovers(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    if _is_taken_in(folder):
        with suppress(OSError):
            folder.new_key.unlink()


def _complete(folder: SiteFolder) -> None:
    """Put the new startup folder in its place if the old one has left it."""
    new, old, startup = folder.path / _NEW / "startup", folder.path / _OLD, startup_of(folder)
    if startup.exists() or not old.is_dir():
        return
    try:
        (new if new.is_dir() else old).rename(startup)
        flush(folder.kit)
    except OSError as error:
        raise FederationError(
            f"{startup} cannot be put back ({error.strerror}); make {folder.path} writable, and run this again"
        ) from None


def _is_taken_in(folder: SiteFolder) -> bool:
    """Return whether the kit has the key of the last request already."""
    try:
        return folder.new_key.read_bytes() == (startup_of(folder) / KEY).read_bytes()
    except OSError:
        return False


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait for other processes that change the kit. Some network file systems cannot lock folders: go on there."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise FederationError(f"{folder} cannot be opened ({error.strerror}); give the folder of a site") from None
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
