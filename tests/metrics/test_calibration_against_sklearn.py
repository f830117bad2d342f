"""Brier score, log loss and binned calibration, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.calibration import calibration_curve

import confide
from confide import ScoreCounts
from tests.random_rows import KINDS, RandomRows, random_rows

TOLERANCE = 1e-12


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> RandomRows:
    return random_rows(request.param)


def test_brier_score(rows: RandomRows) -> None:
    expected = sklearn_metrics.brier_score_loss(rows.labels, rows.scores, sample_weight=rows.weights)
    assert confide.brier_score(rows.counts) == pytest.approx(expected, abs=TOLERANCE)


def test_scaled_brier_score(rows: RandomRows) -> None:
    expected = sklearn_metrics.d2_brier_score(rows.labels, rows.scores, sample_weight=rows.weights)
    assert confide.metrics.scaled_brier_score(rows.counts) == pytest.approx(expected, abs=TOLERANCE)


def test_log_loss(rows: RandomRows) -> None:
    expected = sklearn_metrics.log_loss(rows.labels, rows.scores, sample_weight=rows.weights)
    assert confide.log_loss(rows.counts) == pytest.approx(expected, abs=TOLERANCE)


def test_log_loss_of_impossible_certainty_is_finite_and_alike() -> None:
    labels, scores = [1, 0, 1, 0], [0.0, 1.0, 1.0, 0.0]
    expected = sklearn_metrics.log_loss(labels, scores)
    # scikit-learn computes log(1 - s) where we compute log1p(-s): they differ in the last digits at the clip.
    assert confide.log_loss(ScoreCounts.from_arrays(labels, scores)) == pytest.approx(expected, rel=1e-9)


def test_bins_of_equal_width() -> None:
    # No score lies on an edge: scikit-learn's bins are closed on the right, ours on the left.
    rows = random_rows("distinct")
    share, mean = calibration_curve(rows.labels, rows.scores, n_bins=10, strategy="uniform")
    found = confide.curves.reliability_bins(rows.counts, bins=10, binning="width")
    np.testing.assert_allclose(found.mean_score, mean, atol=TOLERANCE)
    np.testing.assert_allclose(found.observed, share, atol=TOLERANCE)


def test_a_score_on_an_edge_belongs_to_the_bin_above() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 1, 0], [0.25, 0.5, 0.75, 1.0])
    found = confide.curves.reliability_bins(counts, bins=4)
    np.testing.assert_array_equal(found.mean_score, [0.25, 0.5, 0.875])
    np.testing.assert_array_equal(found.observed, [0.0, 1.0, 0.5])


def test_bins_of_equal_mass_without_ties() -> None:
    # Where the bins divide the rows both make the same bins; with ties scikit-learn splits by interpolated
    # quantiles, which may leave bins empty, and we by the middle of each tie's mass.
    rows = random_rows("distinct", size=400)
    share, mean = calibration_curve(rows.labels, rows.scores, n_bins=8, strategy="quantile")
    found = confide.curves.reliability_bins(rows.counts, bins=8, binning="mass")
    np.testing.assert_array_equal(found.weight, np.full(8, 50.0))
    np.testing.assert_allclose(found.mean_score, mean, atol=TOLERANCE)
    np.testing.assert_allclose(found.observed, share, atol=TOLERANCE)
