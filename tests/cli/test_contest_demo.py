"""The demonstration of a contest: a real server, real requests, and nothing left behind."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from confide.privacy.adversary import success_bound
from tests.cli.commands import PLAIN, STRICT, confide, confide_process
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.documents]


@pytest.mark.long
def test_the_demonstration_ends_with_board_attacks_and_final(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    answer = confide_process("contest", "demo", folder, "--rows", 200, "--epsilon", 1, "--seed", 5, "--json")
    assert answer.code == 0, answer.err
    plain = json.loads(answer.out)
    assert plain["schema"] == "confide.contest-demo/1"
    assert plain["bound"] == success_bound(1.0)
    assert [one["name"] for one in plain["attacks"]] == ["recover_labels", "climb", "repeat one question"]
    assert not any(one["beyond_bound"] for one in plain["attacks"])
    assert all(one["exact_share"] == 1.0 for one in plain["attacks"])
    assert len(plain["board"]["entries"]) == 11
    climbed = next(one for one in plain["board"]["entries"] if one["name"] == "Mallory")
    assert (climbed["rank"], climbed["submissions"]) == (1, plain["submissions"] - 60)
    assert len(plain["final"]["entries"]) == len(plain["final"]["shake_up"]) == 11
    assert plain["submissions"] == plain["board"]["scored"] == 60 + sum(one["submissions"] for one in plain["attacks"])
    assert f"confide serve --home {folder / 'oracle'}" in answer.err
    wait_until(lambda: not _runs(folder))
    page = confide("ledger", "show", "--ledger", folder / "ledger.sqlite", "--json")
    (account,) = json.loads(page.out)["accounts"]
    assert float(account["spent"]["epsilon"]) == 1.0  # board and final read different rows


@pytest.mark.long
def test_a_demonstration_that_is_stopped_leaves_no_server(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    process = subprocess.Popen(
        [sys.executable, *STRICT, "-m", "confide", "contest", "demo", str(folder), "--rows", "300"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **PLAIN},
    )
    try:
        log = folder / "server.log"
        wait_until(lambda: _runs(folder) and log.read_text(), 300)  # until the server itself says something
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"stopped; the files made so far are in" in err
    wait_until(lambda: not _runs(folder))


@pytest.mark.parametrize("typed", ["--rows 3", "--epsilon much", "--rows 100000", "."])
def test_wrong_parameters_start_nothing(typed: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("mine")
    answer = confide("contest", "demo", *typed.split(), folder=tmp_path)
    assert answer.code == 2, answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_without_the_packages_of_the_server_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    answer = confide("contest", "demo", "trial", folder=tmp_path)
    assert answer.code == 2, answer.err
    assert "pip install 'confide[serve]'" in answer.err
    assert not list(tmp_path.iterdir())


def _runs(folder: Path) -> bool:
    """Tell whether a server runs on a folder's home."""
    wanted = str(folder / "oracle").encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in words and b"serve" in words:
                return True
    return False
