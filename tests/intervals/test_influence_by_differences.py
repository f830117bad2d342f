"""Influence values are the derivatives of the registry's metrics in the weight of each row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import ScoreCounts
from confide.errors import DataError, OneClassError, ScoreError
from confide.intervals.influence import LINEAR_METRICS, has_influence, linearise
from confide.metrics.registry import METRICS

STEP = 1e-5


def rows(size: int = 40) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Draw rows with ties, and a weight for each."""
    rng = np.random.default_rng(8)
    labels = rng.random(size) < 0.4
    scores = 1.0 / (1.0 + np.exp(-(rng.standard_normal(size) + labels)))
    return labels, np.round(scores, 2).clip(0.01, 0.99), rng.uniform(0.5, 2.0, size)


def derivatives(metric: str, weights: NDArray[np.float64], **options: Any) -> NDArray[np.float64]:
    labels, scores, _ = rows()
    found = np.empty(labels.size)
    for row in range(labels.size):
        ends = []
        for step in (STEP, -STEP):
            moved = weights.copy()
            moved[row] += step
            ends.append(METRICS[metric](ScoreCounts.from_arrays(labels, scores, moved), **options))
        found[row] = (ends[0] - ends[1]) / (2.0 * STEP)
    return found


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        *((metric, {}) for metric in LINEAR_METRICS),
        ("recall", {"threshold": 0.31}),
        ("net_benefit", {"threshold": 0.2}),
        ("f_beta", {"threshold": 0.4, "beta": 2.0}),
        ("skew_aware_f", {"threshold": 0.4, "beta": 0.5}),
    ],
)
def test_influence_values_are_derivatives(metric: str, options: dict[str, Any]) -> None:
    labels, scores, weights = rows()
    found = linearise(metric, labels, scores, weights, **options)
    assert found.value == pytest.approx(METRICS[metric](ScoreCounts.from_arrays(labels, scores, weights), **options))
    expected = derivatives(metric, weights, **options)
    np.testing.assert_allclose(found.influence, expected, atol=1e-8)
    assert np.abs(expected).max() > 1e-3
    assert np.dot(weights, found.influence) == pytest.approx(0.0, abs=1e-12)


def test_without_weights_each_row_weighs_one() -> None:
    labels, scores, _ = rows()
    found, same = (linearise("average_precision", labels, scores, w) for w in (None, np.ones(labels.size)))
    np.testing.assert_array_equal(found.influence, same.influence)


def test_a_metric_without_value_has_no_influence_values() -> None:
    labels, scores, _ = rows()
    found = linearise("precision", labels, scores, threshold=2.0)  # nobody is called positive
    assert math.isnan(found.value)
    assert np.isnan(found.influence).all()


def test_metrics_that_jump_are_refused() -> None:
    labels, scores, _ = rows()
    assert not has_influence("youden_threshold")
    assert not has_influence("average_precision", recall=(0.5, 1.0))
    assert has_influence("average_precision", recall=(0.0, 1.0))
    with pytest.raises(DataError, match="youden_threshold has no influence values"):
        linearise("youden_threshold", labels, scores)


def test_scores_that_are_no_probabilities_are_refused() -> None:
    labels, scores, _ = rows()
    with pytest.raises(ScoreError, match=r"brier needs scores in \[0, 1\]"):
        linearise("brier", labels, 2.0 * scores)
    with pytest.raises(OneClassError):
        linearise("auc", np.ones_like(labels), scores)
