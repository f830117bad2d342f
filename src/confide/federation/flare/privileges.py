"""Run an engine as the owner of its folder where root starts it.

An engine needs to read its folder and the data, and to listen or connect on ordinary ports: nothing that takes root. So
where root starts one in a folder that belongs to another user, everything is written and run as that user, with that
user's primary group and no other.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confide.errors import FederationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A user other than root, by number."""

    uid: int
    gid: int

    @property
    def name(self) -> str:
        """Name of the user, or its number if it has none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)


def owner_to_run_as(folder: Path) -> Owner | None:
    """Return the owner of a folder where root is about to start its engine; None where the engine runs as who calls."""
    found = folder.stat()
    if os.geteuid() != 0 or found.st_uid == 0:
        return None
    owner = Owner(uid=found.st_uid, gid=_primary_group(found.st_uid, found.st_gid))
    _require_owned(folder, owner)
    return owner


def require_readable(files: Iterable[Path], owner: Owner | None) -> None:
    """Refuse to start where the owner of a folder could not read the data that root can."""
    with acting_as(owner):
        for path in files:
            if owner is not None and path.exists() and not os.access(path, os.R_OK, effective_ids=True):
                raise FederationError(
                    f"the engine runs as {owner.name}, who may not read {path}; let that user read it, or start the "
                    "site in a folder of a user who can"
                )


def runs_as_root(folder: Path) -> bool:
    """Tell whether an engine would run with all rights: root starts it, in a folder of root's own."""
    return os.geteuid() == 0 and folder.stat().st_uid == 0


@contextmanager
def acting_as(owner: Owner | None) -> Iterator[None]:
    """Read and write files as a folder's owner, in all threads of this process; for short steps."""
    if owner is None:
        yield
        return
    group, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(owner.gid)
    os.seteuid(owner.uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _primary_group(uid: int, otherwise: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return otherwise


def _require_owned(folder: Path, owner: Owner) -> None:
    """Refuse a folder that holds files of other users, which its owner could not read or replace."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent) / name
            if path.lstat().st_uid != owner.uid:
                raise FederationError(
                    f"{folder} belongs to {owner.name}, so its engine runs as {owner.name}, but {path} belongs to "
                    f"another user; give it back with `chown -R {owner.name} {folder}`"
                )
