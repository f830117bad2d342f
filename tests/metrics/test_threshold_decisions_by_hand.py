"""Net benefit, decision curve, Youden's threshold and the skew-aware F, worked out by hand or by search."""

from __future__ import annotations

import math

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.metrics.registry import metric_score
from confide.metrics.threshold import ConfusionMatrix
from tests.random_rows import KINDS, RandomRows, random_rows

# Ten patients: at 0.25 four of five positives and two of five negatives are treated.
LABELS = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
SCORES = [0.9, 0.8, 0.4, 0.25, 0.1, 0.6, 0.3, 0.2, 0.15, 0.05]
PATIENTS = ScoreCounts.from_arrays(LABELS, SCORES)


@pytest.mark.parametrize(
    ("threshold", "benefit", "treat_all"),
    [
        (0.0, 5 / 10, 5 / 10),
        (0.1, 5 / 10 - 4 / 10 / 9, 5 / 10 - 5 / 10 / 9),  # 0.1 itself is treated
        (0.25, 4 / 10 - 2 / 10 / 3, 5 / 10 - 5 / 10 / 3),
        (0.5, 2 / 10 - 1 / 10, 0.0),
        (0.75, 2 / 10, 5 / 10 - 5 / 10 * 3),
        (0.95, 0.0, 5 / 10 - 5 / 10 * 19),
    ],
)
def test_net_benefit(threshold: float, benefit: float, treat_all: float) -> None:
    assert metric_score(PATIENTS, "net_benefit", threshold=threshold) == pytest.approx(benefit, abs=1e-12)
    curve = confide.curves.decision_curve(PATIENTS, [threshold])
    assert curve.net_benefit[0] == pytest.approx(benefit, abs=1e-12)
    assert curve.treat_all[0] == pytest.approx(treat_all, abs=1e-12)


@pytest.fixture(params=KINDS)
def rows(request: pytest.FixtureRequest) -> RandomRows:
    return random_rows(request.param)


def test_decision_curve_row_by_row(rows: RandomRows) -> None:
    curve = confide.curves.decision_curve(rows.counts)
    np.testing.assert_allclose(curve.threshold, np.arange(1, 100) / 100, atol=1e-12)
    weights = np.ones(rows.labels.size) if rows.weights is None else rows.weights
    for at, found, everybody in zip(curve.threshold, curve.net_benefit, curve.treat_all, strict=True):
        worth = np.where(rows.labels == 1, 1.0, -at / (1 - at))
        assert found == pytest.approx(np.sum(weights * worth * (rows.scores >= at)) / weights.sum(), abs=1e-9)
        assert everybody == pytest.approx(np.sum(weights * worth) / weights.sum(), abs=1e-9)


def test_youden_threshold_by_search(rows: RandomRows) -> None:
    """Of all scores, the highest with the greatest recall + specificity; exact where rows are whole."""
    weights = np.ones(rows.labels.size) if rows.weights is None else rows.weights
    ours, theirs = weights * (rows.labels == 1), weights * (rows.labels == 0)

    def youden(threshold: float) -> float:
        called = rows.scores >= threshold
        return float(ours[called].sum() / ours.sum() - theirs[called].sum() / theirs.sum())

    best = max(youden(score) for score in rows.scores)
    expected = max(score for score in rows.scores if youden(score) >= best - 1e-12)
    found = confide.metrics.youden_threshold(rows.counts)
    assert found == expected
    assert confide.confusion_matrix(rows.counts, found).youden == pytest.approx(best, abs=1e-12)
    assert confide.metrics.youden_index(rows.counts) == pytest.approx(best, abs=1e-12)


def test_youden_threshold_takes_the_highest_of_equals() -> None:
    # Both 0.8 and 0.4 reach recall + specificity - 1 = 1/2.
    assert confide.metrics.youden_threshold(ScoreCounts.from_arrays([1, 0, 1, 0], [0.8, 0.6, 0.4, 0.2])) == 0.8


def matrix(tp: float, fp: float, fn: float, tn: float) -> ConfusionMatrix:
    return ConfusionMatrix(true_positives=tp, false_positives=fp, false_negatives=fn, true_negatives=tn)


def test_measures_of_table_2_3() -> None:
    found = matrix(30, 20, 10, 140)
    p, r = 30 / 50, 30 / 40
    assert found.accuracy == pytest.approx(170 / 200)
    assert found.recall == pytest.approx(r)
    assert found.false_positive_rate == pytest.approx(20 / 160)
    assert found.specificity == pytest.approx(140 / 160)
    assert found.precision == pytest.approx(p)
    assert found.negative_predictive_value == pytest.approx(140 / 150)
    assert found.f1 == pytest.approx(2 * p * r / (p + r))
    assert found.f_beta(2.0) == pytest.approx(5 * p * r / (4 * p + r))
    assert found.youden == pytest.approx(r + 140 / 160 - 1)
    assert found.balanced_accuracy == pytest.approx((r + 140 / 160) / 2)
    assert found.positive_likelihood_ratio == pytest.approx(r / (20 / 160))
    assert found.negative_likelihood_ratio == pytest.approx((10 / 40) / (140 / 160))
    assert found.matthews_correlation == pytest.approx((30 * 140 - 20 * 10) / math.sqrt(50 * 40 * 160 * 150))


def test_the_table_of_a_rare_disease() -> None:
    """Section 2.3: a false-positive rate of 0.1 and a recall of 0.9 give a precision of 0.08 at prevalence 0.01."""
    found = matrix(9, 99, 1, 891)
    assert (found.prevalence, found.false_positive_rate, found.recall) == pytest.approx((0.01, 0.1, 0.9))
    assert round(found.precision, 2) == 0.08


def test_skew_aware_f() -> None:
    found = matrix(30, 20, 10, 140)
    p, r, pi = 30 / 50, 30 / 40, 40 / 200
    assert found.skew_aware_f() == pytest.approx(2 * (p - pi) * r / (p - pi + (1 - pi) * r), abs=1e-14)
    assert matrix(1, 9, 4, 6).skew_aware_f() == 0.0  # precision 0.1 below prevalence 0.25
    assert matrix(5, 15, 0, 0).skew_aware_f() == 0.0  # everybody called positive: exactly at chance
    assert matrix(5, 0, 0, 15).skew_aware_f() == 1.0
    assert math.isnan(matrix(0, 0, 5, 15).skew_aware_f())


def test_undefined_measures_are_nan() -> None:
    nothing_called = matrix(0, 0, 5, 15)
    assert math.isnan(nothing_called.precision)
    assert math.isnan(nothing_called.matthews_correlation)
    assert math.isnan(nothing_called.positive_likelihood_ratio)
    assert math.isnan(matrix(5, 0, 0, 0).specificity)
