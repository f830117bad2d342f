"""Metrics and curves of labels and scores, beside scikit-learn's: ties, weights, named labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sklearn_metrics

import confide
from confide import ScoreCounts
from confide.errors import LabelError, ParameterError, WeightError
from tests.random_rows import KINDS, RandomRows, random_rows

TOLERANCE = 1e-12

SCORES: list[tuple[Callable[..., float], Callable[..., float]]] = [
    (confide.auc_score, sklearn_metrics.roc_auc_score),
    (confide.average_precision_score, sklearn_metrics.average_precision_score),
    (confide.aucpr_score, sklearn_metrics.average_precision_score),
    (confide.brier_score, sklearn_metrics.brier_score_loss),
    (confide.log_loss, sklearn_metrics.log_loss),
]

LABELS: dict[str, tuple[Any, Any, Any]] = {
    "0/1": (0, 1, None),
    "-1/1": (-1, 1, None),
    "booleans": (False, True, None),
    "strings": ("healthy", "ill", "ill"),
    "reversed numbers": (2, 1, 1),
}


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> RandomRows:
    return random_rows(request.param)


def written(rows: RandomRows, kind: str) -> tuple[NDArray[Any], object]:
    negative, positive, pos_label = LABELS[kind]
    return np.where(rows.labels == 1, positive, negative), pos_label


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(("ours", "theirs"), SCORES, ids=lambda function: function.__name__)
def test_scores(rows: RandomRows, kind: str, ours: Callable[..., float], theirs: Callable[..., float]) -> None:
    labels, pos_label = written(rows, kind)
    expected = theirs(rows.labels, rows.scores, sample_weight=rows.weights)
    found = ours(labels, rows.scores, sample_weight=rows.weights, pos_label=pos_label)
    assert found == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.few(12)
@pytest.mark.parametrize("kind", LABELS)
def test_curves(rows: RandomRows, kind: str) -> None:
    labels, pos_label = written(rows, kind)
    options: dict[str, Any] = {"sample_weight": rows.weights, "pos_label": pos_label}
    false_positive_rate, true_positive_rate, _ = sklearn_metrics.roc_curve(
        labels, rows.scores, drop_intermediate=False, **options
    )
    roc = confide.roc_curve(labels, rows.scores, **options)
    np.testing.assert_allclose(roc.false_positive_rate, false_positive_rate, atol=TOLERANCE)
    np.testing.assert_allclose(roc.true_positive_rate, true_positive_rate, atol=TOLERANCE)
    precision, recall, _ = sklearn_metrics.precision_recall_curve(labels, rows.scores, **options)
    pr = confide.pr_curve(labels, rows.scores, **options)
    np.testing.assert_allclose(pr.recall, recall[-2::-1], atol=TOLERANCE)
    np.testing.assert_allclose(pr.precision, precision[-2::-1], atol=TOLERANCE)


def test_a_confusion_matrix_takes_the_threshold_last(rows: RandomRows) -> None:
    expected = sklearn_metrics.confusion_matrix(rows.labels, rows.scores >= 0.4, sample_weight=rows.weights)
    found = confide.confusion_matrix(rows.labels, rows.scores, 0.4, sample_weight=rows.weights)
    cells = [[found.true_negatives, found.false_positives], [found.false_negatives, found.true_positives]]
    np.testing.assert_allclose(cells, expected)


def test_rows_of_weight_zero_are_left_out_as_in_scikit_learn() -> None:
    rows = random_rows("tied")
    weights = np.arange(rows.labels.size) % 3
    expected = sklearn_metrics.roc_auc_score(rows.labels, rows.scores, sample_weight=weights)
    assert confide.auc_score(rows.labels, rows.scores, sample_weight=weights) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(
    "function",
    [
        confide.delong_interval,
        confide.intervals.logit_interval,
        confide.metrics.calibration_slope,
        confide.metrics.partial_auc_score,
        confide.metrics.youden_threshold,
    ],
    ids=lambda function: function.__name__,
)
def test_other_functions_of_counts_take_labels_too(function: Callable[..., object]) -> None:
    rows = random_rows("distinct")
    assert function(rows.labels, rows.scores) == function(rows.counts)


def test_a_metric_by_name_and_its_bootstrap_take_labels_too() -> None:
    rows = random_rows("tied", 2_000)
    assert confide.metric_score(rows.labels, rows.scores, "recall", threshold=0.4) == confide.metric_score(
        rows.counts, "recall", threshold=0.4
    )
    found = confide.bootstrap_interval(rows.labels, rows.scores, "auc", replicates=100, rng=1)
    assert found == confide.bootstrap_interval(rows.counts, "auc", replicates=100, rng=1)


def test_wrong_calls_are_refused() -> None:
    counts = ScoreCounts.from_arrays([0, 1], [0.2, 0.8])
    call: Callable[..., float] = confide.auc_score
    with pytest.raises(ParameterError, match="`scores` are needed"):
        call([0, 1])
    for name in ("sample_weight", "pos_label"):
        with pytest.raises(ParameterError, match=f"`{name}` cannot be given"):
            call(counts, **{name: [1, 1]})
    with pytest.raises(LabelError, match="positive"):
        call(["a", "b"], [0.2, 0.8])
    with pytest.raises(ParameterError, match="no row has the positive label"):
        call([0, 1], [0.2, 0.8], pos_label=2)
    with pytest.raises(WeightError, match="negative"):
        call([0, 1], [0.2, 0.8], sample_weight=[-1, 1])
    with pytest.raises(ParameterError, match="differ in length"):
        call([0, 1], [0.2, 0.8], sample_weight=[1, 1, 1])
