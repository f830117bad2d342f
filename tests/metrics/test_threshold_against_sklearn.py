"""The confusion matrix and its measures, beside scikit-learn's."""

from __future__ import annotations

import pytest
from sklearn import metrics as sklearn_metrics

import confide
from confide.metrics.registry import metric_score
from tests.random_rows import KINDS, RandomRows, random_rows

TOLERANCE = 1e-12
THRESHOLDS = (0.3, 0.5, 0.7)  # scores of tied rows fall on them, so >= and > differ


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> RandomRows:
    return random_rows(request.param)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_confusion_matrix(rows: RandomRows, threshold: float) -> None:
    (tn, fp), (fn, tp) = sklearn_metrics.confusion_matrix(
        rows.labels, rows.scores >= threshold, sample_weight=rows.weights
    )
    matrix = confide.confusion_matrix(rows.counts, threshold)
    found = (matrix.true_positives, matrix.false_positives, matrix.false_negatives, matrix.true_negatives)
    assert found == pytest.approx((tp, fp, fn, tn), abs=1e-9)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize(
    ("measure", "peer"),
    [
        ("accuracy", "accuracy_score"),
        ("balanced_accuracy", "balanced_accuracy_score"),
        ("matthews_correlation", "matthews_corrcoef"),
        ("precision", "precision_score"),
        ("recall", "recall_score"),
        ("f1", "f1_score"),
    ],
)
def test_measures(rows: RandomRows, threshold: float, measure: str, peer: str) -> None:
    called = rows.scores >= threshold
    expected = getattr(sklearn_metrics, peer)(rows.labels, called, sample_weight=rows.weights)
    assert metric_score(rows.counts, measure, threshold=threshold) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 7.0])
def test_f_beta(rows: RandomRows, beta: float) -> None:
    expected = sklearn_metrics.fbeta_score(rows.labels, rows.scores >= 0.5, beta=beta, sample_weight=rows.weights)
    assert metric_score(rows.counts, "f_beta", beta=beta) == pytest.approx(expected, abs=TOLERANCE)


def test_likelihood_ratios(rows: RandomRows) -> None:
    expected = sklearn_metrics.class_likelihood_ratios(rows.labels, rows.scores >= 0.5, sample_weight=rows.weights)
    found = (
        metric_score(rows.counts, "positive_likelihood_ratio"),
        metric_score(rows.counts, "negative_likelihood_ratio"),
    )
    assert found == pytest.approx(expected, abs=TOLERANCE)
