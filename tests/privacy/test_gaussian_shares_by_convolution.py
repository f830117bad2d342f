"""The law of sums of Gaussian shares by convolution, and what they lose by brute force, against the proven bound."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import exp, pi

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.mechanisms.gaussian_shares import (
    FINENESS,
    share_variance,
    shared_gaussian_counts,
    shares_rho,
)
from confide.privacy.mechanisms.strategies import FLAT, Haar, Strategy, Tree
from confide.privacy.noise.gaussian_shares import LARGEST_VARIANCE

ORDERS = 1.0 + np.geomspace(1e-3, 12.0, 60)

SMALL = [(Fraction(1, 4), 2), (Fraction(1, 4), 3), (Fraction(1, 4), 5), (Fraction(2, 5), 2), (Fraction(2, 5), 8)]
"""Variances so small that the shares of a sum are seen to be discrete."""

KINDS = [*SMALL, (Fraction(1, 2), 4), (Fraction(1), 3), (Fraction(3), 2), (Fraction(1, 4), 1), (Fraction(9), 1)]


def law(variance: float, shares: int, reach: int) -> FloatArray:
    """The probabilities of a sum of shares from -reach to reach, by convolving those of single ones."""
    each = np.arange(-2 * reach, 2 * reach + 1)
    one = np.exp(-(each**2) / (2.0 * variance))
    whole = reduce(np.convolve, [one / one.sum()] * shares)
    centre = len(whole) // 2
    result: FloatArray = whole[centre - reach : centre + reach + 1]
    return result


def reach_of(variance: Fraction, shares: int) -> int:
    """So far out that less than 1e-60 is left, and floats have every number."""
    return int(np.sqrt(2.0 * float(variance) * 150.0))


def lost(variance: Fraction, shares: int) -> float:
    """The largest divergence over its order between a sum of shares and the same moved by 1: the rho that it needs."""
    reach = reach_of(variance, shares)
    logs = np.log(law(float(variance), shares, reach))
    here, there = logs[1:], logs[:-1]
    return max(float(np.log(np.exp(a * here + (1.0 - a) * there).sum()) / (a - 1.0) / a) for a in ORDERS)


@pytest.mark.parametrize(("variance", "shares"), KINDS)
def test_a_sum_loses_no_more_than_is_said(variance: Fraction, shares: int) -> None:
    bound = shares_rho(variance, shares)
    assert bound is not None
    assert lost(variance, shares) <= float(bound) * (1.0 + 1e-9)


@pytest.mark.parametrize(("variance", "shares"), SMALL)
def test_a_sum_loses_more_than_gaussian_noise_of_its_variance(variance: Fraction, shares: int) -> None:
    """So the extra term is needed: without it too little would be charged."""
    assert lost(variance, shares) > 1.0 / (2.0 * shares * float(variance)) * 1.005


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(2, 5), Fraction(1, 2)])
def test_the_ratio_of_two_shares_to_gaussian_noise_varies_by_the_extra_term(variance: Fraction) -> None:
    """For two shares T is met but for the bound on a series: rho shows T, as 1/s is known."""
    reach = 8
    places = np.arange(-reach, reach + 1)
    ratio = np.log(law(float(variance), 2, reach)) + places**2 / (4.0 * float(variance))
    bound = shares_rho(variance, 2)
    assert bound is not None
    wave = np.sqrt(2.0 * float(bound)) - 1.0 / np.sqrt(2.0 * float(variance))
    assert np.ptp(ratio) == pytest.approx(wave, rel=2e-3)
    assert np.ptp(ratio) <= wave * (1.0 + 1e-9)


@pytest.mark.parametrize("shares", [2, 3, 5, 10, 50, 1000])
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(4, 7), Fraction(1), Fraction(4)])
def test_the_extra_term_is_below_that_of_kairouz_liu_and_steinke(variance: Fraction, shares: int) -> None:
    tau = 10.0 * sum(exp(-2.0 * pi**2 * float(variance) * k / (k + 1)) for k in range(1, shares))
    theirs = (1.0 / np.sqrt(shares * float(variance)) + tau) ** 2 / 2.0
    bound = shares_rho(variance, shares)
    assert bound is not None
    assert 1.0 / (2.0 * shares * float(variance)) <= float(bound) <= theirs * (1.0 + 1e-12)
    ours = np.sqrt(2.0 * float(bound)) - 1.0 / np.sqrt(shares * float(variance))
    assert ours < 0.5 * tau + 1e-12


def test_a_variance_that_is_too_small_has_no_bound() -> None:
    assert shares_rho(Fraction(1, 10), 2) is None
    assert shares_rho(Fraction(1, 4), 1000) is None
    assert shares_rho(Fraction(1, 10), 1) == 5


@pytest.mark.parametrize("strategy", [FLAT, Tree(2), Haar()])
@pytest.mark.parametrize("honest", [1, 2, 3])
def test_a_row_at_one_site_by_brute_force(strategy: Strategy, honest: int) -> None:
    """Every row that can come: all integers together lose at most rho, and a twentieth less would not do."""
    cells, rho = np.array([[2, 0, 1], [0, 3, 1]]), Fraction(1, 5)
    variance = share_variance(rho, honest, levels=strategy.levels(3))
    before = shared_gaussian_counts(cells, variance, strategy)
    each = lost(before.variance, honest)
    for place in range(cells.size):
        more = cells.copy()
        more.flat[place] += 1
        after = shared_gaussian_counts(more, variance, strategy)
        assert after.variance == before.variance == variance
        moves = np.array(after.values) - np.array(before.values)
        assert set(moves.tolist()) <= {-1, 0, 1}
        all_lost = each * float(np.abs(moves).sum())
        assert 0.95 * float(rho) < all_lost <= float(rho) * (1.0 + 1e-9)


def test_a_share_less_loses_more_than_rho() -> None:
    """A site that colludes, or drops out unforeseen, takes its share of the noise with it."""
    variance = share_variance(Fraction(1, 10), 3)
    assert lost(variance, 3) <= 0.1
    assert lost(variance, 2) > 0.1 * 1.4
    alone = shares_rho(variance, 1)
    assert alone is not None
    assert lost(variance, 1) == pytest.approx(float(alone), rel=1e-6)


@pytest.mark.few(3)
@pytest.mark.parametrize("honest", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("rho", [Fraction(1, 10**9), Fraction(1, 200), Fraction(1, 3), Fraction(40)])
def test_the_variance_is_the_least_that_suffices(rho: Fraction, honest: int) -> None:
    for levels in (1, 6):
        variance = share_variance(rho, honest, levels=levels)
        bound, less = (shares_rho(v, honest, levels=levels) for v in (variance, variance - Fraction(1, FINENESS)))
        assert bound is not None
        assert bound <= rho
        assert less is None or less > rho
        assert variance * honest * 2 * rho >= levels


@pytest.mark.parametrize(("rho", "honest"), [(Fraction(0), 3), (Fraction(1, 10), 0), (Fraction(1, 10**30), 3)])
def test_nonsense_is_refused(rho: Fraction, honest: int) -> None:
    with pytest.raises(ParameterError):
        share_variance(rho, honest)
    with pytest.raises(ParameterError, match="room for noise"):
        shares_rho(Fraction(LARGEST_VARIANCE + 1), 1)
