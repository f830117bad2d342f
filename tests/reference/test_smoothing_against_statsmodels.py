"""The smooth calibration curve beside statsmodels' lowess without robustness steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.nonparametric.smoothers_lowess import lowess

import confide
from confide import ScoreCounts

TOLERANCE = 1e-8


def calibrated_rows(size: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.beta(2.0, 3.0, size))
    return (rng.random(size) < 0.1 + 0.8 * scores).astype(np.int64), scores


@pytest.mark.parametrize("span", [0.3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("size", [40, 173])
def test_curve_at_every_score(size: int, span: float) -> None:
    labels, scores = calibrated_rows(size, seed=size)
    expected = lowess(labels.astype(float), scores, frac=span, it=0, delta=0.0, return_sorted=False)
    curve = confide.smooth_calibration(ScoreCounts.from_arrays(labels, scores), span=span)
    np.testing.assert_array_equal(curve.score, scores)
    np.testing.assert_allclose(curve.observed, np.clip(expected, 0.0, 1.0), atol=TOLERANCE)


def test_curve_at_chosen_scores_of_many() -> None:
    labels, scores = calibrated_rows(1_500, seed=2)
    curve = confide.smooth_calibration(ScoreCounts.from_arrays(labels, scores), span=0.5)
    expected = lowess(labels.astype(float), scores, frac=0.5, it=0, xvals=curve.score)
    assert curve.score.size <= 200
    np.testing.assert_allclose(curve.observed, np.clip(expected, 0.0, 1.0), atol=TOLERANCE)


def test_cells_of_very_many_scores_hardly_move_the_curve() -> None:
    labels, scores = calibrated_rows(6_000, seed=3)
    curve = confide.smooth_calibration(ScoreCounts.from_arrays(labels, scores))
    expected = lowess(labels.astype(float), scores, frac=0.75, it=0, xvals=curve.score)
    np.testing.assert_allclose(curve.observed, np.clip(expected, 0.0, 1.0), atol=1e-4)


def test_repeated_rows_are_weights() -> None:
    labels, scores = calibrated_rows(60, seed=4)
    times = np.random.default_rng(5).integers(1, 4, 60)
    weighted = confide.smooth_calibration(ScoreCounts.from_arrays(labels, scores, times))
    repeated = confide.smooth_calibration(ScoreCounts.from_arrays(np.repeat(labels, times), np.repeat(scores, times)))
    np.testing.assert_allclose(weighted.observed, repeated.observed, atol=1e-12)
    np.testing.assert_allclose(weighted.standard_error, repeated.standard_error, atol=1e-12)


def test_standard_error_is_that_of_the_linear_smoother() -> None:
    """Recover each row's weight by moving its label, then `se^2 = p (1 - p) sum w^2`."""
    labels, scores = calibrated_rows(50, seed=6)
    curve = confide.smooth_calibration(ScoreCounts.from_arrays(labels, scores))
    at = 20
    base = lowess(np.zeros(50), scores, frac=0.75, it=0, delta=0.0, return_sorted=False)
    weights = np.array(
        [
            lowess(np.eye(50)[row], scores, frac=0.75, it=0, delta=0.0, return_sorted=False)[at] - base[at]
            for row in range(50)
        ]
    )
    share = curve.observed[at]
    assert curve.standard_error[at] == pytest.approx(np.sqrt(share * (1 - share) * np.sum(weights**2)), rel=1e-6)
