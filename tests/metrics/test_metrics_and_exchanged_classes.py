"""What becomes of every metric when the classes change places and scores are turned around, `s` to `1 - s`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import confide
from confide import ScoreCounts
from confide.metrics.registry import METRICS
from confide.metrics.threshold import ConfusionMatrix
from tests.strategies import RowTable, row_tables

TOLERANCE = 1e-9
FITTED = {  # found by iteration
    "calibration_intercept": 1e-6,
    "calibration_slope": 1e-6,
    "joint_intercept": 1e-6,
    "integrated_calibration_index": 1e-6,
    "calibration_e50": 1e-6,
    "calibration_e90": 1e-6,
    "calibration_emax": 1e-6,
}
Expected = Callable[[ScoreCounts], float]


def unchanged(name: str) -> Expected:
    return lambda counts: METRICS[name](counts)


def other(name: str) -> Expected:
    return lambda counts: METRICS[name](counts)


def inverse(name: str) -> Expected:
    def expected(counts: ScoreCounts) -> float:
        value = METRICS[name](counts)
        return math.nan if value == 0 else 1 / value

    return expected


def of_matrix(measure: Callable[[ConfusionMatrix], float]) -> Expected:
    """Measure the matrix in which positives and negatives, called and passed, have changed places."""

    def expected(counts: ScoreCounts) -> float:
        matrix = confide.confusion_matrix(counts, 0.5)  # no score is 0.5, so the turned call is the opposite one
        return measure(
            ConfusionMatrix(
                true_positives=matrix.true_negatives,
                false_positives=matrix.false_negatives,
                false_negatives=matrix.false_positives,
                true_negatives=matrix.true_positives,
            )
        )

    return expected


def next_score_below(counts: ScoreCounts) -> float:
    """Turned, the best threshold calls the opposite rows; it stands at the highest score passed over before."""
    best = counts.scores[counts.scores < lowest_best_threshold(counts)]
    return float(1 - best.max()) if best.size else math.inf


def lowest_best_threshold(counts: ScoreCounts) -> float:
    gains = {float(s): confide.confusion_matrix(counts, s).youden for s in (*counts.scores, np.inf)}
    return min(s for s, gain in gains.items() if gain >= max(gains.values()) - 1e-12)


NONE = "precision looks at one class only, so the area has no counterpart"
TURNED: dict[str, Expected | str] = {
    "auc": unchanged("auc"),
    "partial_auc": lambda counts: confide.metrics.partial_auc_score(counts, sensitivity=(0.9, 1.0)),
    "hull_auc": unchanged("hull_auc"),
    "average_precision_minimum": lambda counts: (
        sum(i / (i + counts.total_positives) for i in range(1, int(counts.total_negatives) + 1))
        / counts.total_negatives
    ),
    "aucpr_minimum": lambda counts: 1 + counts.prevalence * math.log(counts.prevalence) / (1 - counts.prevalence),
    "aucnpr": NONE,
    "normalised_average_precision": NONE,
    "aucpr": NONE,
    "average_precision": NONE,
    "lower_trapezoid": NONE,
    "upper_trapezoid": NONE,
    "interpolated_max": NONE,
    "interpolated_mean": NONE,
    "interpolated_median": NONE,
    "interpolated_convex": NONE,
    "interpolated_thresholds": NONE,
    "davis_goadrich": NONE,
    "binormal": NONE,
    "accuracy": unchanged("accuracy"),
    "recall": other("specificity"),
    "specificity": other("recall"),
    "false_positive_rate": lambda counts: 1 - METRICS["recall"](counts),
    "precision": other("negative_predictive_value"),
    "negative_predictive_value": other("precision"),
    "f1": of_matrix(lambda matrix: matrix.f1),
    "balanced_accuracy": unchanged("balanced_accuracy"),
    "matthews_correlation": unchanged("matthews_correlation"),
    "youden": unchanged("youden"),
    "positive_likelihood_ratio": inverse("negative_likelihood_ratio"),
    "negative_likelihood_ratio": inverse("positive_likelihood_ratio"),
    "f_beta": of_matrix(lambda matrix: matrix.f_beta(1.0)),
    "skew_aware_f": of_matrix(lambda matrix: matrix.skew_aware_f()),
    "net_benefit": lambda counts: METRICS["net_benefit"](counts) + 1 - 2 * counts.prevalence,  # at odds of 1
    "youden_threshold": next_score_below,
    "cost_threshold": NONE,
    "youden_index": unchanged("youden_index"),
    "brier": unchanged("brier"),
    "scaled_brier": unchanged("scaled_brier"),
    "log_loss": unchanged("log_loss"),
    "observed_expected": lambda counts: (
        counts.total_negatives / float(np.dot(counts.positives + counts.negatives, 1 - counts.scores))
    ),
    "calibration_intercept": lambda counts: -METRICS["calibration_intercept"](counts),
    "calibration_slope": unchanged("calibration_slope"),
    "joint_intercept": lambda counts: -METRICS["joint_intercept"](counts),
    "expected_calibration_error": unchanged("expected_calibration_error"),
    "integrated_calibration_index": unchanged("integrated_calibration_index"),
    "calibration_e50": unchanged("calibration_e50"),
    "calibration_e90": unchanged("calibration_e90"),
    "calibration_emax": unchanged("calibration_emax"),
}
RELATED = {name: relation for name, relation in TURNED.items() if callable(relation)}


def test_no_metric_is_forgotten() -> None:
    assert set(TURNED) == set(METRICS)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", RELATED)
@given(rows=row_tables())
def test_turned_around(name: str, rows: RowTable) -> None:
    turned = ScoreCounts.from_arrays(1 - rows.labels, 1 - rows.scores)
    found, expected = METRICS[name](turned), RELATED[name](rows.counts())
    if name == "youden_threshold" and math.isinf(expected):
        return  # calling nobody positive is best; thresholds stop at the highest score
    if math.isnan(expected) and "likelihood" in name:
        assert math.isnan(found) or math.isnan(METRICS[name](rows.counts())) or found == 0.0
        return
    tolerance = FITTED.get(name, TOLERANCE)
    assert found == pytest.approx(expected, rel=tolerance, abs=tolerance, nan_ok=True)


EXCHANGED: dict[str, Expected] = {
    "auc": lambda counts: 1 - METRICS["auc"](counts),
    "accuracy": lambda counts: 1 - METRICS["accuracy"](counts),
    "recall": other("false_positive_rate"),
    "false_positive_rate": other("recall"),
    "precision": lambda counts: 1 - METRICS["precision"](counts),
    "negative_predictive_value": lambda counts: 1 - METRICS["negative_predictive_value"](counts),
    "balanced_accuracy": lambda counts: 1 - METRICS["balanced_accuracy"](counts),
    "matthews_correlation": lambda counts: -METRICS["matthews_correlation"](counts),
    "youden": lambda counts: -METRICS["youden"](counts),
}


@pytest.mark.parametrize("name", EXCHANGED)
@given(rows=row_tables())
def test_classes_exchanged_and_scores_kept(name: str, rows: RowTable) -> None:
    found = METRICS[name](rows.counts().swapped())
    assert found == pytest.approx(EXCHANGED[name](rows.counts()), abs=1e-12, nan_ok=True)


@given(rows=row_tables())
def test_exchanging_twice_is_nothing(rows: RowTable) -> None:
    assert rows.counts().swapped().swapped() == rows.counts()
