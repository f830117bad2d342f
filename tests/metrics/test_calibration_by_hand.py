"""Calibration errors and the observed-to-expected ratio, worked out by hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.curves import Loess, Spline
from tests.random_rows import random_rows

# Two bins of ten hold rows: [0.1, 0.2) with one of four positive, [0.8, 0.9) with two of three.
LABELS = [1, 0, 0, 0, 1, 1, 0]
SCORES = [0.1, 0.12, 0.15, 0.17, 0.8, 0.83, 0.86]
ROWS = ScoreCounts.from_arrays(LABELS, SCORES)


def test_expected_calibration_error() -> None:
    low, high = abs(1 / 4 - 0.54 / 4), abs(2 / 3 - 2.49 / 3)
    assert confide.metrics.expected_calibration_error(ROWS) == pytest.approx((4 * low + 3 * high) / 7, abs=1e-14)
    assert confide.metrics.expected_calibration_error(ROWS, bins=1) == pytest.approx(abs(3 - 3.03) / 7, abs=1e-14)


def test_expected_calibration_error_of_equal_mass() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.9])
    expected = (2 * abs(1 / 2 - 0.15) + 2 * abs(1 / 2 - 0.6)) / 4
    assert confide.metrics.expected_calibration_error(counts, bins=2, binning="mass") == pytest.approx(
        expected, abs=1e-14
    )


def test_observed_over_expected() -> None:
    assert confide.metrics.observed_expected_ratio(ROWS) == pytest.approx(3 / 3.03, abs=1e-14)
    weights = [1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 4.0]
    weighted = ScoreCounts.from_arrays(LABELS, SCORES, weights)
    assert confide.metrics.observed_expected_ratio(weighted) == pytest.approx(2.5 / np.dot(weights, SCORES), abs=1e-14)


@pytest.mark.parametrize("smoother", ["spline", "loess"])
def test_calibration_errors_summarise_the_distances_of_all_rows(smoother: Literal["spline", "loess"]) -> None:
    rows = random_rows("distinct", size=150)
    curve = confide.curves.smooth_calibration(rows.counts, smoother=smoother)
    assert curve.score.size == 150
    distance = np.abs(curve.observed - curve.score)
    found = confide.metrics.calibration_errors(rows.counts, smoother=smoother)
    expected = [distance.mean(), np.median(distance), distance.max()]
    assert [found.ici, found.e50, found.emax] == pytest.approx(expected, abs=1e-14)
    assert found.e90 == pytest.approx(np.quantile(distance, 0.9, method="averaged_inverted_cdf"), abs=1e-14)
    by_name = [
        confide.metric_score(rows.counts, f"calibration_{name}", smoother=smoother) for name in ("e50", "e90", "emax")
    ]
    assert by_name == [found.e50, found.e90, found.emax]


def test_integrated_calibration_index_weighs_repeated_rows() -> None:
    rows = random_rows("tied and repeated")
    curve = confide.curves.smooth_calibration(rows.counts)
    assert rows.weights is not None
    at_rows = np.abs(curve.observed[np.searchsorted(curve.score, rows.scores)] - rows.scores)
    found = confide.metrics.calibration_errors(rows.counts)
    assert found.ici == pytest.approx(np.average(at_rows, weights=rows.weights), abs=1e-14)
    repeated = np.repeat(at_rows, rows.weights.astype(np.int64))
    for value, share in ((found.e50, 0.5), (found.e90, 0.9), (found.emax, 1.0)):
        assert value == pytest.approx(np.quantile(repeated, share, method="averaged_inverted_cdf"), abs=1e-14)


def test_perfect_straight_line_has_no_error() -> None:
    """Shares equal to scores lie on a line in log-odds, and every smoother finds it: 1 of 4, 2 of 4 and 3 of 4."""
    counts = ScoreCounts(np.array([0.25, 0.5, 0.75]), np.array([1, 2, 3]), np.array([3, 2, 1]))
    for smoother in (Spline(), Loess(), Loess(degree=1)):
        found = confide.metrics.calibration_errors(counts, smoother=smoother)
        assert [found.ici, found.e50, found.e90, found.emax] == pytest.approx([0.0] * 4, abs=1e-8)
    assert confide.metrics.joint_intercept(counts) == pytest.approx(0.0, abs=1e-9)
    assert confide.metrics.calibration_slope(counts) == pytest.approx(1.0, abs=1e-9)
    assert confide.metrics.calibration_intercept(counts) == pytest.approx(0.0, abs=1e-9)
    assert confide.metrics.observed_expected_ratio(counts) == 1.0
    assert confide.metrics.scaled_brier_score(counts) == pytest.approx(
        1 - confide.brier_score(counts) / 0.25, abs=1e-14
    )
