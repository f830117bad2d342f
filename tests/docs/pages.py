"""Read the pages of the documentation: code blocks, commands and the output printed below them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A command of a page, with the lines of output that the page prints below it."""

    line: str
    output: tuple[str, ...]


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def commands(page: Path) -> list[Command]:
    """Return the commands of the `console` blocks. A backslash continues a command on the next line."""
    return [command for block in blocks(page, "console") for command in _of_block(block)]


def _of_block(block: str) -> list[Command]:
    parts = re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError("a console block begins with a command")
    lines = (part.splitlines() for part in parts[1:])
    return [Command(re.sub(r"\s+", " ", first), tuple(line.rstrip() for line in output)) for first, *output in lines]
