"""Every code block of the documentation runs, and generated pages are fresh."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.commands import Answer, confide, confide_process
from tests.databases import on_server
from tests.docs.page_servers import BACKGROUND, EXPORT, WITH_VARIABLE, PageServers
from tests.docs.pages import PAGES, ROOT, blocks, commands
from tests.docs.shown_output import shows
from tests.servers import running_server
from tests.studies.commands import studies

pytestmark = pytest.mark.documents

WORDS = r"[^|<>&;$`*?~\\]*"  # what a shell would only pass on
ONE_COMMAND = re.compile(rf"confide {WORDS}")
ONE_STUDY = re.compile(rf"python -m studies(?: {WORDS})?")
ONE_COMMAND_INTO_A_FILE = re.compile(rf"(?P<command>confide {WORDS}) > (?P<file>[\w.-]+)")
SET_UP_ELSEWHERE = re.compile(r"^(make (demo|check|test|bench|docs)|pip install)\b")
RUN_ELSEWHERE = (
    "confide federation demo",  # tests/cli/test_federation.py runs it, with fewer sites
    "confide contest demo",  # tests/cli/test_contest_demo.py runs it, with fewer rows
    "confide completion install",  # tests/cli/test_completion.py runs it, with another home
)
ASKS = re.compile(r"confide (federation status|validate)\b(?!.*--dry-run)")  # with threads of the engine's own
CONNECT_SECONDS = 300
ON_A_DATABASE = ("tables-in-databases", "sites-on-databases")
"""Pages whose commands find a PostgreSQL server by the environment."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from confide.examples import HEART_ATTACK

    (tmp_path / "demo").mkdir()
    shutil.copy(HEART_ATTACK, tmp_path / "demo" / HEART_ATTACK.name)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFIDE_STUDIES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # not the ledger of whoever runs the tests
    yield tmp_path
    stop_engines(tmp_path)


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run a PostgreSQL server that the environment names."""
    with running_server() as server:
        monkeypatch.setenv("PGHOST", on_server(server.get_uri()).place)
        monkeypatch.setenv("PGUSER", "postgres")
        yield


@pytest.fixture
def servers() -> Iterator[PageServers]:
    running = PageServers()
    yield running
    running.stop()


def stop_engines(folder: Path) -> None:
    """Leave no server or site behind where a command of a page failed."""
    from confide.federation.flare.processes import find_running

    for run in folder.glob("*/run"):
        running = find_running(run.parent)
        if running is not None:
            running.stop()


def in_a_process(line: str, folder: Path) -> Answer:
    """Run a command in a process of its own; one that shows who is connected is repeated until all are."""
    words, end = shlex.split(line)[1:], time.monotonic() + CONNECT_SECONDS
    asks_who_is_there = words[:2] == ["federation", "status"]
    if asks_who_is_there:
        await_connections(folder / words[2], end)
    while True:
        answer = confide_process(*words, folder=folder)
        waits = asks_who_is_there and "All sites are connected" not in answer.err
        if not waits or time.monotonic() > end:
            return answer


def await_connections(coordinator: Path, end: float) -> None:
    """Wait until every site has a connection to the server: looking at sockets is cheaper than starting commands."""
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.processes import find_running

    federation = Federation.load(coordinator)
    for site in federation.sites:
        while time.monotonic() < end:
            running = find_running(coordinator.parent / site)
            if running is None or running.connected(federation.port):
                break
            time.sleep(0.2)


@pytest.mark.few(3)
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import matplotlib.pyplot as plt

    program = "\n".join(blocks(page, "python"))
    try:
        exec(compile(program, str(page), "exec"), {"__name__": "__main__"})  # noqa: S102  # our own pages
    finally:
        plt.close("all")  # other tests count the figures that pyplot holds
    assert capsys.readouterr().err == ""


def lines_to_run(page: Path) -> list[str]:
    """Return the command lines of a page but those that other tests and targets run."""
    lines = [command.line for command in commands(page)]
    return [line for line in lines if not SET_UP_ELSEWHERE.match(line) and line not in RUN_ELSEWHERE]


def begins_another(page: Path) -> bool:
    """Tell whether a later page begins with all that this page runs; all pages begin in the same folder."""
    lines = lines_to_run(page)
    return any(lines_to_run(other)[: len(lines)] == lines for other in PAGES[PAGES.index(page) + 1 :])


TO_RUN = [page for page in PAGES if lines_to_run(page) and not begins_another(page)]


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize("page", TO_RUN, ids=lambda page: page.stem)
def test_commands_run_and_print_what_the_page_shows(
    page: Path, folder: Path, servers: PageServers, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.stem in ON_A_DATABASE:
        request.getfixturevalue("database")
    wanted = set(lines_to_run(page))
    for command in commands(page):
        if command.line in wanted:
            answer = run_on_page(command.line, folder, servers, monkeypatch)
            assert answer.code == 0, f"{command.line}\n{answer.err}"
            assert shows(answer.out, command.output), f"{page.name} shows other output than\n{answer.out}"


def run_on_page(line: str, folder: Path, servers: PageServers, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Run a command line; a server stays in the background, and an exported variable stays for later lines."""
    if background := BACKGROUND.fullmatch(line):
        servers.start(background["words"], folder)
        return Answer(0, "", "")
    if export := EXPORT.fullmatch(line):
        answer = run_line(export["command"], folder)
        monkeypatch.setenv(export["name"], answer.out.strip())
        return answer
    if given := WITH_VARIABLE.fullmatch(line):
        with monkeypatch.context() as briefly:
            briefly.setenv(given["name"], os.environ[given["from"]])
            return run_line(given["command"], folder)
    return run_line(line, folder)


