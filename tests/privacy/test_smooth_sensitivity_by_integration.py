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
from confide.errors import ParameterError
from confide.privacy.mechanisms.smooth_sensitivity import (
    Calibration,
    pareto,
    published_cauchy,
    published_laplace,
    student_t,
)
from confide.privacy.noise.pareto import ParetoShape
from confide.privacy.noise.reals import upper_log
from tests.privacy.test_local_auc_by_enumeration import Law

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4)]
LARGE = [Fraction(14), Fraction(20), Fraction(60)]


def log_densities(calibration: Calibration, points: FloatArray) -> FloatArray:
    if calibration.shape is not None:
        side = calibration.shape.above
        return Law(float(side.core), float(side.tail)).log_density(points)
    shape = {
        "laplace": stats.laplace(),
        "cauchy": stats.cauchy(),
        "student-t": stats.t(max(calibration.degrees_of_freedom, 1)),
    }[calibration.family]
    logs: FloatArray = shape.logpdf(points)
    return logs


def losses(calibration: Calibration, points: FloatArray, part: float = 1.0) -> list[FloatArray]:
    """Log-ratios at points in units of the first scale, for every sign of the shift and of the dilation.

    A bound S(D) on D and S(D') = S(D) exp(t) on its neighbour; the value moves by at most the smaller. Both are
    multiplied by a `part` of at most 1.
    """
    found = []
    for stretch in (-part * float(calibration.beta), 0.0, part * float(calibration.beta)):
        for shift in (-part, 0.0, part):
            moved = shift * min(1.0, math.exp(stretch)) / float(calibration.multiplier)
            other = log_densities(calibration, (points - moved) * math.exp(-stretch)) - stretch
            found.append(log_densities(calibration, points) - other)
    return found


@pytest.mark.few(8)
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


@pytest.mark.few(5)
@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("epsilon", [*EPSILONS, *LARGE], ids=str)
def test_laplace_noise_keeps_its_delta(epsilon: Fraction, delta: Fraction) -> None:
    assert real_delta(published_laplace(epsilon, delta), epsilon) <= float(delta)


@pytest.mark.few(2)
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


# --- Pareto noise


PARETO_POINTS = np.concatenate(
    [np.linspace(-30.0, 30.0, 6_001), *(sign * np.geomspace(30.0, 1e9, 200) for sign in (1.0, -1.0)), [-1.0, 1.0]]
)
SHARES = [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]


def largest(calibration: Calibration, part: float = 1.0) -> float:
    return max(float(np.abs(ratio).max()) for ratio in losses(calibration, PARETO_POINTS, part))


@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize("epsilon", [*EPSILONS, *LARGE], ids=str)
def test_pareto_noise_never_loses_more_than_epsilon(epsilon: Fraction, share: Fraction) -> None:
    """And of a part of the shift and the dilation it loses no more than that part, which is nearly lost."""
    calibration = pareto(epsilon, epsilon * share)
    for part in (1.0, 0.3, 0.01):
        assert largest(calibration, part) <= part * float(epsilon) * (1.0 + 1e-7)
    assert largest(calibration, 1e-4) >= 1e-4 * float(epsilon) * (1.0 - 1e-2)


@pytest.mark.parametrize("share", SHARES[1:], ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("wrong", ["no core", "no tail", "beta too small"])
def test_pareto_noise_that_lacks_a_part_loses_more(wrong: str, epsilon: Fraction, share: Fraction) -> None:
    """Of a small part of the change more than the part. The core is as wide as a whole change if epsilon is 1."""
    sound = pareto(epsilon, epsilon * share)
    shape = {
        "no core": ParetoShape.symmetric(core=Fraction(0), tail=share),
        "no tail": ParetoShape.symmetric(core=share, tail=Fraction(0)),
        "beta too small": ParetoShape.symmetric(core=share / 2, tail=share / 2),
    }[wrong]
    broken = replace(sound, shape=shape)
    assert largest(broken, 0.01) > 0.01 * float(epsilon) * 1.02
    if epsilon < 1 or wrong == "no tail":
        assert largest(broken) > float(epsilon) * 1.01


def test_the_slope_of_pareto_noise_leaves_no_room() -> None:
    """What optimality rests on: `|h'| + beta |1 + z h'|` is epsilon everywhere, in units of 1/epsilon."""
    for share in (0.01, 0.1, 0.5, 0.9):
        x = np.concatenate((np.linspace(1e-3, 0.999, 500), np.geomspace(1.001, 1e4, 500)))
        law, step = Law(share, share), 1e-6 * x
        slope = (law.log_density(x + step) - law.log_density(x - step)) / (2.0 * step)
        assert np.abs(slope) + share * np.abs(1.0 + x * slope) == pytest.approx(1.0, rel=1e-6)


def test_pareto_noise_is_less_than_student_t_noise() -> None:
    """Mean sizes in units of S/epsilon at beta = epsilon/10, as the proof says."""
    x = np.concatenate((np.linspace(0.0, 30.0, 300_001), np.geomspace(30.0, 1e6, 100_001)))
    mean = 2.0 * float(np.trapezoid(x * np.exp(Law(0.1, 0.1).log_density(x)), x))
    assert mean == pytest.approx(1.134, abs=5e-4)
    student = float(student_t(Fraction(1), Fraction(1, 10)).multiplier) * float(stats.t(3).expect(abs))
    assert student == pytest.approx(1.82, abs=5e-3)


@pytest.mark.parametrize("beta", [Fraction(0), Fraction(1), Fraction(2)])
def test_a_beta_outside_the_proof_is_refused(beta: Fraction) -> None:
    with pytest.raises(ParameterError, match="between 0 and epsilon"):
        pareto(Fraction(1), beta)
