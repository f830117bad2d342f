"""Threshold testing as published: its closed form against drawing, and against itself."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from studies.stoddard.attacks.threshold_testing import ptt_probability, ptt_scale, ptt_support

from confide.errors import ParameterError

SCORES = [2, 5, 5, 7]


@pytest.mark.statistical
@pytest.mark.parametrize(("sensitivity", "monotone"), [(1.0, True), (1.0, False), (2.5, True)])
def test_answers_are_as_frequent_as_the_closed_form_says(sensitivity: float, monotone: bool) -> None:
    """Four answers are possible, each within five standard deviations: a false alarm in 400,000."""
    terms: dict[str, Any] = {"sensitivity": sensitivity, "monotone": monotone}
    rng, draws = np.random.default_rng(8), 20_000
    seen = Counter(tuple(ptt_support(SCORES, 4, 0.5, rng, **terms).tolist()) for _ in range(draws))
    expected = {answer: ptt_probability(answer, SCORES, 4, 0.5, **terms) for answer in product((False, True), repeat=4)}
    assert set(seen) == {answer for answer, chance in expected.items() if chance > 0.0}
    for answer, chance in expected.items():
        assert abs(seen[answer] - draws * chance) <= 5.0 * math.sqrt(draws * chance * (1.0 - chance))


def test_the_scale_is_what_theorem_and_corollary_ask_for() -> None:
    """Theorem 2: 2 sigma epsilon for Lap(1/epsilon); corollary 3.4: half."""
    assert ptt_scale(1) == 2.0
    assert ptt_scale("0.5", monotone=True) == 2.0
    assert ptt_scale(2, sensitivity=2**20, monotone=True) == 2**19


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.floats(-3.0, 9.0), st.sampled_from((0.1, 1.0, 7.0)))
def test_chances_add_up(scores: list[int], threshold: float, epsilon: float) -> None:
    answers = product((False, True), repeat=len(scores))
    total = math.fsum(ptt_probability(answer, scores, threshold, epsilon) for answer in answers)
    assert total == pytest.approx(1.0, abs=1e-12)


@given(st.integers(0, 8), st.integers(0, 8), st.floats(-400.0, 400.0), st.sampled_from((0.1, 1.0, 7.0)))
def test_the_chance_between_two_scores_against_scipy(low: int, high: int, threshold: float, epsilon: float) -> None:
    """SciPy's distribution function and survival function, whichever does not cancel."""
    law = stats.laplace(loc=threshold, scale=2.0 / epsilon)
    expected = law.cdf(high) - law.cdf(low) if threshold > high else law.sf(low) - law.sf(high)
    chance = ptt_probability([False, True], [low, high], threshold, epsilon)
    assert chance == pytest.approx(max(expected, 0.0), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("scores", "terms", "said"),
    [
        ([], {}, "at least one"),
        ([[1, 2]], {}, "one finite number"),
        ([1.0, math.nan], {}, "finite"),
        ([1, 2], {"epsilon": 0}, "epsilon must be greater than 0"),
        ([1, 2], {"threshold": math.inf}, "threshold must be a finite number"),
        ([1, 2], {"sensitivity": 0.0}, "sensitivity must be a number above 0"),
    ],
)
def test_what_cannot_be_tested_is_refused(scores: list[float], terms: dict[str, Any], said: str) -> None:
    given_terms: dict[str, Any] = {"threshold": 1.0, "epsilon": 1, "rng": np.random.default_rng(1), **terms}
    with pytest.raises(ParameterError, match=said):
        ptt_support(scores, **given_terms)


def test_an_answer_for_other_features_is_refused() -> None:
    with pytest.raises(ParameterError, match="each of the features"):
        ptt_probability([True], [1, 2], 1, 1)
