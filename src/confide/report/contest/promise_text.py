"""Promise of a contest in plain words: epsilon, the most that anyone can become sure of one label, and its scope."""

from __future__ import annotations

from dataclasses import dataclass

from confide.contest.terms import ContestTerms, FinalMechanism, Mode
from confide.report.shared.guarantees import at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Promise of a contest: its two numbers, the headline, what it covers, and what gives no promise.

    `certainty` is in per cent, rounded up. `each` and `scope` say if the numbers are those of one answer.
    """

    epsilon: str
    certainty: str
    each: str
    scope: str
    headline: str
    covered: tuple[str, ...]
    final: tuple[str, ...]
    limits: tuple[str, ...]

    def words(self) -> list[str]:
        """Return all sentences, in order."""
        return [self.headline, *self.covered, *self.final, *self.limits]


def promise_of(terms: ContestTerms) -> Promise:
    """Return the promise of a contest."""
    masked = terms.mode == Mode.MASKED
    return Promise(
        epsilon=f"{float(terms.epsilon):g}",
        certainty=at_most(terms.certainty),
        each="" if masked else " for each answer",
        scope="" if masked else " by one answer (answers add up to what the data holder's account allows)",
        headline=_headline(terms, masked=masked),
        covered=_masked(terms) if masked else _per_answer(terms),
        final=_final(terms),
        limits=_LIMITS,
    )


def _headline(terms: ContestTerms, *, masked: bool) -> str:
    seen = "after seeing everything that the server says or holds" if masked else "after seeing one answer"
    return (
        f"Somebody who was 50 % sure of one label is at most {at_most(terms.certainty)} % sure {seen} "
        f"(epsilon = {float(terms.epsilon):g}, delta = 0)."
    )


def _masked(terms: ContestTerms) -> tuple[str, ...]:
    flip = 0.0 if terms.flip is None else float(terms.flip)
    return (
        f"The data holder flipped each label once, with probability {100 * flip:.3g} %, before it left the holder. The "
        "server never holds a true label; all scores are computed from the masked labels.",
        "The promise covers every answer to every participant together, whatever they ask; the board; every log; and a "
        "break-in into the server. More answers do not weaken it.",
    )


def _per_answer(terms: ContestTerms) -> tuple[str, ...]:
    return (
        f"Each answer is a noisy release of its own and costs epsilon = {float(terms.epsilon):g}. The costs of all "
        "answers add up; the data holder's ledger counts them and refuses answers beyond its limit.",
        "The server runs at the data holder and can read the labels: a break-in is not covered.",
    )


def _final(terms: ContestTerms) -> tuple[str, ...]:
    if terms.final_epsilon is None or terms.final_certainty is None:
        return ()
    delta = f", delta = {float(terms.final_delta):.2g}" if terms.final_mechanism == FinalMechanism.SHAPED else ""
    return (
        "The final is computed once, by the data holder, on rows that the board never uses. Somebody who was 50 % sure "
        f"of one of these labels is at most {at_most(terms.final_certainty)} % sure after seeing the result (epsilon = "
        f"{float(terms.final_epsilon):g}{delta}).",
    )


_LIMITS = (
    "Rounded scores, a Ladder that shows only improvements, and limits on submissions promise nothing about labels: "
    "enough rounded answers give all labels away. This contest does not rely on them.",
    "The promise is about what is learned from the labels. A model that predicts a label well from public data may do "
    "so without them.",
)
