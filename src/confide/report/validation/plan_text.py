"""Plan of a validation on the terminal: question, price, expected accuracy and guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line
from confide.report.validation.word_table import print_word_table, word_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.expected_accuracy import Accuracy, Expected
    from confide.federation.question import Question
    from confide.tasks.validate import ValidationPlan

_INTERNAL = ("sites", "protocol")


def print_plan(plan: ValidationPlan, console: Console) -> None:
    """Print the question, its price at each site, its expected accuracy and its promise."""
    for table in plan_tables(plan, rows="--rows"):
        print_word_table(replace(table, note=""), console)
        if table.note:
            print_line(table.note, console)
    console.print("Promise to the people in the data", style="bold", highlight=False)
    for sentence in plan.promise:
        print_line(sentence, console)


def plan_tables(plan: ValidationPlan, *, rows: str) -> Iterator[Table]:
    """Yield the question, its price at each site and its expected accuracy.

    `rows` is how the reader states the number of rows.
    """
    terms = [
        (name.replace("_", " "), str(value)) for name, value in plan.question.to_dict().items() if name not in _INTERNAL
    ]
    yield word_table("The question", ("term", "value"), terms)
    prices = [(site, price) for site, price in plan.prices.items() if price is not None]
    yield word_table("Price", ("site", "epsilon"), prices or [("every site", _no_price(plan.question))])
    if plan.expected is not None:
        yield _expected(plan.expected, rows)


def _no_price(question: Question) -> str:
    """Say why a mode charges no ledger."""
    return f"no privacy budget: {mode_of(question).free_reason}"


def _expected(expected: Expected, rows: str) -> Table:
    """Return expected errors and widths of intervals, and the assumptions behind them."""
    lines = [(f"all sites, {expected.pooled.rows:,} rows", *_numbers(expected.pooled))]
    if expected.site is not None:
        lines.append((f"one site, {expected.site.rows:,} rows", *_numbers(expected.site)))
    head = ("", "area between ROC curves", "error of AUC", "interval, these rows", "interval, population")
    stated = "as stated" if expected.stated else f"assumed; state the number with {rows}"
    note = (
        f"Rows {stated}. Simulated with calibrated scores, AUC {expected.pooled.auc:.2f} and "
        f"{expected.pooled.prevalence:.0%} positives; no site is asked."
    )
    return word_table("Expected accuracy (means)", head, lines, note=note)


def _numbers(accuracy: Accuracy) -> tuple[str, ...]:
    values = (
        accuracy.roc_area_error,
        accuracy.auc_error,
        accuracy.auc_sample_width,
        accuracy.auc_population_width,
    )
    return tuple(f"{value:.2g}" for value in values)
