"""Shares of Gaussian noise have the law they say, and the same test refuses shares of another law.

The test is that of `test_noise`. Bits come from fixed seeds, so what passes always passes, but for one test of the
system's own bits with a false alarm below 1e-7. Every broken twin is refused with a probability above 0.999 at the
number of draws used.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import pytest

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.gaussian_shares import LARGEST_VARIANCE, gaussian_share
from confide.privacy.queries import GaussianShareQuery
from tests.noises import seeded
from tests.privacy.test_noise_distribution import gaussian_on_integers, refused

pytestmark = pytest.mark.statistical

DRAWS = 20_000
VARIANCES = [Fraction(1, 7), Fraction(1), Fraction(22, 7), Fraction(1234567, 2**20), Fraction(81)]


@cache
def drawn(variance: Fraction, seed: int = 1) -> tuple[int, ...]:
    bits = random.Random(seed).getrandbits
    return tuple(noisy - 7 for noisy in gaussian_share([7] * DRAWS, variance, bits=bits))


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_a_share_is_discrete_gaussian_noise(variance: Fraction) -> None:
    assert not refused(drawn(variance), gaussian_on_integers(float(variance) ** 0.5), cells=25)


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(22, 7)], ids=str)
def test_shares_of_another_law_are_refused(variance: Fraction) -> None:
    right = gaussian_on_integers(float(variance) ** 0.5)
    assert refused(drawn(variance * Fraction(4, 5)), right, cells=25)
    assert refused([abs(noise) for noise in drawn(variance)], right, cells=25)
    assert refused([noise for noise in drawn(variance) if noise], right, cells=25)


def test_the_noise_of_tests_with_a_seed_has_nearly_the_same_law() -> None:
    draws = seeded(4).gaussian_share([0] * DRAWS, Fraction(81))
    assert not refused(draws, gaussian_on_integers(9.0), cells=25)


def test_the_system_s_own_bits() -> None:
    assert not refused(gaussian_share([0] * 10_000, Fraction(5)), gaussian_on_integers(5.0**0.5), cells=25)


def test_sums_are_taken_modulo_2_to_the_64_and_not_cut_off() -> None:
    """At the largest value noise of the largest variance stays far inside; the remainder is that of the sum."""
    near = 2**62
    bits = random.Random(3).getrandbits
    found = [value - near for value in gaussian_share([near] * 200, Fraction(LARGEST_VARIANCE), bits=bits)]
    assert 2**38 < max(map(abs, found)) < 2**43
    with pytest.raises(ParameterError, match="within"):
        gaussian_share([2**62 + 1], Fraction(1))


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(LARGEST_VARIANCE) + 1, 2.5])
def test_what_is_no_variance_is_refused(variance: Fraction) -> None:
    with pytest.raises(ParameterError):
        gaussian_share([1], variance)
    with pytest.raises(ParameterError):
        GaussianShareQuery(values=(1,), variance=variance)


def test_a_source_that_is_stuck_is_no_endless_loop() -> None:
    with pytest.raises(ConfideError, match="same bit for ever"):
        gaussian_share([0], Fraction(20), bits=lambda count: (1 << count) - 1)


def test_many_draws_are_independent_rows_of_the_same_law() -> None:
    rows = GaussianShareQuery(values=(0, 100), variance=Fraction(3)).draw_many(DRAWS // 2)
    assert {len(row) for row in rows} == {2}
    assert not refused([one for one, _ in rows], gaussian_on_integers(3.0**0.5), cells=25)
    assert not refused([two - 100 for _, two in rows], gaussian_on_integers(3.0**0.5), cells=25)
