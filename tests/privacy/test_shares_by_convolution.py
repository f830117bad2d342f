"""The law of shares of noise by convolution, what they lose by brute force, and the sampler against mpmath by bits."""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest
from scipy import stats

from confide.counts import FloatArray
from confide.privacy.mechanisms.noise_shares import alone_epsilon, shared_counts
from confide.privacy.mechanisms.private_counts import private_counts
from confide.privacy.mechanisms.strategies import FLAT, Haar, Strategy, Tree
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.shares import laplace_share

REACH = 300
"""Laws are tabulated from -REACH to REACH, beyond which the noise of the scales used here has less than 1e-30."""


def law(shares: int, honest: int, scale: float) -> FloatArray:
    """The probabilities of a sum of shares, by convolving those of single ones."""
    one_side = stats.nbinom.pmf(np.arange(REACH + 1), 1.0 / honest, -np.expm1(-1.0 / scale))
    share = np.convolve(one_side, one_side[::-1])
    centre = slice(REACH * (shares - 1), REACH * (shares + 1) + 1)
    return reduce(np.convolve, [share] * shares)[centre]


def losses(probabilities: FloatArray, within: int) -> FloatArray:
    """Log-ratios of neighbouring integers near 0, where floats have them to 1e-12."""
    near = probabilities[REACH - within : REACH + within + 1]
    return np.abs(np.diff(np.log(near)))


@pytest.mark.parametrize("honest", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_shares_add_up_to_discrete_laplace_noise(honest: int, scale: float) -> None:
    p, k = np.exp(-1.0 / scale), np.abs(np.arange(-REACH, REACH + 1))
    assert np.abs(law(honest, honest, scale) - (1.0 - p) / (1.0 + p) * p**k).max() < 1e-12


@pytest.mark.parametrize("honest", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_enough_shares_hold_epsilon_and_one_less_does_not(honest: int, epsilon: Fraction) -> None:
    scale, promised = float(1 / epsilon), float(epsilon)
    for shares in range(1, honest + 2):
        lost = losses(law(shares, honest, scale), within=12).max()
        if shares < honest:
            assert lost > promised * 1.01
            assert lost == pytest.approx(float(alone_epsilon(epsilon, honest, shares=shares)), abs=1e-10)
        else:
            assert lost < promised + 1e-10
            assert alone_epsilon(epsilon, honest, shares=shares) == epsilon


@pytest.mark.parametrize("shares", [1, 2])
def test_the_largest_loss_is_at_zero_and_falls_from_there(shares: int) -> None:
    found = losses(law(shares, 3, 2.0), within=12)
    outward = found[12:]
    assert (np.diff(outward) < 0.0).all()
    assert np.allclose(found[:12][::-1], outward, atol=1e-10)
    assert outward[-1] > 0.5


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 2), Fraction(1), Fraction(30)])
@pytest.mark.parametrize(("shares", "honest"), [(1, 2), (1, 3), (1, 1000), (3, 4), (499, 1000)])
def test_what_shares_alone_promise_by_hypergeometric_functions(epsilon: Fraction, shares: int, honest: int) -> None:
    with mpmath.workdps(50):
        r, p = mpmath.mpf(shares) / honest, mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        still, moved = mpmath.hyp2f1(r, r, 1, p * p), mpmath.hyp2f1(r, r + 1, 2, p * p)
        expected = mpmath.log(still / (r * p * moved))
        found = alone_epsilon(epsilon, honest, shares=shares)
        over = mpmath.mpf(found.numerator) / found.denominator - expected
        assert 0 <= over < expected * mpmath.mpf(2) ** -59
        assert expected <= mpmath.mpf(epsilon.numerator) / epsilon.denominator + mpmath.log(1 / r)


