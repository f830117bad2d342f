"""The law of Pareto noise in floats, against quadrature of its density."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from confide.privacy.noisy_numbers import NoiseSide, ParetoNoise

LAPLACE = NoiseSide(core=0.0, tail=0.0)
SHAPES = {
    "laplace": ParetoNoise(above=LAPLACE, below=LAPLACE),
    "symmetric": ParetoNoise(above=NoiseSide(core=0.2, tail=0.02), below=NoiseSide(core=0.2, tail=0.02)),
    "one-sided": ParetoNoise(above=NoiseSide(core=0.3, tail=0.0), below=NoiseSide(core=0.0, tail=0.2)),
}
every_shape = pytest.mark.parametrize("noise", SHAPES.values(), ids=SHAPES)


def density(noise: ParetoNoise, x: float) -> float:
    side = noise.above if x >= 0.0 else noise.below
    return math.exp(-float(side.fall(np.array(abs(x))))) / noise.mass


def below(noise: ParetoNoise, x: float) -> float:
    kinks = [kink for kink in (-1.0, 0.0, 1.0) if -50.0 < kink < x]
    near, _ = quad(lambda t: density(noise, t), -50.0, x, points=kinks or None, limit=200)
    far, _ = quad(lambda t: density(noise, t), -np.inf, -50.0)
    return near + far


@every_shape
def test_density_distribution_and_quantiles_belong_together(noise: ParetoNoise) -> None:
    for x in (-8.0, -1.5, -0.4, 0.0, 0.7, 1.0, 3.0):
        chance = float(noise.cdf(np.array([x]))[0])
        assert chance == pytest.approx(below(noise, x), abs=1e-8)
        assert float(noise.quantile(np.array([chance]))[0]) == pytest.approx(x, abs=1e-9)
    parts = (quad(lambda x: abs(x) * density(noise, x), *ends)[0] for ends in ((-np.inf, 0.0), (0.0, np.inf)))
    assert noise.mean_absolute == pytest.approx(sum(parts), rel=1e-6)


def test_laplace_noise_is_a_special_case() -> None:
    assert SHAPES["laplace"].mean_absolute == pytest.approx(1.0)
    assert float(SHAPES["laplace"].cdf(np.array([2.0]))[0]) == pytest.approx(1.0 - math.exp(-2.0) / 2.0)


@pytest.mark.few(4)
@every_shape
@pytest.mark.parametrize("deviation", [0.05, 0.7, 1.0, 1.001, 3.0, 20.0])
def test_a_sum_with_a_normal_error(noise: ParetoNoise, deviation: float) -> None:
    """Within 0.0006, on either side of where the way of averaging changes."""
    for x in (-5.0, -1.0, 0.0, 0.5, 2.0, 6.0):
        kinks = sorted({min(max((x - kink) / deviation, -9.0), 9.0) for kink in (-1.0, 0.0, 1.0)})

        def part(error: float, x: float = x) -> float:
            return float(norm.pdf(error) * noise.cdf(np.array([x - deviation * error]))[0])

        exact, _ = quad(part, -9.0, 9.0, points=kinks, limit=200)
        found = noise.with_normal_cdf(np.array([x]), np.array([deviation]), np.array([1.0]))
        assert float(found[0]) == pytest.approx(exact, abs=6e-4)
