"""Loess of degree 1 beside statsmodels' lowess without robustness steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.nonparametric.smoothers_lowess import lowess

from confide import ScoreCounts
from confide.curves import Loess, smooth_calibration

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
    curve = smooth_calibration(ScoreCounts.from_arrays(labels, scores), smoother=Loess(span=span, degree=1))
    np.testing.assert_array_equal(curve.score, scores)
    np.testing.assert_allclose(curve.observed, np.clip(expected, 0.0, 1.0), atol=TOLERANCE)


def test_curve_at_chosen_scores_of_many() -> None:
    labels, scores = calibrated_rows(1_500, seed=2)
    curve = smooth_calibration(ScoreCounts.from_arrays(labels, scores), smoother=Loess(span=0.5, degree=1))
    expected = lowess(labels.astype(float), scores, frac=0.5, it=0, xvals=curve.score)
    assert curve.score.size <= 1_000
    np.testing.assert_allclose(curve.observed, np.clip(expected, 0.0, 1.0), atol=TOLERANCE)


def test_cells_of_very_many_scores_hardly_move_the_curve() -> None:
    labels, scores = calibrated_rows(6_000, seed=3)
    curve = smooth_calibration(ScoreCounts.from_arrays(labels, scores), smoother=Loess(degree=1))
    expected = lowess(labels.astype(float), scores, frac=0.75, it=0, xvals=curve.score)
    np.testing.assert_allclose(curve.observed, np.clip(expected, 0.0, 1.0), atol=1e-4)


def smoothed(labels: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = lowess(labels, scores, frac=0.75, it=0, delta=0.0, return_sorted=False)
    return found


@pytest.mark.parametrize("digits", [9, 2, 1])
def test_curve_and_standard_error_row_by_row(digits: int) -> None:
    """The smoother is linear: moving one label gives that row's weight, and `se^2 = p (1 - p) sum w^2` over rows.

    Rounded scores are tied, and a row weighs the same whether or not it shares its score.
    """
    labels, raw = calibrated_rows(60, seed=6)
    scores = np.round(raw, digits)
    curve = smooth_calibration(ScoreCounts.from_arrays(labels, scores), smoother=Loess(degree=1))
    first = np.searchsorted(scores, curve.score)
    np.testing.assert_allclose(curve.observed, smoothed(labels.astype(float), scores)[first].clip(0, 1), atol=TOLERANCE)
    weights = np.array([smoothed(np.eye(60)[row], scores)[first] for row in range(60)])
    expected = np.sqrt(curve.observed * (1 - curve.observed) * np.sum(weights**2, axis=0))
    np.testing.assert_allclose(curve.standard_error, expected, atol=1e-6)
