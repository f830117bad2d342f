"""Start and stop of engines while other processes end, or take the server's port."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from confide.errors import FederationError, PortError
from confide.federation.flare import processes
from confide.federation.flare.processes import Running, find_running, start_server, start_site, working_in
from confide.federation.flare.signing import Federation, provision
from confide.federation.policy import default_policy
from confide.federation.site.config import SiteFolder
from tests.federation.joining import join
from tests.ports import free_port
from tests.waiting import PATIENCE, is_gone, wait_until

pytestmark = pytest.mark.processes

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open(sys.argv[1], "w").write(f"{child.pid}.")
time.sleep(600)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return provision(tmp_path_factory.mktemp("made") / "net", name="x", sites=("a",), port=free_port())


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    """A process that does nothing."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        yield psutil.Process(child.pid)
        child.kill()


def note(folder: Path, process: psutil.Process) -> Path:
    """Write a process down as the engine of a folder."""
    run = folder / "run"
    run.mkdir()
    plain = {"pid": process.pid, "began": process.create_time(), "kit": str(folder / "kit")}
    (run / "engine.json").write_text(json.dumps(plain))
    return folder


@pytest.mark.long
def test_another_program_at_the_port_is_not_taken_for_the_server(
    made: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the port after the start has looked, and before the engine listens."""
    look = processes._require_free
    looked: list[Federation] = []

    def look_later(federation: Federation) -> None:
        if looked:
            look(federation)
        looked.append(federation)

    monkeypatch.setattr(processes, "_require_free", look_later)
    said = f"port {made.port} is used by another program.*federation renew"
    with socket.create_server(("127.0.0.1", made.port)), pytest.raises(PortError, match=said):
        start_server(made, seconds=5.0)
    assert find_running(made) is None


def test_a_server_that_listens_is_found_at_its_port(made: Federation) -> None:
    running = start_server(made, seconds=PATIENCE)
    try:
        assert running.listens(made.port)
        assert not running.listens(made.port + 1)
    finally:
        running.stop()
    assert not running.listens(made.port)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", made.port))


def test_a_run_without_a_command_line_is_stopped_with_its_engine(tmp_path: Path) -> None:
    """A process that is ending has none; here it is one that does not name the kit, and that does not end."""
    file = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", PARENT, str(file)]) as parent:
        wait_until(lambda: file.exists() and file.read_text().endswith("."))
        child = int(file.read_text().rstrip("."))
        began, log = psutil.Process(parent.pid).create_time(), tmp_path / "run" / "engine.txt"
        assert working_in(tmp_path / "kit") == []
        Running(pid=parent.pid, began=began, kit=tmp_path / "kit", log=log).stop()
    wait_until(lambda: is_gone(child))


def test_an_engine_that_is_ending_is_waited_for(
    tmp_path: Path, sleeper: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = note(tmp_path, sleeper)
    looks: list[int] = []

    def ending(self: psutil.Process) -> list[str]:
        """Without a command line, and gone at the third look."""
        looks.append(self.pid)
        if len(looks) == 3:
            sleeper.kill()
        return []

    monkeypatch.setattr(psutil.Process, "cmdline", ending)
    assert find_running(folder) is not None
    with processes._starting(folder, folder / "kit"):
        assert find_running(folder) is None
    assert looks[:3] == [sleeper.pid] * 3


def test_an_engine_that_runs_is_not_waited_for(tmp_path: Path, sleeper: psutil.Process) -> None:
    folder = note(tmp_path, sleeper)
    with (
        pytest.raises(FederationError, match=rf"is running already \(process {sleeper.pid}\); stop it first"),
        processes._starting(folder, folder / "kit"),
    ):
        pass
    assert sleeper.is_running()


def test_an_engine_that_could_not_be_written_down_is_ended(
    made: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the start of the process and its note."""
    place = SiteFolder(tmp_path / "a")
    join(made, "a", place)
    place.policy.write_text(default_policy())

    def interrupt(path: Path, plain: object) -> None:
        wait_until(lambda: working_in(place.kit) != [])
        raise KeyboardInterrupt

    monkeypatch.setattr(processes, "write_json", interrupt)
    with pytest.raises(KeyboardInterrupt):
        start_site(place)
    assert working_in(place.kit) == []


def test_what_an_earlier_engine_left_running_is_gone_before_the_next_one_starts(tmp_path: Path) -> None:
    """An engine whose note was lost, and that ignores requests to end."""
    kit = tmp_path / "kit"
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    words = [sys.executable, "-c", code, "-m", "confide.federation.flare.site_engine", str(kit)]
    left = subprocess.Popen(words, start_new_session=True)
    try:
        wait_until(lambda: [one.pid for one in working_in(kit)] == [left.pid])
        with processes._starting(tmp_path, kit):
            assert not psutil.pid_exists(left.pid)
    finally:
        left.kill()
        left.wait()
