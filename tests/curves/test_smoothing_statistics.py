"""Bias of calibration errors, and coverage of the pointwise band.

Each test draws samples from known curves. Tolerances are at least four standard errors of the mean over samples, which
repeated runs with other seeds gave, so a right smoother fails a test with a probability below 1e-4. Twins, smoothers
that are known to be too stiff or too loose, are off by eight standard errors or more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import ScoreCounts
from confide.curves import Loess, Spline, smooth_calibration
from confide.curves.smoothing import Smoother
from confide.metrics import integrated_calibration_index

pytestmark = pytest.mark.statistical

Floats = NDArray[np.float64]
Rates = Callable[[Floats], Floats]


def calibrated(scores: Floats) -> Floats:
    return scores


def s_shape(scores: Floats) -> Floats:
    return np.clip(scores + 0.17 * np.sin(2 * np.pi * scores), 0, 1)


def slope(power: float) -> Rates:
    """Return the rates whose log-odds are `power` times those of the score."""
    return lambda scores: 1 / (1 + ((1 - scores) / scores) ** power)


def samples(rates: Rates, size: int, count: int) -> Iterator[tuple[Floats, ScoreCounts]]:
    rng = np.random.default_rng(size)
    for _ in range(count):
        scores = rng.random(size)
        yield scores, ScoreCounts.from_arrays(rng.random(size) < rates(scores), scores)


def bias(rates: Rates, smoother: Smoother, size: int, count: int) -> float:
    """Mean over samples of ICI less its true value."""
    return float(
        np.mean(
            [
                integrated_calibration_index(counts, smoother=smoother) - np.mean(np.abs(rates(scores) - scores))
                for scores, counts in samples(rates, size, count)
            ]
        )
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("rates", [s_shape, slope(3.0), slope(1 / 3)], ids=["S", "slope 3", "slope 1/3"])
def test_curved_miscalibration_is_measured(rates: Rates) -> None:
    """True values are 0.108, 0.141 and 0.141; the mean of 30 samples has a standard error of 0.0015."""
    assert abs(bias(rates, Spline(), 2_000, 30)) < 0.006


@pytest.mark.parametrize("rates", [s_shape, slope(3.0)], ids=["S", "slope 3"])
def test_a_local_line_understates_it(rates: Rates) -> None:
    """The twin: a bias of -0.016 and -0.048, with a standard error of 0.003."""
    assert bias(rates, Loess(degree=1), 1_000, 6) < -0.006


def test_a_calibrated_model_looks_calibrated() -> None:
    """ICI of 1,000 rows is 0.015 in the mean, with a standard error of 0.001; 0.018 for R's loess of degree 2."""
    assert bias(calibrated, Spline(), 1_000, 50) < 0.019


def test_a_loose_smoother_makes_it_look_miscalibrated() -> None:
    assert bias(calibrated, Loess(span=0.2), 1_000, 6) > 0.025


def coverage(widened: float) -> float:
    """Share of scores at which the 95 % band of a calibrated model holds the truth."""
    inside = []
    for _, counts in samples(calibrated, 400, 250):
        curve = smooth_calibration(counts)
        wider = type(curve)(curve.score, curve.observed, curve.standard_error * widened)
        lower, upper = wider.band(0.95)
        inside.append(np.mean((lower <= curve.score) & (curve.score <= upper)))
    return float(np.mean(inside))


@pytest.mark.long
def test_the_pointwise_band_covers() -> None:
    """Coverage has a standard error of 0.011: whole curves of a sample are inside or outside together."""
    assert coverage(1.0) == pytest.approx(0.95, abs=0.045)


@pytest.mark.long
def test_half_the_band_does_not() -> None:
    """The twin covers about two thirds."""
    assert coverage(0.5) < 0.85
