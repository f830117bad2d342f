"""The Makefile finds a Python that is new enough, and says what is missing otherwise."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = shutil.which("make")

pytestmark = pytest.mark.skipif(MAKE is None, reason="needs make")

FAKE = """#!/bin/sh
case "$*" in
  *version_info*) exit {old} ;;
  *ensurepip*) exit {bare} ;;
  "-m venv "*) /bin/mkdir -p "$3/bin" && echo {name} > "$3/bin/python" ;;
esac
"""


def install(folder: Path, name: str, *, old: bool = False, bare: bool = False) -> Path:
    """Put a program into a folder that answers as a Python would."""
    program = folder / name
    program.write_text(FAKE.format(name=name, old=int(old), bare=int(bare)))
    program.chmod(0o755)
    return program


def make_environment(folder: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """Let make set up a virtual environment, with the programs of a folder alone."""
    target = f"{folder}/venv/bin/python"
    return subprocess.run(
        [str(MAKE), "--no-print-directory", f"VENV={folder}/venv", *settings, target],
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.processes
@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (("python3.11",), "python3.11"),
        (("python3.11", "python3.12", "python3.13", "python3"), "python3.13"),
        (("python3.12", "python3"), "python3.12"),
        (("python3",), "python3"),
    ],
)
def test_the_newest_known_python_is_taken(there: tuple[str, ...], taken: str, tmp_path: Path) -> None:
    for name in there:
        install(tmp_path, name)
    made = make_environment(tmp_path)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "venv/bin/python").read_text() == f"{taken}\n"


@pytest.mark.processes
def test_a_python_that_is_named_is_taken(tmp_path: Path) -> None:
    install(tmp_path, "python3.13")
    (tmp_path / "with space").mkdir()
    other = install(tmp_path / "with space", "python-of-ours")
    made = make_environment(tmp_path, f"PYTHON={other}")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "venv/bin/python").read_text() == "python-of-ours\n"


@pytest.mark.processes
@pytest.mark.parametrize("old", [(), ("python3",)])
def test_without_one_make_says_what_to_do(old: tuple[str, ...], tmp_path: Path) -> None:
    for name in old:
        install(tmp_path, name, old=True)
    made = make_environment(tmp_path)
    assert made.returncode != 0
    assert (
        "needs Python 3.11 or later, and python3 is older or missing. Install one, or name it: make PYTHON="
        in made.stderr
    )
    assert not (tmp_path / "venv").exists()


@pytest.mark.processes
def test_an_old_python_that_is_named_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "python3.13")
    install(tmp_path, "python3.10", old=True)
    made = make_environment(tmp_path, "PYTHON=python3.10")
    assert made.returncode != 0
    assert "and python3.10 is older or missing" in made.stderr


@pytest.mark.processes
def test_a_python_without_venv_is_named(tmp_path: Path) -> None:
    install(tmp_path, "python3.12", bare=True)
    made = make_environment(tmp_path)
    assert made.returncode != 0
    assert "apt install python3.12-venv" in made.stderr


def test_the_versions_are_those_that_the_package_takes() -> None:
    (least,) = re.findall(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert f"sys.version_info < (3, {least})" in (ROOT / "Makefile").read_text()


def test_continuous_integration_runs_every_test() -> None:
    """Tests that `make test` leaves out have one marker, and `make test-long` runs what has it."""
    makefile = (ROOT / "Makefile").read_text()
    rules = dict(re.findall(r"^(test|test-long|test-all):(.*(?:\n\t.*)*)", makefile, re.MULTILINE))
    assert rules["test"].endswith("$(PYTEST) -m 'not long'")
    assert rules["test-long"].endswith("$(PYTEST) -m long")
    assert rules["test-all"].split() == ["check", "test", "test-long"]
    assert "\nmake test-all\n" in (ROOT / ".ci/run").read_text()
