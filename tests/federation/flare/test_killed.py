"""Nothing stays behind where a command in the foreground is killed with no chance to stop what it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from confide.federation.flare.entry import PARENT, depending
from confide.federation.flare.processes import find_running, working_in
from confide.federation.flare.signing import provision
from confide.federation.policy import default_policy
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel
from confide.federation.site.records import SiteRecords
from tests.federation.joining import join
from tests.federation.network import MODES
from tests.ports import free_port
from tests.waiting import is_gone, wait_until

_CHAIN = """
import subprocess, sys, time, os
from confide.federation.flare.entry import depending, watch_parent
watch_parent()
depth = int(sys.argv[1])
if depth:
    child = subprocess.Popen(
        [sys.executable, sys.argv[0], str(depth - 1), sys.argv[2]],
        env=depending(os.environ, attached=True), start_new_session=True,
    )
open(sys.argv[2], "a").write(f"{os.getpid()}\\n")
time.sleep(600)
"""


@pytest.mark.processes
def test_children_end_with_their_parents_over_generations(tmp_path: Path) -> None:
    script, note = tmp_path / "chain.py", tmp_path / "pids"
    script.write_text(_CHAIN)
    first = subprocess.Popen([sys.executable, str(script), "2", str(note)], env=depending(os.environ, attached=False))
    wait_until(lambda: note.exists() and len(note.read_text().split()) == 3)
    pids = [int(pid) for pid in note.read_text().split()]
    assert not any(is_gone(pid) for pid in pids)
    first.send_signal(signal.SIGKILL)
    first.wait()
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def test_a_process_in_the_background_depends_on_nobody() -> None:
    assert PARENT not in depending({PARENT: "1", "HOME": "/"}, attached=False)
    assert depending({}, attached=True) == {PARENT: str(os.getpid())}


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize("verb", ["federation", "site"])
def test_a_killed_command_leaves_no_engine(verb: str, tmp_path: Path) -> None:
    federation = provision(tmp_path / "net", name="x", sites=("a",), port=free_port())
    place = SiteFolder(tmp_path / "a")
    join(federation, "a", place)
    (place.path / "rows.csv").write_text("y,s\n" + "1,0.7\n0,0.2\n" * 10)
    SiteConfig(name="a", models={"m": SiteModel(data="rows.csv", label="y", score="s")}).write(place.path)
    place.policy.write_text(default_policy(studies=("x",), modes=MODES))
    SiteRecords(place).begin()
    folder, kit = (federation.folder, federation.server_kit) if verb == "federation" else (place.path, place.kit)
    command = subprocess.Popen(
        [sys.executable, "-m", "confide", verb, "start", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: find_running(folder) is not None and working_in(kit))
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    # A process that is ending has no command line any more before it is gone.
    wait_until(lambda: not working_in(kit) and find_running(folder) is None)
