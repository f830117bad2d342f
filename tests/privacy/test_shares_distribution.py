"""Shares of noise have the law they say, and the same test refuses shares of another law.

The test is that of `test_noise`. Bits come from fixed seeds, so what passes always passes, but for one test of the
system's own bits with a false alarm below 1e-7. Every broken twin is refused with a probability above 0.999 at the
number of draws used.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from confide.privacy.noise.shares import laplace_share
from confide.privacy.noisy_counts import NoisyCells
from tests.noises import seeded
from tests.privacy.test_noise_distribution import Distribution, laplace_on_integers, refused

pytestmark = pytest.mark.statistical

DRAWS = 20_000
KINDS = [(Fraction(2, 5), 2), (Fraction(1), 4), (Fraction(22, 7), 3), (Fraction(15), 2), (Fraction(1), 1000)]


def difference(shape: float, scale: Fraction, reach: int = 600) -> Distribution:
    """The distribution function of the difference of two negative binomial variates."""
    side = stats.nbinom.pmf(np.arange(reach + 1), shape, -np.expm1(-1.0 / float(scale)))
    below = np.cumsum(np.convolve(side, side[::-1]))
    return lambda c: float(below[int(c) + reach])


@cache
def drawn(scale: Fraction, honest: int, seed: int = 1) -> tuple[int, ...]:
    bits = random.Random(seed).getrandbits
    return tuple(noisy - 7 for noisy in laplace_share([7] * DRAWS, scale, honest, bits=bits))


@pytest.mark.few(1)
@pytest.mark.parametrize(("scale", "honest"), KINDS)
def test_a_share_is_a_difference_of_negative_binomial_variates(scale: Fraction, honest: int) -> None:
    assert not refused(drawn(scale, honest), difference(1.0 / honest, scale), cells=25)


def test_the_only_share_is_discrete_laplace_noise() -> None:
    assert not refused(drawn(Fraction(3), 1), laplace_on_integers(3.0), cells=25)


def test_shares_add_up_to_discrete_laplace_noise() -> None:
    added = np.sum([drawn(Fraction(1), 4, seed) for seed in range(1, 5)], axis=0)
    assert not refused(added.tolist(), laplace_on_integers(1.0), cells=25)
    assert refused((added - np.array(drawn(Fraction(1), 4))).tolist(), laplace_on_integers(1.0), cells=25)


@pytest.mark.parametrize(("scale", "honest"), [(Fraction(1), 4), (Fraction(22, 7), 3)])
def test_shares_of_another_law_are_refused(scale: Fraction, honest: int) -> None:
    right = difference(1.0 / honest, scale)
    assert refused(drawn(scale, honest + 1), right, cells=25)
    assert refused(drawn(scale * Fraction(4, 5), honest), right, cells=25)
    assert refused([abs(noise) for noise in drawn(scale, honest)], right, cells=25)


def test_the_noise_of_tests_with_a_seed_has_the_same_law() -> None:
    draws = seeded(4).laplace_share([0] * DRAWS, Fraction(2), 3)
    assert not refused(draws, difference(1.0 / 3.0, Fraction(2)), cells=25)


def test_the_systems_bits_have_the_same_law() -> None:
    """Without a seed: a false alarm has a probability below 1e-7."""
    assert not refused(laplace_share([0] * 10_000, Fraction(2), 3), difference(1.0 / 3.0, Fraction(2)), cells=25)


@pytest.mark.parametrize("shares", [4 / 3, 5 / 2])
def test_plausible_noise_has_the_law_of_so_many_shares(shares: float) -> None:
    """What intervals are made from: the noise of five participants where four shares or two make the whole."""
    noisy = NoisyCells(cells=np.zeros((2, 4)), scale=2.0, shares=shares)
    draws = noisy.noise(np.random.default_rng(8)).ravel().astype(int).tolist()
    assert not refused(draws, difference(shares, Fraction(2)), cells=25)
    assert refused(draws, difference(1.0, Fraction(2)), cells=25)


def test_one_share_is_drawn_as_before() -> None:
    generator, again = np.random.default_rng(9), np.random.default_rng(9)
    drawn = NoisyCells(cells=np.zeros((2, 3)), scale=2.0).noise(generator)
    stop = -np.expm1(-0.5)
    assert (drawn == again.geometric(stop, drawn.shape) - again.geometric(stop, drawn.shape)).all()
