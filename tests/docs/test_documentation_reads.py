"""Pages are short lines, the README is short, and a page does not stand in the way of the next one."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.docs.pages import BLOCK, PAGES, ROOT

WIDTH = 120
README_WORDS = 650
NOT_WRAPPED = ("command-line.md", "metrics.md", "CONTRIBUTING.md")
CREATED = (
    re.compile(r"--ledger (\S+)"),
    re.compile(r"ledger=\"([^\"]+)\""),
    re.compile(r"Ledger\(\"([^\"]+)\""),
    re.compile(r"confide federation init (\S+)"),
    re.compile(r"--(?:out|report) ([\w-]+\.\w+)"),
    re.compile(r"Path\(\"([\w-]+\.html)\"\)"),
)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in NOT_WRAPPED], ids=lambda page: page.stem)
def test_lines_are_at_most_120_wide(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    long = [line for line in prose.splitlines() if len(line) > WIDTH and not line.startswith("|")]
    assert not long


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= README_WORDS


def test_pages_overwrite_nothing_of_each_other() -> None:
    pages = defaultdict(set)
    for page in PAGES:
        runs = (body for language, body in BLOCK.findall(page.read_text(encoding="utf-8")) if language != "text")
        for block in runs:
            for created in (name for pattern in CREATED for name in pattern.findall(block)):
                pages[created].add(page.name)
    assert {name: sorted(where) for name, where in pages.items() if len(where) > 1} == {}
