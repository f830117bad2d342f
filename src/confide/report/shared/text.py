"""The evaluation on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.evaluation.evaluation import Evaluation
from confide.report.shared.tables import TEXT_COLUMNS, Table, amount, number, tables

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_WIDTH = 110


def print_text(evaluation: Evaluation, console: Console) -> None:
    """Print the tables, then what to be careful with."""
    console.print(summary(evaluation), highlight=False, markup=False)
    for table in tables(evaluation):
        console.print()
        print_table(table, console)
    for warning in evaluation.warnings:
        console.print()
        console.print(f"Note: {warning}", highlight=False, markup=False)


def plain_text(evaluation: Evaluation) -> str:
    """Return what `print_text` prints, without colours."""
    import io

    from rich.console import Console

    buffer = io.StringIO()
    print_text(evaluation, Console(file=buffer, width=_PLAIN_WIDTH, color_system=None))
    return buffer.getvalue()


def summary(evaluation: Evaluation) -> str:
    """Say in one line what was evaluated."""
    weighted = " (weighted)" if evaluation.weighted else ""
    rows = "" if evaluation.rows is None else f"{amount(evaluation.rows)} rows: "
    return (
        f"{rows}{amount(evaluation.positives)} positive, {amount(evaluation.negatives)} negative{weighted}, "
        f"prevalence {number(evaluation.prevalence)}"
    )


def print_table(table: Table, console: Console) -> None:
    """Print one table with its note."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, name in enumerate(table.head):
        drawn.add_column(
            Text(name), justify="left" if position == 0 or name in TEXT_COLUMNS else "right", overflow="fold"
        )
    for row in table.body:
        drawn.add_row(*(Text(cell) for cell in row))  # never markup: names come from the file
    console.print(drawn)
    if table.note:
        console.print(table.note, highlight=False, markup=False, style="dim")
