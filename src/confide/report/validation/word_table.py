"""A small table of words on a terminal, under a title that may be wider than the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from confide.report.shared.tables import Table
from confide.report.shared.text import print_table

if TYPE_CHECKING:
    from rich.console import Console


def print_words(title: str, head: Sequence[str], body: Sequence[Sequence[str]], console: Console) -> None:
    """Print a title and a table whose columns all hold words."""
    console.print(title, style="bold", highlight=False, markup=False)
    rows = tuple(tuple(row) for row in body)
    print_table(Table(title="", head=tuple(head), body=rows, text_columns=tuple(head)), console)
