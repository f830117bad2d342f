"""ROC and precision-recall curves and areas, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

import confide
from tests.random_rows import KINDS, RandomRows, random_rows

TOLERANCE = 1e-12


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> RandomRows:
    return random_rows(request.param)


def test_auc(rows: RandomRows) -> None:
    expected = sklearn_metrics.roc_auc_score(rows.labels, rows.scores, sample_weight=rows.weights)
    assert confide.auc_score(rows.counts) == pytest.approx(expected, abs=TOLERANCE)


def test_average_precision(rows: RandomRows) -> None:
    expected = sklearn_metrics.average_precision_score(rows.labels, rows.scores, sample_weight=rows.weights)
    assert confide.average_precision_score(rows.counts) == pytest.approx(expected, abs=TOLERANCE)
    assert confide.aucpr_score(rows.counts) == pytest.approx(expected, abs=TOLERANCE)
    assert confide.intervals.rank_summary(rows.counts).average_precision == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("max_fpr", [0.01, 0.1, 0.35, 0.999])
def test_partial_auc_with_mcclish_correction(rows: RandomRows, max_fpr: float) -> None:
    expected = sklearn_metrics.roc_auc_score(rows.labels, rows.scores, sample_weight=rows.weights, max_fpr=max_fpr)
    found = confide.metrics.partial_auc_score(rows.counts, specificity=(1.0 - max_fpr, 1.0), corrected=True)
    assert found == pytest.approx(expected, abs=TOLERANCE)


def test_roc_curve_point_by_point(rows: RandomRows) -> None:
    false_positive_rate, true_positive_rate, thresholds = sklearn_metrics.roc_curve(
        rows.labels, rows.scores, sample_weight=rows.weights, drop_intermediate=False
    )
    curve = confide.roc_curve(rows.counts)
    np.testing.assert_allclose(curve.false_positive_rate, false_positive_rate, atol=TOLERANCE)
    np.testing.assert_allclose(curve.true_positive_rate, true_positive_rate, atol=TOLERANCE)
    np.testing.assert_array_equal(curve.thresholds, thresholds)


def test_pr_curve_point_by_point(rows: RandomRows) -> None:
    # scikit-learn goes up the thresholds and appends precision 1 at recall 0.
    precision, recall, thresholds = sklearn_metrics.precision_recall_curve(
        rows.labels, rows.scores, sample_weight=rows.weights
    )
    curve = confide.pr_curve(rows.counts)
    np.testing.assert_array_equal(curve.thresholds, thresholds[::-1])
    np.testing.assert_allclose(curve.recall, recall[-2::-1], atol=TOLERANCE)
    np.testing.assert_allclose(curve.precision, precision[-2::-1], atol=TOLERANCE)
