"""Calibration of many distinct scores: fits that start with merged scores, and percentiles without a sort."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

import confide
from confide import ScoreCounts
from confide.intervals.calibration import intercept_estimate, line_estimates
from confide.intervals.replicates import draw_replicates, replicate_values
from confide.metrics import calibration
from confide.metrics.calibration import calibration_intercept, calibration_line, weighted_percentiles
from confide.metrics.calibration_fit import FITTED_FROM, fit_line
from confide.metrics.registry import get_metric


@pytest.fixture(params=["logistic", "crowded", "extreme", "weighted"])
def many(request: pytest.FixtureRequest) -> ScoreCounts:
    rng = np.random.default_rng(8)
    size = 3 * FITTED_FROM
    labels = rng.random(size) < 0.2
    spread = {"extreme": 8.0, "crowded": 1e-3}.get(request.param, 1.3)
    scores = 1.0 / (1.0 + np.exp(-(spread * (rng.standard_normal(size) + labels) - 1.0)))
    weights = rng.gamma(2.0, size=size) if request.param == "weighted" else None
    return ScoreCounts.from_arrays(labels, np.clip(scores, 1e-12, 1.0 - 1e-12), weights)


def test_the_merged_start_leaves_nothing_in_the_result(many: ScoreCounts, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = calibration_intercept(many), *calibration_line(many)
    errors = [each.standard_error for each in (intercept_estimate(many), *line_estimates(many))]
    monkeypatch.setattr(calibration, "FITTED_FROM", 10**9)
    slow = calibration_intercept(many), *calibration_line(many)
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-11)
    for error, first, second in zip(errors, fast, slow, strict=True):
        assert error is not None
        assert abs(first - second) < 1e-8 * error


def test_separated_classes_have_no_line() -> None:
    scores = np.linspace(0.01, 0.99, 2 * FITTED_FROM)
    counts = ScoreCounts.from_arrays(scores > 0.5, scores)
    assert np.isnan(calibration_line(counts).slope)


def test_hardly_overlapping_classes_are_left_to_the_general_fit() -> None:
    scores = np.linspace(0.01, 0.99, 2 * FITTED_FROM)
    labels = scores > 0.5
    labels[FITTED_FROM - 1 : FITTED_FROM + 1] = True, False
    found = fit_line(ScoreCounts.from_arrays(labels, scores), fixed_slope=False)
    assert found is None or found[1] > 100.0


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_percentiles_are_those_of_sorted_values(whole: bool, ties: bool) -> None:
    rng = np.random.default_rng(2)
    values = rng.gamma(0.3, size=100_000)
    values = values.round(2) if ties else values
    weight = rng.integers(1, 4, values.size) if whole else rng.random(values.size)
    order = np.argsort(values, kind="stable")
    through = np.cumsum(weight[order]) / weight.sum()
    for share in (0.01, 0.5, 0.9, 0.999):
        expected = values[order][np.searchsorted(through, share)]
        assert weighted_percentiles(values, weight, (share,))[0] == pytest.approx(expected, rel=1e-12)


def test_percentiles_halve_the_step_where_a_share_is_reached() -> None:
    assert weighted_percentiles(np.array([3.0, 1.0]), np.array([1, 1]), (0.5,)) == [2.0]
    assert weighted_percentiles(np.zeros(4), np.ones(4), (0.5, 0.9)) == [0.0, 0.0]


def test_proper_scores_of_many_rows_against_sklearn() -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(100_000) < 0.3
    scores = rng.beta(2.0, 4.0, labels.size)
    assert confide.brier_score(labels, scores) == pytest.approx(brier_score_loss(labels, scores), rel=1e-12)
    assert confide.metrics.log_loss(labels, scores) == pytest.approx(log_loss(labels, scores), rel=1e-12)


def test_expected_calibration_error_of_all_replicates_at_once() -> None:
    rng = np.random.default_rng(5)
    labels = rng.random(900) < 0.3
    counts = ScoreCounts.from_arrays(labels, rng.random(900).round(3))
    drawn = draw_replicates(counts, 30, rng, "rows")
    metric = get_metric("expected_calibration_error")
    at_once = replicate_values(drawn, {0: (metric, {})})[0]
    singly = [metric(sample) for sample in drawn.samples() if sample is not None]
    np.testing.assert_allclose(at_once, singly, rtol=1e-12)
