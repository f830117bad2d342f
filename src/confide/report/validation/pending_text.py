"""Held questions on the terminal of the person who decides: what would leave the site, for whom, and at which price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.federation.periods import edition_words
from confide.federation.private_noise import noise_of
from confide.federation.site.approvals import Decision

if TYPE_CHECKING:
    from confide.federation.site.approvals import HeldQuestion
    from confide.federation.site.budget import SiteBudget
    from confide.tasks.site_approvals import PendingQuestions


def pending_lines(pending: PendingQuestions) -> Iterator[str]:
    """Yield all held questions in plain words."""
    if not pending.manual:
        yield 'The policy says approval = "automatic": questions that its rules allow are answered without a person.'
    if not pending.questions:
        yield "No question waits for a decision."
    for held in pending.questions:
        yield from _question(held, pending.budget)


def decision_line(held: HeldQuestion) -> str:
    """Return what was decided on a question."""
    question = held.question
    what = f"{question.model}, mode {question.mode}, study {question.study}"
    return f"{held.decision} question {held.number} ({what})"


def _question(held: HeldQuestion, budget: SiteBudget | None) -> Iterator[str]:
    question, mode = held.question, mode_of(held.question)
    others = ", ".join(question.sites)
    yield f"Question {held.number}, {held.decision}"
    yield f"  who asks:         {held.coordinator or 'unknown'}, first on {held.asked_at.replace('+00:00', ' UTC')}"
    yield f"  purpose:          {question.purpose or 'none was stated'}"
    yield f"  study, model:     {question.study}, {question.model}"
    if question.edition is not None:
        yield f"  edition:          {edition_words(question.edition)}"
    yield f"  what would leave: {mode.released(question)}"
    yield f"                    scores in {len(question.public_grid):,} cells ({question.grid})"
    yield f"  sites:            {others}; at least {question.least_sites} take part"
    yield f"  price:            {_price(held, budget)}"
    for name, value in mode.described_terms(question):
        yield f"  {name + ':':<17} {value}"
    for sentence in mode.promise(question):
        yield f"  - {sentence}"
    if held.decision is not Decision.WAITING:
        why = f": {held.why}" if held.why else ""
        yield f"  decided:          {held.decision} by {held.by}, {held.decided_at}{why}"
    yield ""


def _price(held: HeldQuestion, budget: SiteBudget | None) -> str:
    if mode_of(held.question).price(held.question) is None:
        return "none: this mode has no noise, and the site answers no other question about the model without noise then"
    left = "" if budget is None else f"; {float(budget.remaining):g} of {float(budget.cap):g} are left in all studies"
    return f"{noise_of(held.question).price_words()}, unless the same question was paid for before{left}"
