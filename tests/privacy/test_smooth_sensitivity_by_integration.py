"""Noise scaled to a smooth bound keeps its promise at the worst that the proof allows, by numerical integration.

The worst: the value moves by the whole bound and the bound changes by exp(beta), at once. Nothing is drawn here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from confide.counts import FloatArray
from confide.privacy.mechanisms.smooth_sensitivity import Calibration, published_cauchy, published_laplace, student_t
from confide.privacy.noise.reals import upper_log

pytestmark = pytest.mark.slow

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4)]
LARGE = [Fraction(14), Fraction(20), Fraction(60)]


def log_densities(calibration: Calibration, points: FloatArray) -> FloatArray:
    shape = {
        "laplace": stats.laplace(),
        "cauchy": stats.cauchy(),
        "student-t": stats.t(max(calibration.degrees_of_freedom, 1)),
    }[calibration.family]
    logs: FloatArray = shape.logpdf(points)
    return logs


def losses(calibration: Calibration, points: FloatArray) -> list[FloatArray]:
    """Log-ratios at points in units of the first scale, for every sign of the shift and of the dilation.

    A bound S(D) on D and S(D') = S(D) exp(t) on its neighbour; the value moves by at most the smaller.
    """
    found = []
    for stretch in (-float(calibration.beta), 0.0, float(calibration.beta)):
        for shift in (-1.0, 0.0, 1.0):
            moved = shift * min(1.0, math.exp(stretch)) / float(calibration.multiplier)
            other = log_densities(calibration, (points - moved) * math.exp(-stretch)) - stretch
            found.append(log_densities(calibration, points) - other)
    return found


@pytest.mark.parametrize("epsilon", [*EPSILONS, *LARGE], ids=str)
@pytest.mark.parametrize("kind", ["student-t", "one degree of freedom", "steep", "published"])
def test_pure_noise_never_loses_more_than_epsilon(kind: str, epsilon: Fraction) -> None:
    calibration = {
        "student-t": student_t(epsilon, epsilon / 10),
        "one degree of freedom": student_t(epsilon, epsilon / 2, 1),
        "steep": student_t(epsilon, epsilon * Fraction(3, 10)),
        "published": published_cauchy(epsilon),
    }[kind]
    points = np.concatenate(
        (np.linspace(-30.0, 30.0, 60_001), np.geomspace(30.0, 1e9, 500), -np.geomspace(30.0, 1e9, 500))
    )
    largest = max(float(ratio.max()) for ratio in losses(calibration, points))
    assert largest <= float(epsilon) * (1.0 + 1e-9)


def real_delta(calibration: Calibration, epsilon: Fraction) -> float:
    """The integral of what one density exceeds exp(epsilon) times the other by."""
    points = np.linspace(-60.0, 60.0, 240_001)
    density = np.exp(log_densities(calibration, points))
    excess = (density * -np.expm1(np.minimum(float(epsilon) - ratio, 0.0)) for ratio in losses(calibration, points))
    return max(float(each.sum()) * float(points[1] - points[0]) for each in excess)


DELTAS = [Fraction(1, 100), Fraction(1, 10**4), Fraction(1, 10**6)]


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("epsilon", [*EPSILONS, *LARGE], ids=str)
def test_laplace_noise_keeps_its_delta(epsilon: Fraction, delta: Fraction) -> None:
    assert real_delta(published_laplace(epsilon, delta), epsilon) <= float(delta)


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("epsilon", LARGE, ids=str)
def test_the_published_beta_would_not_where_epsilon_is_large(epsilon: Fraction, delta: Fraction) -> None:
    ours = published_laplace(epsilon, delta)
    published = replace(ours, beta=epsilon / (2 * upper_log(2 / delta)))
    assert real_delta(published, epsilon) > float(delta)


def test_half_of_the_noise_would_not_do() -> None:
    epsilon = Fraction(1)
    for sound in (student_t(epsilon, epsilon / 10), published_laplace(epsilon, Fraction(1, 100))):
        points = np.linspace(-30.0, 30.0, 60_001)
        halved = Calibration(
            family=sound.family,
            beta=sound.beta,
            multiplier=sound.multiplier / 3,
            degrees_of_freedom=sound.degrees_of_freedom,
        )
        assert max(float(ratio.max()) for ratio in losses(halved, points)) > float(epsilon)
