"""Write to a terminal: plain sentences, and tables of text, which pages show too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A titled table of text.

    The first column holds names and is aligned left. Other columns hold numbers and are aligned right, except those
    listed in `text_columns`.
    """

    title: str
    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    note: str = ""
    text_columns: tuple[str, ...] = ()

    @property
    def aligned_left(self) -> tuple[bool, ...]:
        """Alignment of each column: True for left, False for right."""
        return tuple(position == 0 or name in self.text_columns for position, name in enumerate(self.head))


def file_stem(title: str) -> str:
    """Return the name of a table's files: its title in lower case, with hyphens.

    >>> file_stem("AUCPR by estimator")
    'aucpr-by-estimator'
    """
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-") or "table"


def print_line(text: str, console: Console) -> None:
    """Print text as it is, without markup and colours."""
    console.print(text, highlight=False, markup=False)


def print_bullets(lines: Iterable[str], console: Console) -> None:
    """Print sentences as a list."""
    for line in lines:
        print_line(f"• {line}", console)


def print_table(table: Table, console: Console) -> None:
    """Print a table with its note. Cells are never read as markup, since names come from files."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, left in zip(table.head, table.aligned_left, strict=True):
        drawn.add_column(Text(name), justify="left" if left else "right", overflow="fold")
    for row in table.body:
        drawn.add_row(*(Text(cell) for cell in row))
    console.print(drawn)
    if table.note:
        console.print(table.note, highlight=False, markup=False, style="dim")
