"""The plan of a validation on a terminal: question, price, expected accuracy and promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared.text import print_line
from confide.report.validation.word_table import print_words

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.expected_accuracy import Accuracy, Expected
    from confide.federation.question import Question
    from confide.tasks.validate import ValidationPlan

_INTERNAL = ("sites", "protocol")


def print_plan(plan: ValidationPlan, console: Console) -> None:
    """Print the question, its price at each site, its expected accuracy and its promise."""
    terms = [
        (name.replace("_", " "), str(value)) for name, value in plan.question.to_dict().items() if name not in _INTERNAL
    ]
    print_words("The question", ("term", "value"), terms, console)
    prices = [(site, price) for site, price in plan.prices.items() if price is not None]
    print_words("Price", ("site", "epsilon"), prices or [("every site", _no_price(plan.question))], console)
    if plan.expected is not None:
        _print_expected(plan.expected, console)
    console.print("Promise to the people in the data", style="bold", highlight=False)
    for sentence in plan.promise:
        print_line(sentence, console)


def _no_price(question: Question) -> str:
    """Say why a mode charges no ledger."""
    return f"no privacy budget: {mode_of(question).free_reason}"


def _print_expected(expected: Expected, console: Console) -> None:
    """Print expected errors and widths of intervals, and the assumptions behind them."""
    lines = [(f"all sites, {expected.pooled.rows:,} rows", *_numbers(expected.pooled))]
    if expected.site is not None:
        lines.append((f"one site, {expected.site.rows:,} rows", *_numbers(expected.site)))
    head = ("", "area between ROC curves", "error of AUC", "interval, these rows", "interval, population")
    print_words("Expected accuracy (means)", head, lines, console)
    rows = "as stated" if expected.stated else "assumed; state the number with --rows"
    print_line(
        f"Rows {rows}. Simulated with calibrated scores, AUC {expected.pooled.auc:.2f} and "
        f"{expected.pooled.prevalence:.0%} positives; no site is asked.",
        console,
    )


def _numbers(accuracy: Accuracy) -> tuple[str, ...]:
    values = (
        accuracy.roc_area_error,
        accuracy.auc_error,
        accuracy.auc_sample_width,
        accuracy.auc_population_width,
    )
    return tuple(f"{value:.2g}" for value in values)
