"""The promise of a contest names epsilon, the bound on certainty, its scope, and what promises nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from confide.contest.metric import ContestMetric
from confide.contest.terms import ContestTerms, Mode
from confide.report.contest import promise_of

TERMS = ContestTerms(
    name="heart",
    title="Heart",
    metric=ContestMetric.checked("auc"),
    rows=100,
    public_rows=50,
    public_share=Fraction(1, 2),
    epsilon=Fraction(2),
    flip=Fraction(12, 100),
)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(2), Fraction(8), Fraction(20)])
def test_the_bound_is_never_rounded_down(epsilon: Fraction) -> None:
    promise = promise_of(replace(TERMS, epsilon=epsilon))
    exact = 100 / (1 + math.exp(-float(epsilon)))
    assert exact <= float(promise.certainty) < 100
    assert f"at most {promise.certainty} % sure" in promise.headline
    assert f"epsilon = {float(epsilon):g}" in promise.headline


def test_masked_labels_cover_every_answer_and_a_break_in() -> None:
    words = " ".join(promise_of(TERMS).words())
    for covered in ("every answer to every participant", "every log", "break-in", "never holds a true label", "12 %"):
        assert covered in words
    assert "Ladder" in words
    assert "The final" not in words


def test_single_answers_add_up_and_a_break_in_is_not_covered() -> None:
    promise = promise_of(replace(TERMS, mode=Mode.PER_ANSWER, flip=None))
    words = " ".join(promise.words())
    assert promise.each == " for each answer"
    assert "after seeing one answer" in promise.headline
    assert "add up" in words
    assert "a break-in is not covered" in words
    assert "never holds" not in words


@pytest.mark.parametrize(("delta", "words"), [(Fraction(0), "epsilon = 1)"), (Fraction(1, 10**6), "delta = 1e-06)")])
def test_the_final_has_a_promise_of_its_own(delta: Fraction, words: str) -> None:
    terms = replace(TERMS, final_epsilon=Fraction(1), final_delta=delta)
    (final,) = promise_of(terms).final
    assert "at most 73.2 % sure" in final
    assert words in final
    assert "rows that the board never uses" in final
