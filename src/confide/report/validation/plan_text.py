"""Plan of a validation on the terminal: question, price, expected accuracy and guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from confide.federation.coordinator.mode_choice import USUAL_SECONDS
from confide.federation.modes.registry import mode_named, mode_of
from confide.federation.periods import edition_words
from confide.federation.private_noise import noise_of
from confide.privacy.guarantee import shown
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line
from confide.report.validation.word_table import print_word_table, word_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.expected_accuracy import Accuracy, Expected
    from confide.federation.coordinator.mode_choice import ModeWidth
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
    console.print("What this answer means for later questions", style="bold", highlight=False)
    for sentence in (*plan.consequences, time_words(plan)):
        print_line(sentence, console)


def time_words(plan: ValidationPlan) -> str:
    """Return how long a run takes."""
    least, most = USUAL_SECONDS
    return (
        f"Time: a run usually takes {least} to {most} seconds, and as long as the slowest site reads and scores its "
        f"rows; it ends after {plan.most_seconds:g} seconds at the latest. A site whose people approve each question "
        "may take days: ask again then."
    )


def plan_tables(plan: ValidationPlan, *, rows: str) -> Iterator[Table]:
    """Yield the question, its price at each site and its expected accuracy.

    `rows` is how the reader states the number of rows.
    """
    yield word_table("The question", ("term", "value"), _terms(plan.question))
    prices = [(site, price) for site, price in plan.prices.items() if price is not None]
    price = f"epsilon, at delta {shown(Fraction(plan.question.delta))}" if prices and plan.question.delta else "epsilon"
    yield word_table("Price", ("site", price), prices or [("every site", _no_price(plan.question))])
    if plan.expected is not None:
        yield _expected(plan.expected, rows)
    yield _widths(plan, rows)


def _terms(question: Question) -> Iterator[tuple[str, str]]:
    for name, value in question.to_dict().items():
        if name not in _INTERNAL:
            yield name.replace("_", " "), edition_words(value) if name == "edition" else str(value)


def _widths(plan: ValidationPlan, rows: str) -> Table:
    """Return the width of the AUC's interval that each mode would give."""
    lines = [
        (
            _compared(one),
            "not possible with these sites" if one.auc_population_width is None else f"{one.auc_population_width:.2g}",
            "this question" if _is_asked(one, plan.question) else "",
        )
        for one in plan.widths
    ]
    note = f"Rows {_stated(plan.rows_stated, rows)}, divided equally among the sites."
    return word_table("Modes compared", ("mode", "width of the AUC's interval, population", ""), lines, note=note)


def _compared(one: ModeWidth) -> str:
    if one.epsilon is None:
        return one.mode
    noise = f", {one.noise.capitalize()} noise" if one.noise else ""
    return f"{one.mode}, epsilon {one.epsilon}{noise}"


def _is_asked(one: ModeWidth, question: Question) -> bool:
    mode = mode_of(question)
    return mode_named(one.mode) is mode and (not mode.private or one.noise == noise_of(question).family)


def _stated(stated: bool, rows: str) -> str:
    return "as stated" if stated else f"assumed; state the number with {rows}"


def _no_price(question: Question) -> str:
    """Say why a mode charges no ledger."""
    return f"no privacy budget: {mode_of(question).free_reason}"


def _expected(expected: Expected, rows: str) -> Table:
    """Return expected errors and widths of intervals, and the assumptions behind them."""
    lines = [(f"all sites, {expected.pooled.rows:,} rows", *_numbers(expected.pooled))]
    if expected.site is not None:
        lines.append((f"one site, {expected.site.rows:,} rows", *_numbers(expected.site)))
    head = ("", "area between ROC curves", "error of AUC", "interval, these rows", "interval, population")
    note = (
        f"Rows {_stated(expected.stated, rows)}. Simulated with calibrated scores, AUC {expected.pooled.auc:.2f} and "
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
