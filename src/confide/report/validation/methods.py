"""Table of methods: the question, its terms and the course of the validation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.federation.periods import edition_words
from confide.federation.question import Question
from confide.report.shared.numbers import DASH, percent
from confide.report.shared.tables import Table
from confide.report.validation.released import was_partly_paid, was_stored
from confide.report.validation.tables import took_part

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation


def how_table(validation: Validation) -> Table:
    """Return the terms and the course of the validation."""
    return Table(
        title="How it was done",
        head=("term", "in this validation"),
        body=tuple(_how(validation)),
        text_columns=("in this validation",),
    )


def _how(validation: Validation) -> Iterator[tuple[str, str]]:
    question, outcome = validation.question, validation.outcome
    answered = sum(took_part(site) for site in validation.sites)
    grid = question.public_grid
    yield "study", question.study
    yield "model", question.model
    yield "mode", question.mode
    yield "sites", f"{len(validation.sites)} asked, {answered} answered"
    yield "grid", f"{question.grid}: {len(grid):,} cells from {grid.edges[0]:g} to {grid.edges[-1]:g}, public"
    yield from _terms(question)
    if mode_of(question).private:
        yield "edition", _edition_sentence(question.edition or 1)
        yield "answers", _answers_words(validation)
    took = f"{_seconds(outcome.seconds)} from the first question to the last answer, without connecting"
    yield "rounds", f"{outcome.rounds}, {took}"
    yield "intervals", percent(validation.level)


def _edition_sentence(edition: int) -> str:
    if edition == 1:
        return "1: the first run of this question"
    new = "a new run of the question, whose sum over sites has new noise and was paid for again"
    return f"{edition_words(edition)}: {new}"


def _answers_words(validation: Validation) -> str:
    """Return whether sites drew noise for this run or sent stored answers, according to their receipts."""
    receipts = [site.report.receipt for site in validation.sites if took_part(site)]
    stored = sum(was_stored(receipt) for receipt in receipts)
    partly = sum(was_partly_paid(receipt, validation.question) for receipt in receipts)
    parts = []
    if stored:
        parts.append(f"{_of(stored, len(receipts))} as stored by the sites: answered before, no further cost")
    if partly:
        parts.append(f"{_of(partly, len(receipts))} at a part of the price: the rest was paid before")
    return "; ".join(parts) or "all made for this run; none was a stored one"


def _of(some: int, every: int) -> str:
    return "all" if some == every else f"{some} of {every}"


def _terms(question: Question) -> Iterator[tuple[str, str]]:
    if question.minimum_cell is not None and question.minimum_cell > 1:
        yield "minimum cell", f"{question.minimum_cell} rows of a class"
    yield from mode_of(question).described_terms(question)


def _seconds(seconds: float) -> str:
    if not math.isfinite(seconds):
        return DASH
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
