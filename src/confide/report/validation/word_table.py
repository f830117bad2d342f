"""A small table of words on a terminal, no wider than the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def print_words(title: str, head: Sequence[str], body: Sequence[Sequence[str]], console: Console) -> None:
    """Print a title and a table; cells are never read as markup, as names come from files and from sites."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console.print(Text(title, style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in head:
        table.add_column(Text(name), overflow="fold")
    for row in body:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