def test_published_table_of_what_one_share_promises() -> None:
    found = [[float(alone_epsilon(epsilon, m)) for m in (2, 3, 4)] for epsilon in (Fraction(1, 2), Fraction(1))]
    assert found == [
        pytest.approx([1.13754, 1.54946, 1.84511], abs=1e-5),
        pytest.approx([1.67514, 2.08263, 2.37284], abs=1e-5),
    ]


@pytest.mark.parametrize("strategy", [FLAT, Tree(2), Haar()])
def test_a_row_at_one_site_by_brute_force(strategy: Strategy) -> None:
    """Every row that can come: the whole noise loses at most epsilon, and one share alone what it is said to."""
    cells, epsilon, honest = np.array([[2, 0, 1], [0, 3, 1]]), Fraction(1), 3
    before = shared_counts(cells, epsilon, honest=honest, strategy=strategy)
    levels = strategy.levels(3)
    whole, alone = (np.log(law(shares, honest, float(before.scale))) for shares in (honest, 1))
    lost, lost_alone = [], []
    for place in range(cells.size):
        more = cells.copy()
        more.flat[place] += 1
        after = shared_counts(more, epsilon, honest=honest, strategy=strategy)
        assert (after.scale, after.honest) == (before.scale, before.honest)
        moves = np.array(after.values) - np.array(before.values)
        around = np.arange(-12, 13) + REACH
        lost.append(sum(np.abs(whole[around] - whole[around - move]).max() for move in moves))
        lost_alone.append(sum(np.abs(alone[around] - alone[around - move]).max() for move in moves))
    assert max(lost) == pytest.approx(float(epsilon), abs=1e-9)
    assert max(lost_alone) == pytest.approx(float(alone_epsilon(epsilon, honest, levels=levels)), abs=1e-9)


@pytest.mark.parametrize("strategy", [FLAT, Tree(2), Haar()])
def test_a_site_asks_what_a_release_under_full_noise_asks(strategy: Strategy) -> None:
    cells, epsilon = np.array([[2, 0, 1], [0, 3, 1]]), Fraction(2, 3)
    full = private_counts(cells, epsilon, Neighbours.ADD_REMOVE_ONE, strategy)
    shared = shared_counts(cells, epsilon, honest=4, strategy=strategy)
    assert shared.values == full.values
    assert {shared.scale} == set(full.scales)


# --- the sampler, bit by bit


def share_by_mpmath(scale: Fraction, honest: int, bits: random.Random) -> int:
    """One share from the same bits, with 500 digits and without balls."""
    p = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    logarithm = -mpmath.log(1 - p)
    mean = 2 * logarithm / honest
    uniform = mpmath.mpf(bits.getrandbits(64)) / 2**64
    jumps, tail, term = 0, 1 - mpmath.exp(-mean), mpmath.exp(-mean)
    while uniform < tail:
        jumps += 1
        term *= mean / jumps
        tail -= term
    share = 0
    for _ in range(jumps):
        mixed, height = (mpmath.mpf(bits.getrandbits(128)) / 2**128 for _ in range(2))
        width = 1 + int(mpmath.floor(mpmath.log(height) / mpmath.log(1 - (1 - p) ** mixed)))
        share += width if bits.getrandbits(1) else -width
    return share


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("scale", "honest", "times"),
    [
        (Fraction(1, 3), 1, 300),
        (Fraction(1), 4, 400),
        (Fraction(22, 7), 2, 200),
        (Fraction(1000), 3, 60),
        (Fraction(2**55), 1, 4),
        (Fraction(2**55), 1000, 100),
    ],
)
def test_the_sampler_decides_as_500_digits_do(scale: Fraction, honest: int, times: int) -> None:
    ours, theirs = random.Random(5), random.Random(5)
    found = laplace_share([0] * times, scale, honest, bits=ours.getrandbits)
    with mpmath.workdps(500):
        assert found == [share_by_mpmath(scale, honest, theirs) for _ in range(times)]
    assert any(found)
    assert ours.getstate() == theirs.getstate()
