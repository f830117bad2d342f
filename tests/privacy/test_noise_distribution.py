"""Noise has the distribution it says, and the same test refuses noise that has another.

The test: of every event `j = c`, `j <= c`, `|j| = c` and `|j| >= c` the frequency is compared with its exact
probability by the binomial distribution's tails, at the rate `ALARM` divided by the number of events
(Bonferroni), so that `ALARM` bounds the chance of refusing right noise without any approximation. Nine
tests of right noise have no seed (OpenDP takes none): a run of this file raises a false alarm with a probability
below 1e-6. The others draw bits with fixed seeds, and always pass or always fail.

Power: each broken twin is refused with a probability above 0.999 at the number of draws used.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import cumulative_trapezoid, quad

from confide.privacy.noise.heavy_tailed import cauchy_on_grid, laplace_on_grid, student_t_on_grid
from confide.privacy.noise.integers import discrete_gaussian, discrete_laplace
from confide.privacy.noise.pareto import ParetoShape, Side, pareto_on_grid
from confide.privacy.noise.reals import ExactReal, exponential, maximum

pytestmark = pytest.mark.statistical

ALARM = 1e-7
Distribution = Callable[[float], float]


def refused(draws: Sequence[int], cdf: Distribution, cells: int) -> bool:
    """Whether draws on the integers cannot have this distribution function, judged within ±cells."""
    inside, outward = range(-cells, cells + 1), range(1, cells + 1)
    below = {c: cdf(c) for c in range(-cells - 1, cells + 1)}
    ordered, sizes = np.sort(draws), np.sort(np.abs(draws))
    at_most = np.searchsorted(ordered, inside, side="right")
    observed = np.concatenate(
        (
            at_most - np.searchsorted(ordered, inside, side="left"),
            at_most,
            np.searchsorted(sizes, outward, side="right") - np.searchsorted(sizes, outward, side="left"),
            len(draws) - np.searchsorted(sizes, outward, side="left"),
        )
    )
    probabilities = np.array(
        [below[c] - below[c - 1] for c in inside]
        + [below[c] for c in inside]
        + [below[c] - below[c - 1] + below[-c] - below[-c - 1] for c in outward]
        + [1.0 - below[c - 1] + below[-c] for c in outward]
    ).clip(0.0, 1.0)
    tails = np.minimum(
        stats.binom.cdf(observed, len(draws), probabilities), stats.binom.sf(observed - 1, len(draws), probabilities)
    )
    return bool(np.any(2.0 * tails < ALARM / probabilities.size))


def on_grid(ideal: Distribution, centre: float, step: float) -> Distribution:
    """The distribution function of the nearest integer to `centre + step * X`."""
    return lambda c: float(ideal((c + 0.5 - centre) / step))


def laplace_on_integers(scale: float) -> Distribution:
    q = math.exp(-1.0 / scale)
    return lambda c: 1.0 - q ** (c + 1) / (1.0 + q) if c >= 0 else q ** (-c) / (1.0 + q)


def gaussian_on_integers(scale: float) -> Distribution:
    reach = math.ceil(40 * scale) + 100
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
    cumulated = np.cumsum(weights) / weights.sum()
    return lambda c: float(cumulated[int(c) + reach])


# --- integers


def noise(draw: Callable[[Sequence[int], Fraction], list[int]], scale: Fraction, times: int) -> list[int]:
    return [noisy - 7 for noisy in draw([7] * times, scale)]


# OpenDP's sampler takes different paths for scales below one, whole scales and others.
@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [Fraction(2, 5), Fraction(3), Fraction(22, 7), Fraction(15)])
def test_discrete_laplace(scale: Fraction) -> None:
    assert not refused(noise(discrete_laplace, scale, 60_000), laplace_on_integers(float(scale)), cells=25)


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [Fraction(2, 5), Fraction(3), Fraction(22, 7), Fraction(15)])
def test_discrete_gaussian(scale: Fraction) -> None:
    assert not refused(noise(discrete_gaussian, scale, 25_000), gaussian_on_integers(float(scale)), cells=25)


def test_integer_noise_of_a_tenth_less_scale_is_refused() -> None:
    assert refused(noise(discrete_laplace, Fraction(27, 10), 60_000), laplace_on_integers(3.0), cells=25)
    assert refused(noise(discrete_gaussian, Fraction(27, 10), 25_000), gaussian_on_integers(3.0), cells=25)


def test_continuous_noise_rounded_to_integers_is_refused() -> None:
    rng = np.random.default_rng(1)
    rounded_laplace = [round(x) for x in rng.laplace(scale=2.0, size=60_000)]
    rounded_normal = [round(x) for x in rng.normal(scale=0.7, size=60_000)]
    assert refused(rounded_laplace, laplace_on_integers(2.0), cells=25)
    assert refused(rounded_normal, gaussian_on_integers(0.7), cells=25)


def geometric_laplace(scale: int, rng: random.Random, divide: Callable[[Fraction, int], Fraction]) -> int:
    """Canonne, Kamath and Steinke's sampler for whole scales, with a division of one's choice."""

    def happens_with_exponential(x: Fraction) -> bool:
        k = 0
        while True:
            k += 1
            chance = divide(x, k)
            if rng.randrange(chance.denominator) >= chance.numerator:
                return k % 2 == 1

    while True:
        u, v = rng.randrange(scale), 0
        if not happens_with_exponential(Fraction(u, scale)):
            continue
        while happens_with_exponential(Fraction(1)):
            v += 1
        magnitude, positive = v * scale + u, rng.random() < 0.5
        if positive or magnitude:
            return magnitude if positive else -magnitude


def divide_as_opendp_once_did(x: Fraction, k: int) -> Fraction:
    shared = math.gcd(x.numerator, k)
    return Fraction(x.numerator // shared, (x.denominator // shared) * k)


def test_the_sampler_that_opendp_once_had_is_refused() -> None:
    """Its fractions were divided wrongly; this is why older versions must not be installed."""
    rng = random.Random(2)
    right = [geometric_laplace(3, rng, lambda x, k: x / k) for _ in range(60_000)]
    wrong = [geometric_laplace(3, rng, divide_as_opendp_once_did) for _ in range(60_000)]
    assert not refused(right, laplace_on_integers(3.0), cells=25)
    assert refused(wrong, laplace_on_integers(3.0), cells=25)


# --- on a grid

GRID = Fraction(1, 8)
VALUE = Fraction(3, 80)  # 0.3 of a grid step: off the grid, and off the middle
RATIONAL = Fraction(1, 7)
IRRATIONAL = maximum(Fraction(1, 9), exponential(Fraction(-3, 2)), exponential(Fraction(-2)) * Fraction(8, 7))
STEPS = {"rational": float(RATIONAL / GRID), "irrational": math.exp(-1.5) / float(GRID)}
SCALES: dict[str, Fraction | ExactReal] = {"rational": RATIONAL, "irrational": IRRATIONAL}


def degrees_draws(d: int) -> int:
    return 60_000 if d >= 5 else 40_000 if d == 4 else 12_000


@cache
def student_draws(d: int) -> tuple[int, ...]:
    bits = random.Random(d).getrandbits
    return tuple(
        student_t_on_grid(VALUE, RATIONAL, GRID, degrees_of_freedom=d, bits=bits) for _ in range(degrees_draws(d))
    )


def student_cdf(d: int) -> Distribution:
    return on_grid(stats.t(d).cdf, float(VALUE / GRID), STEPS["rational"])


@pytest.mark.few(1)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_student_t_on_grid(d: int) -> None:
    assert not refused(student_draws(d), student_cdf(d), cells=20)


@pytest.mark.few(1)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_one_degree_of_freedom_more_is_refused(d: int) -> None:
    assert refused(student_draws(d + 1), student_cdf(d), cells=20)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", SCALES)
def test_laplace_on_grid(kind: str) -> None:
    bits = random.Random(11).getrandbits
    draws = [laplace_on_grid(VALUE, SCALES[kind], GRID, bits=bits) for _ in range(20_000)]
    assert not refused(draws, on_grid(stats.laplace.cdf, 0.3, STEPS[kind]), cells=12)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", SCALES)
def test_cauchy_on_grid(kind: str) -> None:
    bits = random.Random(12).getrandbits
    draws = [cauchy_on_grid(VALUE, SCALES[kind], GRID, bits=bits) for _ in range(20_000)]
    assert not refused(draws, on_grid(stats.cauchy.cdf, 0.3, STEPS[kind]), cells=20)


def test_the_systems_bits_give_the_same_distribution() -> None:
    draws = [laplace_on_grid(VALUE, RATIONAL, GRID) for _ in range(10_000)]
    assert not refused(draws, on_grid(stats.laplace.cdf, 0.3, STEPS["rational"]), cells=12)


@pytest.mark.parametrize("kind", SCALES)
def test_half_the_scale_is_refused(kind: str) -> None:
    bits, half = random.Random(13).getrandbits, SCALES[kind] / 2
    laplace = [laplace_on_grid(VALUE, half, GRID, bits=bits) for _ in range(5_000)]
    cauchy = [cauchy_on_grid(VALUE, half, GRID, bits=bits) for _ in range(5_000)]
    assert refused(laplace, on_grid(stats.laplace.cdf, 0.3, STEPS[kind]), cells=12)
    assert refused(cauchy, on_grid(stats.cauchy.cdf, 0.3, STEPS[kind]), cells=20)


def test_rounding_the_noise_instead_of_the_sum_is_refused() -> None:
    bits, rounded = random.Random(14).getrandbits, round(VALUE / GRID)
    laplace = [rounded + laplace_on_grid(Fraction(0), RATIONAL, GRID, bits=bits) for _ in range(20_000)]
    cauchy = [rounded + cauchy_on_grid(Fraction(0), RATIONAL, GRID, bits=bits) for _ in range(20_000)]
    assert refused(laplace, on_grid(stats.laplace.cdf, 0.3, STEPS["rational"]), cells=12)
    assert refused(cauchy, on_grid(stats.cauchy.cdf, 0.3, STEPS["rational"]), cells=20)


# --- Pareto noise

SHAPE = ParetoShape(above=Side(core=Fraction(1, 3)), below=Side(core=Fraction(1, 5), tail=Fraction(1, 4)))


def pareto_cdf(shape: ParetoShape) -> Distribution:
    """The distribution function, by quadrature of the density that the slopes give."""

    def density(side: Side, x: float) -> float:
        core, tail = float(side.core), float(side.tail)
        inner, _ = quad(lambda t: (1.0 - core) / (1.0 - core * t), 0.0, min(x, 1.0))
        return math.exp(-inner - (quad(lambda t: (1.0 + tail) / (1.0 + tail * t), 1.0, x)[0] if x > 1.0 else 0.0))

    steps = np.linspace(0.0, 60.0, 6001)
    mass = {
        name: cumulative_trapezoid(np.array([density(side, x) for x in steps.tolist()]), steps, initial=0)
        for name, side in (("above", shape.above), ("below", shape.below))
    }
    beyond = density(shape.below, 60.0) * (1.0 + 60.0 * float(shape.below.tail))  # of the power law's tail
    total = mass["above"][-1] + mass["below"][-1] + beyond

    def cdf(x: float) -> float:
        name = "above" if x >= 0.0 else "below"
        part = float(np.interp(abs(x), steps, mass[name]))
        return float((mass["below"][-1] + beyond + (part if x >= 0.0 else -part)) / total)

    return cdf


def pareto_noise(shape: ParetoShape, seed: int, times: int) -> list[int]:
    bits = random.Random(seed).getrandbits
    return [pareto_on_grid(Fraction(1, 3), Fraction(5), Fraction(1), shape=shape, bits=bits) for _ in range(times)]


def test_pareto_noise() -> None:
    cdf = on_grid(pareto_cdf(SHAPE), 1.0 / 3.0, 5.0)
    assert not refused(pareto_noise(SHAPE, 1, 15_000), cdf, cells=30)
    mirrored = ParetoShape(above=SHAPE.below, below=SHAPE.above)
    laplace = ParetoShape.symmetric(core=Fraction(0), tail=Fraction(0))
    for other in (mirrored, laplace):
        assert refused(pareto_noise(other, 1, 15_000), cdf, cells=30)
