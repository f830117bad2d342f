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
from tests.docs.pages import PAGES, ROOT, blocks, commands

pytestmark = pytest.mark.documents

ONE_COMMAND = re.compile(r"confide [^|<>&;$`*?~\\]*")  # what a shell would only pass on
SET_UP_ELSEWHERE = re.compile(r"^(make (demo|check|test|bench|docs)|pip install)\b")
RUN_ELSEWHERE = ("confide federation demo",)  # tests/cli/test_federation.py runs it, with fewer sites
ASKS = re.compile(r"confide (federation status|validate)\b(?!.*--dry-run)")  # with threads of the engine's own
CONNECT_SECONDS = 90


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from confide.examples import HEART_ATTACK

    (tmp_path / "demo").mkdir()
    shutil.copy(HEART_ATTACK, tmp_path / "demo" / HEART_ATTACK.name)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    stop_engines(tmp_path)


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
    while True:
        answer = confide_process(*words, folder=folder)
        waits = words[:2] == ["federation", "status"] and "All sites are connected" not in answer.err
        if not waits or time.monotonic() > end:
            return answer


@pytest.mark.documents
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "\n".join(blocks(page, "python"))
    exec(compile(program, str(page), "exec"), {"__name__": "__main__"})  # noqa: S102  # our own pages
    assert capsys.readouterr().err == ""


@pytest.mark.documents
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.stem)
def test_commands_run(page: Path, folder: Path) -> None:
    lines = [command.line for command in commands(page)]
    assert lines
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    modules = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))  # studies are not installed
    for line in lines:
        if SET_UP_ELSEWHERE.match(line):
            target = line.split()[-1]
            assert target in (".", "'.[federation]'", "demo", "check", "test", "bench", "docs")
            continue
        if line in RUN_ELSEWHERE:
            continue
        if ASKS.match(line):
            answer = in_a_process(line, folder)
            assert answer.code == 0, f"{line}\n{answer.err}"
            continue
        if ONE_COMMAND.fullmatch(line):
            answer = confide(*shlex.split(line)[1:], folder=folder)
            assert answer.code == 0, f"{line}\n{answer.err}"
            continue
        finished = subprocess.run(
            ["bash", "-ceu", line],
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": modules},
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, f"{line}\n{finished.stderr}"


def test_every_make_target_in_the_documentation_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for named in re.findall(r"`?make ([a-z]+)`", page.read_text(encoding="utf-8")):
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
