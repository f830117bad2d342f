"""Every metric of the registry has an interval by every method, or the reason why not is stated."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import confide
import confide.intervals.metric_estimates as estimates_module
import confide.intervals.replicates as reductions_module
from confide import ScoreCounts
from confide.errors import ParameterError, ScoreError
from confide.intervals.interval import Method
from confide.intervals.metric_estimates import METHODS, RULES, estimate, estimates
from confide.intervals.replicates import draw_replicates, replicate_values
from confide.intervals.resample import bootstrap_estimate
from confide.metrics.registry import METRICS, Metric
from confide.metrics.threshold import MEASURES
from tests.random_rows import random_rows

COUNTS = random_rows("distinct", size=150).counts
SMOOTHED = {name for name, metric in METRICS.items() if {"span", "smoother"} & set(metric.options)}
QUICK = [name for name in METRICS if name not in SMOOTHED | {"binormal"}]
BOOTSTRAP_ALONE = {name for name in METRICS if RULES.get(name) is None or RULES[name].closed is None}


def test_rules_are_of_metrics() -> None:
    assert set(RULES) <= set(METRICS)
    assert set(MEASURES) <= set(RULES)


@pytest.mark.parametrize("method", [None, *METHODS])
def test_every_metric_has_an_interval(method: Method | None) -> None:
    found = estimates(COUNTS, QUICK, method=method, replicates=100)
    for name, each in zip(QUICK, found, strict=True):
        assert each.value == confide.metric_score(COUNTS, name)
        assert each.interval is not None, name
        assert each.standard_error is not None, name
        assert each.standard_error > 0.0
        assert each.interval.level == 0.95
        assert each.interval.lower < each.interval.upper
        if method == "bootstrap" or name in BOOTSTRAP_ALONE:
            scheme = "stratified bootstrap" if METRICS[name].resampling == "classes" else "bootstrap of rows"
            assert each.interval.method.startswith(scheme)
        else:
            assert "bootstrap" not in each.interval.method
            assert each.value in each.interval


@pytest.mark.parametrize("name", sorted({*SMOOTHED, "binormal"}))
def test_slower_metrics_have_an_interval(name: str) -> None:
    few = random_rows("tied", size=150).counts
    found = estimate(few, name, replicates=100)
    assert found.interval is not None
    assert found.interval.lower < found.interval.upper


@pytest.mark.parametrize("method", ["plain", "logit"])
def test_intervals_grow_with_the_level_and_methods_differ(method: Method) -> None:
    names = [name for name in QUICK if name not in BOOTSTRAP_ALONE]
    for name, narrow, wide in zip(
        names, *(estimates(COUNTS, names, method=method, level=level) for level in (0.8, 0.99)), strict=True
    ):
        inner, outer = narrow.known_interval, wide.known_interval
        assert outer.lower < inner.lower < inner.upper < outer.upper, name


def test_float_weights_have_closed_forms_and_no_bootstrap() -> None:
    weighted = random_rows("weighted", size=150).counts
    names = [name for name in QUICK if not METRICS[name].whole_rows]
    for name, each in zip(names, estimates(weighted, names), strict=True):
        assert each.value == confide.metric_score(weighted, name)
        assert (each.interval is None) == (name in BOOTSTRAP_ALONE), name
    assert all(each.interval is None for each in estimates(weighted, names, method="bootstrap"))


def test_a_float_weight_counts_as_copies() -> None:
    rows = random_rows("tied and repeated", size=150)
    floats = ScoreCounts(rows.counts.scores, rows.counts.positives.astype(float), rows.counts.negatives.astype(float))
    names = [name for name in QUICK if name not in BOOTSTRAP_ALONE]
    for name, whole, weighted in zip(names, estimates(rows.counts, names), estimates(floats, names), strict=True):
        ends = [(each.known_interval.lower, each.known_interval.upper) for each in (whole, weighted)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-9), name


def test_the_same_data_have_the_same_interval_whatever_else_is_requested() -> None:
    names = ["expected_calibration_error", "youden_index", "partial_auc", "youden_threshold", "aucnpr"]
    together = estimates(COUNTS, names, replicates=100)
    assert together == estimates(COUNTS, names, replicates=100)
    assert together == tuple(estimate(COUNTS, name, replicates=100) for name in names)
    assert together != estimates(COUNTS, names, replicates=100, rng=1)
    assert together != estimates(COUNTS, names, replicates=100, rng=np.random.default_rng(1))


def test_options_reach_the_metric() -> None:
    for name, options in (
        ("recall", {"threshold": 0.3}),
        ("net_benefit", {"threshold": 0.1}),
        ("f_beta", {"threshold": 0.3, "beta": 2.0}),
        ("aucpr", {"estimator": "interpolated_median"}),
        ("average_precision", {"recall": (0.0, 0.5)}),
        ("partial_auc", {"sensitivity": (0.8, 1.0), "corrected": True}),
        ("expected_calibration_error", {"bins": 5, "binning": "mass"}),
    ):
        for method in (None, "bootstrap"):
            found = estimate(COUNTS, name, method=method, replicates=100, **options)
            assert found.value == confide.metric_score(COUNTS, name, **options)
            assert found.value in found.known_interval
    part = estimate(COUNTS, "average_precision", recall=(0.0, 0.5), replicates=100).known_interval
    assert part.method == "bootstrap of rows, percentile"  # part of an area is no share of positives
    with pytest.raises(ParameterError, match="has no option 'threshold'"):
        estimate(COUNTS, "auc", threshold=0.5)
    with pytest.raises(ParameterError, match="has no option 'threshold'"):
        estimate(COUNTS, "auc", method="bootstrap", threshold=0.5)
    with pytest.raises(ParameterError, match="method must be one of"):
        estimate(COUNTS, "auc", method="exact")  # type: ignore[call-overload]


def test_scores_that_are_no_probabilities_are_refused_as_by_the_metric() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 0, 1], [-1.0, 0.3, 0.4, 2.0])
    for name, metric in METRICS.items():
        if metric.probabilities:
            with pytest.raises(ScoreError):
                estimate(counts, name)


def test_one_row_of_a_class_has_values_without_intervals() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 0, 1], [0.1, 0.2, 0.6, 0.4])
    auc, hull = estimates(counts, ["auc", "hull_auc"], replicates=100)
    assert auc.interval is None
    assert hull.interval is not None  # the one positive is drawn again in every stratified replicate


def test_metrics_that_are_undefined_in_most_replicates_have_no_interval() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 1, 1, 0], [0.1, 0.2, 0.8, 0.9, 0.3])
    found = estimate(counts, "calibration_slope", method="bootstrap", replicates=100)  # classes separate
    assert math.isnan(found.value)
    assert found.interval is None
    ratio = estimate(counts, "positive_likelihood_ratio", method="bootstrap", replicates=100)
    assert ratio.interval is None


def test_metrics_of_classes_do_not_see_the_prevalence_and_others_do() -> None:
    """Tripling the negatives changes the prevalence alone."""
    more = ScoreCounts(COUNTS.scores, COUNTS.positives, 3 * COUNTS.negatives)
    for name, metric in METRICS.items():
        before, after = metric(COUNTS), metric(more)
        same = after == pytest.approx(before, rel=1e-12)
        assert same == (metric.resampling == "classes"), name


def test_a_family_is_computed_once_for_each_replicate() -> None:
    calls = 0

    def both(counts: ScoreCounts, *, scale: float = 1.0) -> Any:
        nonlocal calls
        calls += 1
        return SimpleNamespace(first=scale * counts.prevalence, second=len(counts))

    members = {
        name: Metric(
            name=name,
            title=name,
            function=lambda counts, name=name, **options: getattr(both(counts, **options), name),
            higher_is_better=None,
            options=("scale",),
            family=(both, name),
        )
        for name in ("first", "second")
    }
    replicates = draw_replicates(COUNTS, 100, np.random.default_rng(1), "rows")
    asked = {(name, scale): (members[name], {"scale": scale}) for name in members for scale in (1.0, 2.0)}
    found = replicate_values(replicates, asked)
    assert calls == 200  # once for each replicate and scale
    samples = [sample for sample in replicates.samples() if sample is not None]
    np.testing.assert_array_equal(found["first", 2.0], [2.0 * sample.prevalence for sample in samples])
    np.testing.assert_array_equal(found["second", 1.0], [len(sample) for sample in samples])


def largest_difference(name: str) -> float:
    """Return how far the ends of an interval from 50 cells lie from those of single rows, in standard errors."""
    rng = np.random.default_rng(2)
    odds = rng.normal(-1.0, 1.2, 20_000)
    labels = rng.random(odds.size) < 1.0 / (1.0 + np.exp(-0.8 * odds))
    counts = ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-odds)))
    exact, found = bootstrap_estimate(counts, name, rng=1), estimate(counts, name, method="bootstrap")
    assert exact.standard_error is not None
    assert found.standard_error == pytest.approx(exact.standard_error, rel=0.15)
    ends, others = exact.known_interval, found.known_interval
    return max(abs(ends.lower - others.lower), abs(ends.upper - others.upper)) / exact.standard_error


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["auc", "average_precision"])
def test_intervals_of_scores_put_together_are_those_of_single_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of two sets of 1,000 replicates differ by 0.12 standard errors (one standard deviation).

    So 0.6 gives fewer than one false alarm in 10^5 seeds. If replicates were not moved by what putting scores together
    changes, average precision would be off by more than twice that.
    """
    monkeypatch.setattr(reductions_module, "CELLS", 50)
    assert largest_difference(name) < 0.6
    if name == "average_precision":
        monkeypatch.setattr(estimates_module, "moved", lambda drawn, value, coarse: drawn)
        assert largest_difference(name) > 0.6
