"""An evaluation on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.evaluation.evaluation import Evaluation
from confide.report.evaluation.tables import evaluation_tables
from confide.report.shared.numbers import amount, number
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_WIDTH = 110


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print the tables, then the warnings."""
    print_line(summary(evaluation), console)
    for table in evaluation_tables(evaluation):
        console.print()
        print_table(table, console)
    for warning in evaluation.warnings:
        console.print()
        print_line(f"Note: {warning}", console)


def plain_text(evaluation: Evaluation) -> str:
    """Return what `print_evaluation` prints, without colours."""
    import io

    from rich.console import Console

    buffer = io.StringIO()
    print_evaluation(evaluation, Console(file=buffer, width=_PLAIN_WIDTH, color_system=None))
    return buffer.getvalue()


def summary(evaluation: Evaluation) -> str:
    """Summarise the evaluated rows in one line."""
    weighted = " (weighted)" if evaluation.weighted else ""
    rows = "" if evaluation.rows is None else f"{amount(evaluation.rows)} rows: "
    return (
        f"{rows}{amount(evaluation.positives)} positive, {amount(evaluation.negatives)} negative{weighted}, "
        f"prevalence {number(evaluation.prevalence)}"
    )
