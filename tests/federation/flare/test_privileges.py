"""Where root starts an engine in somebody's folder, it is that person's process, with no way back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from confide.errors import FederationError
from confide.federation.flare.processes import (
    Owner,
    acting_as,
    owner_to_run_as,
    require_readable,
    runs_as_root,
    start_site,
)
from confide.federation.flare.signing import provision
from confide.federation.policy import default_policy
from confide.federation.site.config import SiteFolder
from tests.federation.joining import join

NOBODY = Owner(uid=65534, gid=65534)
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others can reach, unlike pytest's own."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def give(folder: Path, owner: Owner) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.uid, owner.gid)


def runnable(owner: Owner) -> bool:
    """Tell whether a user may run this interpreter."""
    with acting_as(owner):
        return os.access(sys.executable, os.X_OK, effective_ids=True)


def test_an_ordinary_user_stays_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert owner_to_run_as(tmp_path) is None
    assert not runs_as_root(tmp_path)
    with acting_as(None):
        pass


@root_only
def test_root_in_a_folder_of_its_own_is_said(tmp_path: Path) -> None:
    assert owner_to_run_as(tmp_path) is None
    assert runs_as_root(tmp_path)


@pytest.mark.processes
@root_only
def test_files_and_processes_are_the_owners(folder: Path) -> None:
    give(folder, NOBODY)
    assert owner_to_run_as(folder) == NOBODY
    secret = folder.parent / f"{folder.name}-secret"
    secret.touch(0o600)
    try:
        with acting_as(NOBODY):
            (folder / "made").touch()
            with pytest.raises(PermissionError):
                secret.read_bytes()
            command = f"grep -E '^(Uid|Gid|Groups)' /proc/self/status; cat {secret} || echo refused"
            said = subprocess.run(
                ["sh", "-c", command], user=NOBODY.uid, group=NOBODY.gid, capture_output=True, text=True, check=True
            )
    finally:
        secret.unlink()
    assert (folder / "made").stat().st_uid == NOBODY.uid
    uids, gids, groups, last = said.stdout.splitlines()
    assert uids.split()[1:] == gids.split()[1:] == ["65534"] * 4
    assert groups.split()[1:] == []
    assert last == "refused"
    assert (os.geteuid(), os.getegid()) == (0, os.getgid())


@root_only
def test_files_of_others_in_the_folder_are_refused_before_anything_starts(folder: Path) -> None:
    give(folder, NOBODY)
    (folder / "site.db").touch()
    with pytest.raises(FederationError, match=r"site.db belongs to another user; give it back with `chown -R nobody"):
        owner_to_run_as(folder)


@root_only
def test_data_that_the_owner_cannot_read_are_said_before_anything_starts(folder: Path) -> None:
    rows, absent = folder / "rows.csv", folder / "absent.csv"
    rows.touch(0o600)
    with pytest.raises(FederationError, match=r"runs as nobody, who may not read .*rows.csv"):
        require_readable([absent, rows], NOBODY)
    rows.chmod(0o644)
    require_readable([absent, rows], NOBODY)
    require_readable([absent, rows], None)


@pytest.mark.processes
@root_only
def test_a_site_that_root_starts_runs_as_its_owner(folder: Path) -> None:
    """Where that user cannot run this interpreter, the site is not started, least of all as root."""
    made = provision(folder / "federation", name="Owned", sites=("a",))
    place = SiteFolder(folder / "site")
    join(made, "a", place)
    place.policy.write_text(default_policy())
    give(place.path, NOBODY)
    if not runnable(NOBODY):
        with pytest.raises(FederationError, match="nobody cannot run"):
            start_site(place)
    else:
        running = start_site(place)
        uids = set(psutil.Process(running.pid).uids())
        running.stop()
        assert uids == {NOBODY.uid}
    mine = [path for path in place.path.rglob("*") if path.stat().st_uid != NOBODY.uid]
    assert mine == []
    assert stat.S_IMODE((place.path / "run" / "engine.txt").stat().st_mode) == 0o600
