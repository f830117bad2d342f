"""Spherical Laplace noise has the law that it says, to the last digit, and a test that can tell it from others.

Bits come from a seed, so nothing here fails by chance; with other seeds each test of a law would fail with the
probability stated.
"""

# ruff: noqa: S311 - bits with a seed, so that a failure can be repeated
from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.bits import BitSource
from confide.privacy.noise.spherical import spherical_laplace_on_grid

pytestmark = pytest.mark.statistical

ALARM = 1e-4
DRAWS = 3000
FINE = Fraction(1, 2**60)

Floats = NDArray[np.float64]
Sampler = Callable[[int], Floats]


def drawn(width: int) -> Floats:
    bits = random.Random(width).getrandbits
    return np.array([[float(step * FINE) for step in noise(width, bits)] for _ in range(DRAWS)])


def noise(width: int, bits: BitSource) -> list[int]:
    return spherical_laplace_on_grid([Fraction(0)] * width, Fraction(1), FINE, bits=bits)


def apart(width: int) -> Floats:
    """A broken twin: each coordinate by itself, with the right spread."""
    return np.random.default_rng(width).laplace(0.0, np.sqrt((width + 1) / 2), size=(DRAWS, width))


def normal(width: int) -> Floats:
    """A broken twin: normal noise with the right spread."""
    return np.random.default_rng(width).normal(0.0, np.sqrt(width + 1), size=(DRAWS, width))


def box(width: int) -> Floats:
    """A broken twin: the right length, in the direction of a point of a cube."""
    rng = np.random.default_rng(width)
    points = rng.uniform(-1.0, 1.0, size=(DRAWS, width))
    lengths: Floats = rng.gamma(width, size=DRAWS) / np.linalg.norm(points, axis=1)
    return points * lengths[:, None]


def smallest_p(sample: Floats) -> float:
    """The smallest of the p-values that lengths and directions get, times their number (Bonferroni)."""
    width = sample.shape[1]
    lengths = np.linalg.norm(sample, axis=1)
    directions = sample / lengths[:, None]
    shape = (width - 1) / 2
    found = [stats.kstest(lengths, stats.gamma(width).cdf).pvalue]
    for weights in (np.eye(width)[0], np.eye(width)[-1], np.ones(width) / np.sqrt(width)):
        along = directions @ weights
        found.append(stats.kstest((along + 1) / 2, stats.beta(shape, shape).cdf).pvalue)
        found.append(stats.spearmanr(lengths, along).pvalue)
    return float(min(found) * len(found))


@pytest.mark.parametrize("width", [2, 5])
def test_the_length_is_gamma_and_the_direction_uniform(width: int) -> None:
    """Fails with a probability of at most 10^-4 for other bits."""
    assert smallest_p(drawn(width)) > ALARM


def test_in_one_dimension_it_is_laplace_noise() -> None:
    """Fails with a probability of at most 10^-4 for other bits."""
    assert stats.kstest(drawn(1)[:, 0], stats.laplace.cdf).pvalue > ALARM


@pytest.mark.parametrize("width", [5, 8])
@pytest.mark.parametrize("twin", [apart, normal, box])
def test_the_same_test_rejects_other_noise(twin: Sampler, width: int) -> None:
    assert smallest_p(twin(width)) < ALARM


# --- to the last digit


def exactly(values: list[Fraction], scale: Fraction, grid: Fraction, seed: int) -> list[int]:
    """What comes out of the first 128 digits of each uniform number, in 80 decimal digits."""
    bits = random.Random(seed).getrandbits
    width = len(values)
    lengths = [bits(128) for _ in range(width)]
    pairs = [(bits(128), bits(128)) for _ in range((width + 1) // 2)]
    with mpmath.workdps(80):
        half = mpmath.mpf(1) / 2
        uniform = {digits: (digits + half) / mpmath.mpf(2) ** 128 for pair in pairs for digits in pair}
        length = -mpmath.fsum(mpmath.log((digits + half) / mpmath.mpf(2) ** 128) for digits in lengths)
        normals: list[mpmath.mpf] = []
        for radial, angular in pairs:
            radius, angle = mpmath.sqrt(-2 * mpmath.log(uniform[radial])), 2 * mpmath.pi * uniform[angular]
            normals += [radius * mpmath.cos(angle), radius * mpmath.sin(angle)]
        normals = normals[:width]
        factor = length * scale.numerator / scale.denominator / mpmath.sqrt(mpmath.fsum(n * n for n in normals))
        return [
            int(
                mpmath.floor(
                    (mpmath.mpf(value.numerator) / value.denominator + factor * normal)
                    * grid.denominator
                    / grid.numerator
                    + half
                )
            )
            for value, normal in zip(values, normals, strict=True)
        ]


@given(
    seed=st.integers(0, 2**32),
    values=st.lists(st.fractions(-100, 100), min_size=1, max_size=7),
    scale=st.fractions(Fraction(1, 10**6), 10**6),
    grid=st.fractions(Fraction(1, 10**12), 10),
)
def test_every_coordinate_is_the_nearest_grid_point(
    seed: int, values: list[Fraction], scale: Fraction, grid: Fraction
) -> None:
    found = spherical_laplace_on_grid(values, scale, grid, bits=random.Random(seed).getrandbits)
    assert found == exactly(values, scale, grid, seed)


@given(seed=st.integers(0, 2**32), values=st.lists(st.fractions(-9, 9), min_size=1, max_size=4), moved=st.integers())
def test_a_shift_by_grid_steps_shifts_the_result(seed: int, values: list[Fraction], moved: int) -> None:
    grid = Fraction(1, 100)
    here, there = (
        spherical_laplace_on_grid(each, Fraction(2), grid, bits=random.Random(seed).getrandbits)
        for each in (values, [value + moved * grid for value in values])
    )
    assert there == [step + moved for step in here]


def test_more_digits_are_drawn_until_the_noise_is_known() -> None:
    """A uniform number whose first 128 digits are 0 might be 0, whose logarithm has no end."""
    rng, calls = random.Random(3), iter(range(100))

    def bits(count: int, /) -> int:
        return 0 if next(calls) == 0 else rng.getrandbits(count)

    (found,) = spherical_laplace_on_grid([Fraction(0)], Fraction(1), Fraction(1, 100), bits=bits)
    assert 128 * np.log(2) < abs(found) / 100 < 140 * np.log(2)


def test_a_stuck_source_is_refused() -> None:
    with pytest.raises(ConfideError, match="million random bits"):
        spherical_laplace_on_grid([Fraction(0)], Fraction(1), Fraction(1), bits=lambda count: 0)


def test_nothing_is_drawn_for_no_numbers() -> None:
    assert spherical_laplace_on_grid([], Fraction(1), Fraction(1), bits=lambda count: pytest.fail("bits")) == []


@pytest.mark.parametrize(
    ("value", "scale", "grid", "said"),
    [
        (Fraction(0), Fraction(0), Fraction(1), "scale"),
        (Fraction(0), Fraction(-1), Fraction(1), "scale"),
        (Fraction(0), 1.0, Fraction(1), "scale"),
        (Fraction(0), Fraction(1), Fraction(0), "grid"),
        (0.5, Fraction(1), Fraction(1), "exact number"),
    ],
)
def test_what_is_not_exact_is_refused(value: Fraction, scale: Fraction, grid: Fraction, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        spherical_laplace_on_grid([value], scale, grid, bits=lambda count: pytest.fail("bits"))
