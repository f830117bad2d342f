"""What a user sees while a command works: bars on a terminal, a line elsewhere."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr

import pytest

from confide.cli import output
from tests.cli.commands import confide


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


def words(screen: io.StringIO) -> str:
    """Return what was written, without the codes that move the cursor and choose colours."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())


def test_a_terminal_shows_a_bar_with_the_step_and_their_number(terminal: Terminal) -> None:
    with redirect_stderr(terminal), output.steps(3, "auditing") as step:
        for name in ("first", "second", "third"):
            step(name)
    assert "2/3" in words(terminal)
    assert "third" in words(terminal)
    assert "━" in words(terminal)


def test_a_terminal_shows_what_takes_a_while_and_for_how_long(terminal: Terminal) -> None:
    with redirect_stderr(terminal), output.busy("reading"):
        pass
    assert re.search(r"reading\s+0:00:00", words(terminal))


def test_elsewhere_there_is_one_line_and_only_for_what_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    with output.busy("reading"):
        pass
    assert capsys.readouterr().err == ""
    with output.busy("counting", takes_long=True):
        pass
    assert capsys.readouterr().err == "counting\n"
    with output.steps(2, "auditing") as step:
        step("first")
        step("second")
    assert capsys.readouterr().err == "auditing\n"


def test_labelings_announce_the_count_of_submissions_alone() -> None:
    asked = ("attack", "labelings", "--rows", 11, "--auc", "17/24")
    assert confide(*asked).err == ""
    assert confide(*asked, "--queries").err == "counting labelings, and the submissions that tell them apart\n"
