"""Edges: perfect scores, decimal thresholds, enormous weights, tiny probabilities, curves of many points."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

import confide
from confide import Grid, ScoreCounts
from confide.curves.roc import RocCurve
from confide.errors import LabelError, WeightError

RNG = np.random.default_rng(5)


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [3, 7, 24, 86, 90])
@pytest.mark.parametrize("weighted", [False, True])
def test_perfect_scores_have_exact_intervals(rows: int, weighted: bool) -> None:
    labels = np.repeat([0, 1], rows)
    weights = RNG.random(2 * rows) * 3 + 0.5 if weighted else None
    (model,) = confide.evaluate(labels, np.linspace(0.1, 0.9, 2 * rows), weights=weights).models
    for estimate in (model.auc, model.average_precision):
        assert 1.0 - 1e-12 < estimate.value <= 1.0
        assert estimate.interval is not None
        assert estimate.interval.method.startswith("exact binomial")
        assert 0.0 < estimate.interval.lower < 1.0
        assert estimate.interval.upper == 1.0


def test_average_precision_is_one_number() -> None:
    labels = RNG.random(300) < 0.3
    (model,) = confide.evaluate(labels, np.round(RNG.random(300) + 0.3 * labels, 2)).models
    assert model.aucpr["average_precision"] == model.average_precision.value
    assert model.average_precision.value == confide.average_precision_score(model.counts)


def test_decision_curve_stands_on_the_hundredths() -> None:
    labels = RNG.random(400) < 0.4
    counts = ScoreCounts.from_arrays(labels, np.round(RNG.random(400), 2))
    curve = confide.curves.decision_curve(counts)
    for i in range(1, 100):
        assert curve.threshold[i - 1] == i / 100
        expected = confide.confusion_matrix(counts, i / 100).net_benefit(i / 100)
        assert curve.net_benefit[i - 1] == pytest.approx(expected, abs=1e-12)


def test_cells_are_closed_on_the_left_at_every_decimal() -> None:
    tenths = np.arange(10) / 10
    assert Grid.uniform(10).cells(tenths).tolist() == list(range(10))
    for tenth in tenths:
        bins = confide.curves.reliability_bins(ScoreCounts.from_arrays([0, 1], [tenth, tenth + 0.05]))
        assert bins.weight.tolist() == [2.0], tenth


@pytest.mark.parametrize("points", [10, 1_000, 200_000])
def test_simplified_curves_keep_their_area(points: int) -> None:
    x = np.linspace(0.0, 1.0, points)
    smooth = RocCurve(x, x**0.2, -x)
    assert smooth.simplified().area == pytest.approx(smooth.area, abs=1e-6)
    steps = confide.roc_curve(ScoreCounts.from_arrays(RNG.random(points) < 0.5, RNG.random(points)))
    assert steps.simplified().area == pytest.approx(steps.area, abs=1e-9)
    assert steps.simplified().thresholds.size <= steps.thresholds.size


@pytest.mark.parametrize("labels", [["True", "true"] * 3, ["1", "1 "] * 3])
def test_labels_that_are_nearly_alike_are_not_two_classes(labels: list[str]) -> None:
    with pytest.raises(LabelError, match="letter case or spaces"):
        ScoreCounts.from_arrays(labels, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


def test_decimal_labels_are_numbers() -> None:
    labels = np.array([Decimal("0.0"), Decimal("1.0")] * 2, dtype=object)
    assert ScoreCounts.from_arrays(labels, [0.1, 0.2, 0.3, 0.4]).total_positives == 2


def test_loess_does_not_depend_on_the_scale_of_weights() -> None:
    labels, scores = RNG.random(300) < 0.5, RNG.random(300)
    one = ScoreCounts.from_arrays(labels, scores, np.full(300, 1.0))
    expected = confide.metrics.integrated_calibration_index(one, smoother="loess")
    for scale in (1 / 300, 7.3):
        counts = ScoreCounts.from_arrays(labels, scores, np.full(300, scale))
        found = confide.metrics.integrated_calibration_index(counts, smoother="loess")
        assert found == pytest.approx(expected, abs=1e-9)


def test_enormous_counts_are_refused_or_right() -> None:
    with pytest.raises(WeightError, match=r"2\^61"):
        ScoreCounts.from_arrays([0, 1] * 20, np.arange(40), np.full(40, 2**60))
    scores, labels = [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]
    weights = np.array([4, 4, 1, 3]) * 10**9
    whole, floats = (ScoreCounts.from_arrays(labels, scores, w) for w in (weights, weights.astype(float)))
    assert confide.metrics.youden_threshold(whole) == confide.metrics.youden_threshold(floats)
    assert confide.auc_score(whole) == pytest.approx(confide.auc_score(floats), abs=1e-12)


@pytest.mark.parametrize("scores", [[1e-12, 2e-12, 3e-12, 4e-12], [1e-12, 1e-12, 1 - 1e-12, 1 - 1e-12], [0.5] * 4])
def test_intercept_exists_for_every_probability(scores: list[float]) -> None:
    labels = np.array([0, 1, 0, 1])
    shift = confide.metrics.calibration_intercept(ScoreCounts.from_arrays(labels, scores))
    odds = np.log(scores) - np.log1p(-np.array(scores))
    assert np.sum(1 / (1 + np.exp(-(odds + shift)))) == pytest.approx(labels.sum(), rel=1e-6)


def test_a_second_display_keeps_the_first_curve() -> None:
    import matplotlib.pyplot as plt

    labels = RNG.random(100) < 0.5
    first = confide.RocCurveDisplay.from_predictions(labels, RNG.random(100), name="perfect pathway")
    confide.RocCurveDisplay.from_predictions(labels, RNG.random(100), name="treat all", ax=first.ax_)
    names = [str(line.get_label()) for line in first.ax_.lines]
    plt.close(first.figure_)
    assert [name.split(":")[0] for name in names] == ["perfect pathway", "treat all", "chance"]
