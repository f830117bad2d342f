"""Completion of commands with the Tab key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from confide.cli.completion import SHELLS
from confide.tasks.requests import options
from tests.cli.commands import Answer, confide

FILES = {
    "bash": (".bash_completions/confide.sh", ".bashrc"),
    "zsh": (".zfunc/_confide", ".zshrc"),
    "fish": (".config/fish/completions/confide.fish", None),
}


def asked_by(shell: str, typed: str) -> Answer:
    """Run the command as a shell does when its user presses Tab."""
    words = typed.split(" ")
    variables = {
        "_CONFIDE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    with patch.dict(os.environ, variables):
        return confide()


@pytest.mark.parametrize("shell", SHELLS)
def test_install_writes_the_script_where_the_shell_finds_it(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script, settings = FILES[shell]
    if settings is not None:
        (tmp_path / settings).write_text("alias ll='ls -l'\n")
    for _ in range(2):
        answer = confide("completion", "install", shell)
        assert (answer.code, answer.out) == (0, "")
        assert str(tmp_path / script) in answer.err
    assert (tmp_path / script).read_text().strip() == confide("completion", "show", shell).out.strip()
    if settings is not None:
        text = (tmp_path / settings).read_text()
        assert text.startswith("alias ll='ls -l'\n")
        assert text.count("confide.sh" if shell == "bash" else "compinit; compinit") == 1


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "expected", "absent"),
    [
        ("confide ev", "evaluate", "release"),
        ("confide ledger ", "verify", "evaluate"),
        ("confide evaluate rows.csv --th", "--threshold", "--label"),
        ("confide attack labelings --q", "--queries", "--rows"),
        ("confide attack rows.csv --tr", "--trials", "--label"),
        ("confide release rows.csv --metric auc,bri", "auc,brier", "prevalence"),
        ("confide validate --mode se", "secure-sum", "private"),
    ],
)
def test_what_a_user_began_is_completed(shell: str, typed: str, expected: str, absent: str) -> None:
    answer = asked_by(shell, typed)
    assert (answer.code, answer.err) == (0, "")
    assert expected in answer.out
    assert absent not in answer.out


@pytest.mark.parametrize("typed", ["confide attack labeling ", "confide nothing --", "confide evaluate --label "])
def test_what_cannot_be_completed_gives_no_message(typed: str) -> None:
    answer = asked_by("bash", typed)
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path: Path) -> None:
    program = tmp_path / "confide"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m confide "$@"\n')
    program.chmod(0o755)
    script = confide("completion", "show", "bash").out
    typed = 'COMP_WORDS=(confide led); COMP_CWORD=1; _confide_completion confide; echo "${COMPREPLY[*]}"'
    finished = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{typed}"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == "ledger\n"


def test_another_shell_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = confide("completion", "install", "tcsh")
    assert (answer.code, answer.err) == (2, "error: SHELL must be one of bash, zsh, fish; got 'tcsh'\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("login", "code", "words"),
    [("/bin/zsh", 0, "#compdef confide"), ("/bin/tcsh", 2, "got 'tcsh'"), (None, 2, "name it, for example")],
)
def test_without_a_name_the_shell_that_runs_is_taken(
    login: str | None, code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shellingham import ShellDetectionFailure

    def nothing() -> None:
        raise ShellDetectionFailure

    monkeypatch.setattr("shellingham.detect_shell", nothing)
    monkeypatch.delenv("SHELL", raising=False)
    if login is not None:
        monkeypatch.setenv("SHELL", login)
    answer = confide("completion", "show")
    assert answer.code == code
    assert words in answer.out + answer.err
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("fish", "/usr/bin/fish"))
    assert confide("completion", "show").out.startswith("complete --command confide")


def test_names_that_are_offered_are_those_that_exist() -> None:
    from confide.federation.modes.registry import MODES
    from confide.learning.models import MODELS
    from confide.learning.selection import METHODS
    from confide.ledger.account_terms import Composition
    from confide.privacy.guarantee import UNITS
    from confide.privacy.mechanisms.feature_scores import SCORES
    from confide.privacy.neighbours import Neighbours
    from confide.releases.shapes import SHAPES

    assert set(options.NEIGHBOURS) == set(Neighbours)
    assert set(options.UNITS) == set(UNITS)
    assert set(options.COMPOSITIONS) == set(Composition)
    assert set(options.MODES) == set(MODES)
    assert set(options.SHAPES) == set(SHAPES)
    assert set(options.METHODS) == set(METHODS)
    assert set(options.FEATURE_SCORES) == set(SCORES)
    assert set(options.MODELS) == set(MODELS)
