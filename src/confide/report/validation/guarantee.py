"""The guarantee of a question in sentences: one wording for plans, reports and people who approve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.federation.modes.registry import mode_of
from confide.report.shared.guarantees import attacker_words

if TYPE_CHECKING:
    from confide.federation.question import Question


def attacker_lines(question: Question) -> list[str]:
    """Return the sentence on what an attacker can learn at most from the answer; none in modes without a guarantee."""
    guarantee = mode_of(question).guarantee(question)
    return [] if guarantee is None else attacker_words(guarantee)


def guarantee_sentences(question: Question) -> list[str]:
    """Return what an attacker can learn at most, then the precise statements of the mode."""
    sentences = (*attacker_lines(question), *mode_of(question).promise(question))
    return [f"{sentence[:1].upper()}{sentence[1:]}" for sentence in sentences]
