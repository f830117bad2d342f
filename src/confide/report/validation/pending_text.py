"""Held questions on the terminal of the person who decides: what would leave the site, for whom, and at which price."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.federation.periods import edition_words
from confide.federation.private_noise import noise_of
from confide.federation.site.approvals import Decision
from confide.federation.site_state import RefusalReason
from confide.privacy.guarantee import shown, three_digits
from confide.report.validation.guarantee import guarantee_sentences

if TYPE_CHECKING:
    from confide.federation.question import Question
    from confide.federation.site.approvals import HeldQuestion
    from confide.federation.site.budget import SiteBudget
    from confide.federation.site.rules import RuledOut
    from confide.tasks.site_approvals import PendingQuestions

_WIDTH = 110
_NAME = 17


def pending_lines(pending: PendingQuestions, *, width: int = _WIDTH) -> Iterator[str]:
    """Yield all held questions in plain words, in lines of at most `width` characters."""
    if not pending.manual:
        yield from textwrap.wrap(
            'The policy says approval = "automatic": questions that its rules allow are answered without a person.',
            width,
        )
    if not pending.questions:
        yield "No question waits for a decision."
    for held in pending.questions:
        yield f"Question {held.number}, {held.decision}"
        for name, value in _fields(held, pending.budget, pending.ruled_out.get(held.id)):
            yield from _wrapped(f"  {name + ':' if name else '':<{_NAME}} ", value, width)
        for sentence in guarantee_sentences(held.question):
            yield from _wrapped("  - ", sentence, width)
        if held.decision is not Decision.WAITING:
            yield from _wrapped(f"  {'decided:':<{_NAME}} ", _decided(held), width)
        yield ""


def decision_line(held: HeldQuestion) -> str:
    """Return what was decided on a question."""
    question = held.question
    what = f"{question.model}, mode {question.mode}, study {question.study}"
    return f"{held.decision} question {held.number} ({what})"


def _fields(held: HeldQuestion, budget: SiteBudget | None, out: RuledOut | None) -> Iterator[tuple[str, str]]:
    """Yield who asks for what, for whom and at which price, each a name and a value."""
    question, mode = held.question, mode_of(held.question)
    yield "who asks", f"{held.coordinator or 'unknown'}, first on {held.asked_at.replace('+00:00', ' UTC')}"
    yield "purpose", question.purpose or "none was stated"
    yield "study, model", f"{question.study}, {question.model}"
    if question.edition is not None:
        yield "edition", edition_words(question.edition)
    yield "what would leave", mode.released(question)
    yield "", f"scores in {len(question.public_grid):,} cells ({question.grid})"
    yield "sites", f"{', '.join(question.sites)}; at least {question.least_sites} take part"
    yield "price", _price(question)
    if mode.private and budget is not None:
        yield "left", _left(question, budget)
    if out is not None:
        paid = out.reason is RefusalReason.BUDGET
        yield "caution", f"{'CANNOT BE PAID' if paid else 'WOULD BE REFUSED'} as the policy is: {out.message}"
    yield from mode.described_terms(question)


def _price(question: Question) -> str:
    if mode_of(question).price(question) is None:
        return "none: this mode has no noise, and the site answers no other question about the model without noise then"
    return f"{noise_of(question).price_words()}, unless the same question was paid for before"


def _left(question: Question, budget: SiteBudget) -> str:
    """Return what is left to the study and in all studies; the policy and the ledger alone decide it."""
    every = f"{three_digits(budget.remaining, down=True)} of {shown(budget.cap)} in all studies"
    study = budget.studies.get(question.study)
    if study is None:
        return f"epsilon {every}"
    return f"epsilon {three_digits(study.remaining, down=True)} of {shown(study.cap)} in this study, {every}"


def _decided(held: HeldQuestion) -> str:
    return f"{held.decision} by {held.by}, {held.decided_at}" + (f": {held.why}" if held.why else "")


def _wrapped(begin: str, text: str, width: int) -> list[str]:
    """Break a text into lines; all but the first are indented by the width of its beginning."""
    indent = " " * len(begin)
    return textwrap.wrap(
        text, max(width, len(begin) + 20), initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False
    )
