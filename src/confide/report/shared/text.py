"""Printing on a terminal: plain sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from confide.report.shared.tables import Table

if TYPE_CHECKING:
    from rich.console import Console


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
