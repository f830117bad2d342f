"""An evaluation on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.evaluation.evaluation import Evaluation
from confide.report.evaluation.tables import (
    estimators_table,
    evaluation_tables,
    group_differences_table,
)
from confide.report.shared.numbers import amount, number
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_WIDTH = 110


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print the tables, then the warnings."""
    print_line(summary(evaluation), console)
    for table in _terminal_tables(evaluation):
        console.print()
        print_table(table, console)
    for warning in evaluation.warnings:
        console.print()
        print_line(f"Note: {warning}", console)


def _terminal_tables(evaluation: Evaluation) -> list[Table]:
    """Return the tables that a terminal shows.

    AUCPR by other estimators, and differences between groups in other numbers than AUC, are on the page and in files.
    """
    tables = [table for table in evaluation_tables(evaluation) if table != estimators_table(evaluation)]
    if any(group.differences for group in evaluation.groups):
        tables[-1] = group_differences_table(evaluation, metrics=("auc",))
    return tables


def plain_text(evaluation: Evaluation) -> str:
    """Return what `print_evaluation` prints, without colours."""
    import io

    from rich.console import Console

    buffer = io.StringIO()
    print_evaluation(evaluation, Console(file=buffer, width=_PLAIN_WIDTH, color_system=None))
    return buffer.getvalue()


def summary(evaluation: Evaluation) -> str:
    """Summarise the evaluated rows in one line."""
    design, missing = evaluation.design, evaluation.missing
    weighted = " (weighted)" if design.weighted else ""
    rows = "" if evaluation.rows is None else f"{amount(evaluation.rows)} rows"
    if design.clusters is not None:
        rows += f" in {amount(design.clusters)} clusters"
    if design.folds is not None:
        rows += f" in {amount(design.folds)} folds"
    dropped = "" if missing is None else f"; left out for lack of a score: {amount(missing.rows)}"
    return (
        f"{f'{rows}: ' if rows else ''}{amount(evaluation.positives)} positive, {amount(evaluation.negatives)} "
        f"negative{weighted}, prevalence {number(evaluation.prevalence)}{dropped}"
    )
