"""Noisycut as published: its integral against exact fractions, against drawing, and against itself."""

from __future__ import annotations

import math
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from studies.stoddard.attacks.noisy_cut import noisycut_log_probability, noisycut_scales, noisycut_support

from confide.errors import ParameterError

LN_16 = 4.0 * math.log(2.0)
"""At this epsilon `e^(epsilon/4)` is 2, and all chances are fractions."""

Laurent = dict[int, Fraction]


def times(one: Laurent, other: Laurent) -> Laurent:
    found: Laurent = {}
    for (i, a), (j, b) in product(one.items(), other.items()):
        found[i + j] = found.get(i + j, Fraction(0)) + a * b
    return found


def answer_chance(found: bool, score: int, right: bool) -> Laurent:
    """The chance of one answer, as powers of u = 2^t, where the threshold t lies right of the score, or left of it."""
    below = Fraction(1, 2) * Fraction(8) ** (score if right else -score)  # that the noisy score is on t's own side
    power = -3 if right else 3
    return {power: below} if found == right else {0: Fraction(1), power: -below}


def exact_chance(support: tuple[bool, ...], scores: list[int], threshold: int) -> Fraction:
    """The chance of an answer at epsilon 4 ln 2, as a fraction.

    The noisy threshold t has the density `2^-|t - threshold| / 2` times dt = du/u, in which epsilon/4 cancels. Between
    whole numbers, and beyond all of them, the integrand is a sum of powers of u, of which none is u^-1.
    """
    total = Fraction(0)
    for low, high in pairwise([None, *sorted({*scores, threshold}), None]):
        right = low is not None and threshold <= low
        integrand: Laurent = {-2 if right else 0: Fraction(2) ** (threshold if right else -threshold) / 2}
        for found, score in zip(support, scores, strict=True):
            integrand = times(integrand, answer_chance(found, score, low is not None and score <= low))
        for power, factor in integrand.items():
            ends = (Fraction(0) if end is None else Fraction(2) ** (end * (power + 1)) for end in (low, high))
            bottom, top = ends
            total += factor * (top - bottom) / (power + 1)
    return total


@given(st.data())
def test_the_integral_against_exact_fractions(data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    support = data.draw(st.tuples(*[st.booleans()] * len(scores)))
    threshold = data.draw(st.integers(0, 6))
    found = math.exp(noisycut_log_probability(support, scores, threshold, LN_16))
    assert found == pytest.approx(float(exact_chance(support, scores, threshold)), rel=1e-10)


def test_the_exact_fractions_are_chances() -> None:
    answers = product((False, True), repeat=3)
    assert sum(exact_chance(answer, [0, 2, 3], 1) for answer in answers) == 1


@pytest.mark.parametrize("many", [200, 20_000])
def test_the_integral_of_very_many_answers_against_a_fine_sum(many: int) -> None:
    """Half a million points on a line, of log-values, against the panels around the peak."""
    support, scores = np.repeat([False, True], [many, 50]), np.repeat([0, 1], [many, 50])
    at = np.linspace(-60.0, 60.0, 500_001)

    law = stats.laplace(scale=4.0 / 3.0)
    logs = many * law.logcdf(at) + 50 * law.logsf(at - 1.0) + stats.laplace(scale=4.0).logpdf(at)
    top = float(logs.max())
    expected = top + math.log(float(np.exp(logs - top).sum()) * (at[1] - at[0]))
    assert noisycut_log_probability(support, scores, 0, 1) == pytest.approx(expected, abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("cutoff", [None, 1, 2])
def test_answers_are_as_frequent_as_the_integral_says(cutoff: int | None) -> None:
    """Up to 16 answers, each within five standard deviations: a false alarm in 100,000 at most."""
    scores, rng, draws = [2, 5, 3, 7], np.random.default_rng(9), 20_000
    seen = Counter(tuple(noisycut_support(scores, 4, 2, rng, cutoff=cutoff).tolist()) for _ in range(draws))
    total = 0.0
    for answer in product((False, True), repeat=4):
        chance = math.exp(noisycut_log_probability(answer, scores, 4, 2, cutoff=cutoff))
        assert abs(seen[answer] - draws * chance) <= 5.0 * math.sqrt(draws * chance * (1.0 - chance))
        total += chance
    assert total == pytest.approx(1.0, abs=1e-10)


def test_noise_grows_with_sensitivity() -> None:
    assert noisycut_scales(1) == pytest.approx((4.0, 4.0 / 3.0))
    assert noisycut_scales(2, sensitivity=10.0) == pytest.approx((20.0, 20.0 / 3.0))
    one = noisycut_log_probability([1, 0], [3, 4], 2, 1)
    assert noisycut_log_probability([1, 0], [30, 40], 20, 1, sensitivity=10.0) == pytest.approx(one)


def test_as_many_features_as_the_papers_have_take_no_time() -> None:
    """A draw takes about a millisecond; a few hundred times that is allowed for."""
    scores = np.arange(22_894) % 300
    started = time.process_time()
    assert noisycut_support(scores, 50, 1, np.random.default_rng(1)).shape == (22_894,)
    assert time.process_time() - started < 0.5


def test_a_cutoff_that_is_none_is_refused() -> None:
    for cutoff in (0, True, 1.5):
        with pytest.raises(ParameterError, match="cutoff must be a whole number"):
            noisycut_support([1], 1, 1, np.random.default_rng(1), cutoff=cutoff)  # type: ignore[arg-type]
