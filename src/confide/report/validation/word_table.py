"""Small tables of words, on a terminal under a title that may be wider than the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from confide.report.shared.tables import Table
from confide.report.shared.text import print_table

if TYPE_CHECKING:
    from rich.console import Console


def word_table(title: str, head: Sequence[str], body: Iterable[Sequence[str]], *, note: str = "") -> Table:
    """Return a table whose columns all hold words."""
    rows = tuple(tuple(row) for row in body)
    return Table(title=title, head=tuple(head), body=rows, note=note, text_columns=tuple(head))


def print_words(title: str, head: Sequence[str], body: Iterable[Sequence[str]], console: Console) -> None:
    """Print a title and a table whose columns all hold words."""
    print_word_table(word_table(title, head, body), console)


def print_word_table(table: Table, console: Console) -> None:
    """Print a title and its table."""
    console.print(table.title, style="bold", highlight=False, markup=False)
    print_table(replace(table, title=""), console)
