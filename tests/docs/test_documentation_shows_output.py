"""Output that a page prints below a command is what the command prints."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path

import pytest

from tests.cli.commands import confide
from tests.docs.pages import PAGES, ROOT, Command, commands
from tests.docs.test_documentation_runs import folder as folder

LEFT_OUT = "..."
WITH_OUTPUT = [(page, command) for page in PAGES for command in commands(page) if command.output]


def passages(output: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Split the lines where the page leaves some out, and drop empty ones."""
    full = (line for line in output if line)
    return [tuple(lines) for left_out, lines in groupby(full, LEFT_OUT.__eq__) if not left_out]


def shows(printed: str, output: tuple[str, ...]) -> bool:
    """Tell whether the passages of `output` occur in `printed`, each in one piece and in this order."""
    lines, start = [line.rstrip() for line in printed.splitlines() if line.strip()], 0
    for passage in passages(output):
        places = (at for at in range(start, len(lines)) if tuple(lines[at : at + len(passage)]) == passage)
        at = next(places, None)
        if at is None:
            return False
        start = at + len(passage)
    return True


@pytest.mark.documents
@pytest.mark.parametrize(("page", "command"), WITH_OUTPUT, ids=lambda value: getattr(value, "stem", ""))
def test_shown_output_is_fresh(page: Path, command: Command, folder: Path) -> None:
    answer = confide(*shlex.split(command.line)[1:], folder=folder)
    assert answer.code == 0, answer.err
    assert shows(answer.out, command.output), f"{page.name} shows other output than\n{answer.out}"


def test_the_readme_shows_output() -> None:
    assert any(page == ROOT / "README.md" for page, _ in WITH_OUTPUT)


def test_stale_output_is_noticed() -> None:
    assert shows("a\n\nb \nc\n", ("a", LEFT_OUT, "c"))
    assert not shows("a\nb\n", ("b", LEFT_OUT, "a"))
    assert not shows("a\nb\nc\n", ("a", "c"))
