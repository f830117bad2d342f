"""Tables as Markdown: pipe tables, which GitHub, Pandoc and Quarto read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from confide.report.shared.tables import Table

_MARKUP = re.compile(r"([\\`*_{}\[\]<>&|$~^#!])")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def markdown_table(table: Table) -> str:
    """Return a table with its title above and its note below."""
    rule = ("---" if left else "---:" for left in table.aligned_left)
    note = ("", markdown_text(table.note)) if table.note else ()
    lines = (
        f"**{markdown_text(table.title)}**",
        "",
        _line(map(markdown_text, table.head)),
        _line(rule),
        *(_line(map(markdown_text, row)) for row in table.body),
        *note,
    )
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    r"""Escape text, so that no sign in it is markup. Line breaks become spaces.

    >>> markdown_text("a|b_c")
    'a\\|b\\_c'
    """
    return _MARKUP.sub(r"\\\1", _UNPRINTABLE.sub(" ", text))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
