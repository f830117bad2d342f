"""Limits of private numbers are those of plain bisection, to the last bit, in a third of its steps."""

from __future__ import annotations

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.privacy import noisy_numbers
from confide.privacy.noisy_numbers import ClassSizes, Probability, auc_spread, limits

RNG_SEED = 20
SPREADS = {"sample": None, "proportion": noisy_numbers.binomial_spread, "normal scores": auc_spread}


def bisected(probability: Probability, releases: int, chance: float) -> tuple[FloatArray, FloatArray]:
    low, high = np.zeros(releases), np.ones(releases)
    for _ in range(45):
        middle = (low + high) / 2.0
        above = probability(middle[:, None]).mean(axis=1) > chance
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return low, high


def probabilities(rows: int, releases: int, spread: noisy_numbers.Spread | None) -> list[Probability]:
    """Every kind of noise, with released values on both sides of what is possible."""
    rng = np.random.default_rng(RNG_SEED)
    sizes: ClassSizes = noisy_numbers.plausible_sizes(rng.uniform(-5.0, rows + 5.0, releases), 5.0, rows=rows)
    scales = np.full_like(sizes.positives, 0.03)
    values = rng.uniform(-0.2, 1.2, releases)
    smooth = [noisy_numbers.smooth_probability(values, scales, sizes, degrees, spread) for degrees in (0, 1, 3)]
    return [noisy_numbers.rank_sum_probability(values * rows, rows / 3.0, sizes, spread), *smooth]


@pytest.mark.few(5)
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("rows", [2, 40, 2_000])
@pytest.mark.parametrize("releases", [1, 12])
def test_limits_are_those_of_bisection(spread: str, level: float, rows: int, releases: int) -> None:
    tail = (1.0 - level) / 2.0
    for probability in probabilities(rows, releases, SPREADS[spread]):
        lower, upper = limits(probability, releases, level)
        np.testing.assert_array_equal(lower, bisected(probability, releases, 1.0 - tail)[0])
        np.testing.assert_array_equal(upper, bisected(probability, releases, tail)[1])


def test_fewer_steps_are_taken() -> None:
    probability, asked = probabilities(2_000, 1, auc_spread)[1], []

    def counted(theta: FloatArray) -> FloatArray:
        asked.append(theta)
        return probability(theta)

    limits(counted, 1, 0.95)
    assert len(asked) <= 45  # bisection takes 45 for each limit


def test_a_step_is_found_by_bisection() -> None:
    """A root finder has no slope to follow where a probability jumps."""
    at = 1.0 / 3.0

    def jump(theta: FloatArray) -> FloatArray:
        return np.where(theta < at, 1.0, 0.0)

    lower, upper = limits(jump, 1, 0.95)
    assert lower[0] <= at <= upper[0]
    assert upper[0] - lower[0] == 2.0**-45
