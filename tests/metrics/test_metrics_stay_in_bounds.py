"""Every metric of the registry stays in its range, and areas that dominate each other do."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import confide
from confide.metrics.registry import METRICS
from tests.strategies import RowTable, row_tables

ROUNDING = 1e-12
INFINITE = math.inf
BOUNDS: dict[str, tuple[float, float]] = {
    "auc": (0, 1),
    "partial_auc": (0, 0.1),
    "hull_auc": (0.5, 1),
    "average_precision_minimum": (0, 1),
    "aucpr_minimum": (0, 1),
    "aucnpr": (0, 1),
    "normalised_average_precision": (0, 1),
    "aucpr": (0, 1),
    "average_precision": (0, 1),
    "lower_trapezoid": (0, 1),
    "upper_trapezoid": (0, 1),
    "interpolated_max": (0, 1),
    "interpolated_mean": (0, 1),
    "interpolated_median": (0, 1),
    "interpolated_convex": (0, 1),
    "interpolated_thresholds": (0, 1),
    "davis_goadrich": (0, 1),
    "binormal": (0, 1),
    "accuracy": (0, 1),
    "recall": (0, 1),
    "false_positive_rate": (0, 1),
    "specificity": (0, 1),
    "precision": (0, 1),
    "negative_predictive_value": (0, 1),
    "f1": (0, 1),
    "balanced_accuracy": (0, 1),
    "matthews_correlation": (-1, 1),
    "youden": (-1, 1),
    "positive_likelihood_ratio": (0, INFINITE),
    "negative_likelihood_ratio": (0, INFINITE),
    "f_beta": (0, 1),
    "skew_aware_f": (0, 1),
    "net_benefit": (-1, 1),
    "youden_threshold": (0, 1),
    "cost_threshold": (0, INFINITE),
    "youden_index": (0, 1),
    "brier": (0, 1),
    "scaled_brier": (-INFINITE, 1),
    "log_loss": (0, INFINITE),
    "observed_expected": (0, INFINITE),
    "calibration_intercept": (-INFINITE, INFINITE),
    "calibration_slope": (-INFINITE, INFINITE),
    "joint_intercept": (-INFINITE, INFINITE),
    "expected_calibration_error": (0, 1),
    "integrated_calibration_index": (0, 1),
    "calibration_e50": (0, 1),
    "calibration_e90": (0, 1),
    "calibration_emax": (0, 1),
}


def test_no_metric_is_forgotten() -> None:
    assert set(BOUNDS) == set(METRICS)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", METRICS)
@given(rows=row_tables(least=1))
def test_bounds(name: str, rows: RowTable) -> None:
    value = METRICS[name](rows.weighted_counts())
    low, high = BOUNDS[name]
    assert math.isnan(value) or low - ROUNDING <= value <= high + ROUNDING


@given(rows=row_tables(least=1))
def test_areas_that_dominate_each_other(rows: RowTable) -> None:
    counts = rows.weighted_counts()
    area = {name: METRICS[name](counts) for name in METRICS if "interpolated" in name or "trapezoid" in name}
    chain = ["interpolated_convex", "interpolated_max", "interpolated_mean"]
    for larger, smaller in [
        *pairwise(chain),
        ("interpolated_max", "interpolated_median"),
        ("interpolated_max", "interpolated_thresholds"),
        ("upper_trapezoid", "lower_trapezoid"),
    ]:
        assert area[larger] >= area[smaller] - ROUNDING
    least = confide.metrics.aucpr_minimum(counts)
    for name, value in area.items():
        if "interpolated" in name:
            assert value >= least - ROUNDING
    assert confide.metrics.hull_auc_score(counts) >= confide.auc_score(counts) - ROUNDING
    assert confide.average_precision_score(counts) >= confide.metrics.average_precision_minimum(counts) - ROUNDING


@pytest.mark.few(2)
@pytest.mark.parametrize("estimator", [*confide.metrics.ESTIMATORS, *confide.metrics.PRROC_ESTIMATORS])
@given(rows=row_tables(), cut=st.integers(1, 63).map(lambda k: k / 64))
def test_areas_over_parts_of_the_recalls_add_up(estimator: str, rows: RowTable, cut: float) -> None:
    counts = rows.counts()
    low, high = (confide.aucpr_score(counts, estimator=estimator, recall=part) for part in ((0.0, cut), (cut, 1.0)))
    whole = confide.aucpr_score(counts, estimator=estimator)
    assert low + high == pytest.approx(whole, abs=1e-9, nan_ok=True)


@given(rows=row_tables(), cut=st.integers(1, 63).map(lambda k: k / 64))
def test_partial_aucs_add_up(rows: RowTable, cut: float) -> None:
    counts = rows.counts()
    over_specificity = [
        confide.metrics.partial_auc_score(counts, specificity=part) for part in ((0.0, cut), (cut, 1.0))
    ]
    over_sensitivity = [
        confide.metrics.partial_auc_score(counts, sensitivity=part) for part in ((0.0, cut), (cut, 1.0))
    ]
    assert sum(over_specificity) == pytest.approx(confide.auc_score(counts), abs=1e-12)
    assert sum(over_sensitivity) == pytest.approx(confide.auc_score(counts), abs=1e-12)


@given(rows=row_tables(), level=st.sampled_from([0.5, 0.95, 0.999]))
def test_intervals_hold_their_value_and_stay_inside(rows: RowTable, level: float) -> None:
    counts = rows.counts()
    auc, area = confide.auc_score(counts), confide.average_precision_score(counts)
    for interval, value in [
        (confide.delong_interval(counts, level=level), auc),
        (confide.delong_interval(counts, level=level, transform="none"), auc),
        (confide.intervals.hanley_mcneil_interval(counts, level=level), auc),
        (confide.intervals.logit_interval(counts, level=level), area),
    ]:
        assert 0 <= interval.lower <= value + ROUNDING
        assert value - ROUNDING <= interval.upper <= 1
        assert interval.level == level
