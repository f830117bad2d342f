"""Plan of a validation on the terminal: question, price, expected accuracy and guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from confide.federation.coordinator.planning import USUAL_SECONDS
from confide.federation.modes.registry import mode_named, mode_of
from confide.federation.private_noise import noise_of
from confide.federation.question_terms import edition_words
from confide.privacy.guarantee import shown
from confide.report.promises import attacker_words
from confide.report.writers.terminal import Table, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.planning import Accuracy, Expected, ModeWidth
    from confide.federation.question import Question
    from confide.tasks.validate import ValidationPlan


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


def attacker_lines(question: Question) -> list[str]:
    """Return the sentence on what an attacker can learn at most from the answer; none in modes without a guarantee."""
    guarantee = mode_of(question).guarantee(question)
    return [] if guarantee is None else attacker_words(guarantee)


def guarantee_sentences(question: Question) -> list[str]:
    """Return what an attacker can learn at most, then the precise statements of the mode."""
    sentences = (*attacker_lines(question), *mode_of(question).promise(question))
    return [f"{sentence[:1].upper()}{sentence[1:]}" for sentence in sentences]


_INTERNAL = ("sites", "protocol")
_NAMES = {"threshold": "sites needed to take masks off"}


def print_plan(plan: ValidationPlan, console: Console) -> None:
    """Print what an attacker can learn, the question, its price, its expected accuracy and its promise."""
    for sentence in attacker_lines(plan.question):
        print_line(sentence, console)
        console.print()
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
        f"Time: a run takes {least} to {most} seconds on free machines with files; databases and models that sites "
        f"run take longer. It ends after {plan.most_seconds:g} seconds at the latest. A site whose people approve each "
        "question may take days: ask again then."
    )


def plan_tables(plan: ValidationPlan, *, rows: str) -> Iterator[Table]:
    """Yield the question, its price at each site and its expected accuracy.

    `rows` is how the reader states the number of rows.
    """
    yield word_table("The question", ("term", "value"), _terms(plan.question))
    yield _prices(plan)
    if plan.expected is not None:
        yield _expected(plan.expected, rows)
    yield _widths(plan, rows)


def _prices(plan: ValidationPlan) -> Table:
    """Return the price at each site; with Gaussian noise also what its account is charged."""
    prices = [(site, price) for site, price in plan.prices.items() if price is not None]
    if not prices:
        return word_table("Price", ("site", "epsilon"), [("every site", _no_price(plan.question))])
    if plan.account is None:
        return word_table("Price", ("site", "epsilon"), prices)
    head = ("site", f"epsilon of this question alone, at delta {shown(plan.account.delta_in_all)}", "rho charged")
    rho = shown(plan.account.rho, up=True)
    return word_table("Price", head, [(*price, rho) for price in prices], note=plan.account.in_words())


def _terms(question: Question) -> Iterator[tuple[str, str]]:
    for name, value in question.to_dict().items():
        if name not in _INTERNAL:
            yield _NAMES.get(name, name.replace("_", " ")), _term(name, value)


def _term(name: str, value: object) -> str:
    if name == "edition" and isinstance(value, int):
        return edition_words(value)
    return "-" if name == "threshold" and not value else str(value)


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
    widths = (f"width of the AUC's interval, {of}" for of in ("these rows", "population"))
    head = ("", "area between ROC curves", "error of AUC", *widths)
    note = (
        f"Rows {_stated(expected.stated, rows)}. Simulated with calibrated scores, AUC {expected.pooled.auc:.2f} and "
        f"{expected.pooled.prevalence * 100:.0f} % positives; no site is asked."
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
