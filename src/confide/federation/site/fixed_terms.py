"""Terms of a question that a site fixes when it answers, and refusals of questions that do not fit them.

Terms are public: they follow from the question alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any

from confide.errors import RefusedError
from confide.federation.modes.exact import forget_words
from confide.federation.modes.registry import mode_of
from confide.federation.question import Question
from confide.ledger.entries import canonical_json


class EntryKind(StrEnum):
    """Kind of an entry in a site's register."""

    EXACT = "exact"
    PRIVATE = "private"


_WHY: Mapping[str, str] = {
    "mode": "exact answers in two modes can be subtracted from each other",
    "sites": "the difference of two sums over different sites is some sites' own counts",
    "grid": "the difference of tables on two grids gives small cells away",
    "bins": "the difference of tables with different bins gives small cells away",
    "minimum_cell": "groups of two sizes together give smaller ones away",
    "left": "sums after other sites dropped out can be subtracted from each other",
}


def kind_of(question: Question) -> EntryKind:
    """Return the kind of entry that a question has in a register."""
    return EntryKind.PRIVATE if mode_of(question).private else EntryKind.EXACT


def entry(question: Question) -> tuple[EntryKind, str, str]:
    """Return the kind of a question's entry, the name that it is found by, and its terms."""
    kind, terms = kind_of(question), canonical_json(mode_of(question).fixed_terms(question), "terms")
    return kind, question.model if kind is EntryKind.EXACT else sha256(terms.encode()).hexdigest(), terms


def another_question(model: str, fixed: Mapping[str, Any], asked: Mapping[str, Any]) -> RefusedError:
    """Return the refusal of an exact question that differs from the one that was answered."""
    differing = next(name for name in (*_WHY, *asked, *fixed) if fixed.get(name) != asked.get(name))
    said = {"sites": "other sites", "bins": "other bins", "minimum_cell": "another minimum cell"}
    said |= {"left": "another number of sites that may drop out (`fewest`, `colluders`)"}
    why = _WHY.get(differing, "answers to different questions can be subtracted from each other")
    return RefusedError(
        f"this site has answered another question about model {model!r} without noise, with "
        f"{said.get(differing, f'another {differing}')}; {why}. Ask the same question again, ask in mode private, or "
        f"{forget_words(model)}"
    )


def drawn_before(question: Question) -> RefusedError:
    """Return the refusal to send noisy scores a second time."""
    return RefusedError(
        f"this site has sent noisy scores of model {question.model!r} once; drawn again, their noise could be averaged "
        f"away. Ask in mode private, or {forget_words(question.model)}"
    )


def other_sites(signed: Question, before: tuple[str, ...]) -> RefusedError:
    """Return the refusal of a signed question that was answered with other sites."""
    return RefusedError(
        f"this site has answered this question with the sites {', '.join(map(repr, before))}, and answers it with no "
        "others: whoever lists several could subtract the sums. Ask the same `sites` again, or "
        f"{mode_of(signed).ask_anew(signed)}"
    )