def run_line(line: str, folder: Path) -> Answer:
    """Run a command line: in this process where it is one command of the project's, else by a shell."""
    if ASKS.match(line):
        return in_a_process(line, folder)
    if ONE_COMMAND.fullmatch(line):
        return confide(*shlex.split(line)[1:], folder=folder)
    if ONE_STUDY.fullmatch(line):
        return studies(*shlex.split(line)[3:], folder=folder)
    if written := ONE_COMMAND_INTO_A_FILE.fullmatch(line):
        answer = run_line(written["command"], folder)
        (folder / written["file"]).write_text(answer.out, encoding="utf-8")
        return answer
    return in_a_shell(line, folder)


def in_a_shell(line: str, folder: Path) -> Answer:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    finished = subprocess.run(
        ["bash", "-ceu", line],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return Answer(finished.returncode, finished.stdout, finished.stderr)


def test_every_page_with_commands_is_run() -> None:
    """A page that is left out begins another one, which is run."""
    every = [page for page in PAGES if blocks(page, "console")]
    assert all(commands(page) for page in every)
    run = [lines_to_run(page) for page in TO_RUN]
    for page in every:
        lines = lines_to_run(page)
        assert not lines or any(other[: len(lines)] == lines for other in run), page.name


def test_what_is_set_up_elsewhere_is_known() -> None:
    known = (".", "'.[private]'", "'.[federation]'", "'.[serve]'", "demo", "check", "test", "bench", "docs")
    lines = [command.line for page in PAGES for command in commands(page) if SET_UP_ELSEWHERE.match(command.line)]
    assert lines
    assert {line.split()[-1] for line in lines} <= set(known)


def test_every_make_target_in_the_documentation_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for named in re.findall(r"`?make ([a-z-]+)`", page.read_text(encoding="utf-8")):
            assert named in targets, f"{page.name}: make {named}"


def test_generated_pages_are_fresh() -> None:
    for name, page in _generator().PAGES.items():
        written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
        assert written == page(), f"{name} is stale: run python docs/generate.py"


def test_every_verb_is_in_the_reference() -> None:
    from confide.cli.lazy_verbs import LazyCommand, LazyGroup
    from confide.cli.main import Verbs

    assert sorted(Verbs.verbs) == sorted(_generator().VERBS)
    loaded = {name: LazyCommand(name, verb).loaded for name, verb in Verbs.verbs.items()}
    groups = {name: group for name, group in loaded.items() if isinstance(group, LazyGroup)}
    assert set(groups) == set(_generator().GROUPS)
    for name, group in groups.items():
        assert sorted(group.commands) == sorted(_generator().GROUPS[name])


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
