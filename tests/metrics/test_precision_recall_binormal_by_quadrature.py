"""The binormal AUCPR, equation 4.11 with its sign put right, by adaptive quadrature."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

import confide
from confide import ScoreCounts
from confide.metrics.precision_recall import binormal_parameters

TOLERANCE = 1e-9


def with_moments(mean: float, deviation: float, size: int) -> NDArray[np.float64]:
    """Numbers whose sample mean and standard deviation are exactly these."""
    raw = np.linspace(-1.0, 1.0, size)
    standard: NDArray[np.float64] = raw / np.std(raw, ddof=1)
    return mean + deviation * standard


def expected_area(
    mean_y: float, sd_y: float, mean_x: float, sd_x: float, pi: float, low: float = 0.0, high: float = 1.0
) -> float:
    """Over `t = Phi(z)`: there the integrand has no steep end, only a turn where half the negatives are called."""

    def integrand(z: float) -> float:
        caught, alarm = pi * ndtr(z), (1 - pi) * ndtr((mean_x - mean_y) / sd_x + sd_y / sd_x * z)
        return float(caught / (caught + alarm) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))

    first, last = max(float(ndtri(low)), -12.0), min(float(ndtri(high)), 12.0)
    turn, width = (mean_y - mean_x) / sd_y, sd_x / sd_y
    inner = (turn + k * width for k in (-16, -8, -4, -2, 0, 2, 4, 8, 16))
    breaks = sorted({first, last, *(z for z in inner if first < z < last)})
    return float(sum(quad(integrand, a, b, epsabs=1e-14, epsrel=1e-10, limit=500)[0] for a, b in pairwise(breaks)))


CASES = [
    # mean and deviation of positives, of negatives, positives, negatives
    (1.0, 1.0, 0.0, 1.0, 20, 180),
    (0.5, 0.3, 0.0, 1.0, 50, 50),
    (0.0, 1.0, 1.0, 0.5, 30, 70),
    (3.0, 2.0, 0.0, 0.4, 5, 995),
    (0.0, 1.0, 0.0, 1.0, 10, 30),
    (4.0, 0.5, 0.0, 0.5, 7, 7),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("between", [(0.0, 1.0), (0.5, 1.0), (0.1, 0.35)])
def test_area(case: tuple[float, float, float, float, int, int], between: tuple[float, float]) -> None:
    mean_y, sd_y, mean_x, sd_x, n, m = case
    scores = np.concatenate((with_moments(mean_y, sd_y, n), with_moments(mean_x, sd_x, m)))
    counts = ScoreCounts.from_arrays([1] * n + [0] * m, scores)
    found = confide.aucpr_score(counts, estimator="binormal", recall=between)
    assert found == pytest.approx(expected_area(mean_y, sd_y, mean_x, sd_x, n / (n + m), *between), abs=TOLERANCE)


@pytest.mark.parametrize("ratio", [0.02, 40.0])
def test_area_with_very_different_spreads(ratio: float) -> None:
    scores = np.concatenate((with_moments(0.2, ratio, 30), with_moments(0.0, 1.0, 70)))
    counts = ScoreCounts.from_arrays([1] * 30 + [0] * 70, scores)
    found = confide.aucpr_score(counts, estimator="binormal")
    assert found == pytest.approx(expected_area(0.2, ratio, 0.0, 1.0, 0.3), abs=1e-7)


def test_parameters_have_the_corrected_sign() -> None:
    scores = np.concatenate((with_moments(2.0, 0.5, 9), with_moments(1.0, 0.25, 11)))
    intercept, slope = binormal_parameters(ScoreCounts.from_arrays([1] * 9 + [0] * 11, scores))
    assert (intercept, slope) == pytest.approx((-4.0, 2.0), abs=1e-12)


def test_equal_normals_give_the_prevalence() -> None:
    scores = np.concatenate((with_moments(0.0, 1.0, 20), with_moments(0.0, 1.0, 60)))
    counts = ScoreCounts.from_arrays([1] * 20 + [0] * 60, scores)
    assert confide.aucpr_score(counts, estimator="binormal") == pytest.approx(0.25, abs=TOLERANCE)


def test_a_class_without_spread_has_none() -> None:
    assert np.isnan(confide.aucpr_score(ScoreCounts.from_arrays([1, 1, 0, 0], [2, 2, 1, 0]), estimator="binormal"))
    assert np.isnan(confide.aucpr_score(ScoreCounts.from_arrays([1, 0, 0], [2, 1, 0]), estimator="binormal"))
