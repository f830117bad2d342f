"""Intervals of measures at a threshold: numerical derivatives, statsmodels, R's prop.test, pROC, published formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

import confide
from confide import ScoreCounts
from confide.examples import HEART_ATTACK
from confide.intervals.metric_estimates import estimate
from confide.intervals.proportions import MEASURE_RULES, SHARES, matrix_estimate, threshold_estimate
from confide.metrics.registry import METRICS
from confide.metrics.threshold import MEASURES, ConfusionMatrix

Z = 1.959963984540054
CELLS = (115, 136, 23, 226)


def matrix(cells: Any = CELLS) -> ConfusionMatrix:
    caught, alarmed, missed, passed = cells
    return ConfusionMatrix(
        true_positives=caught, false_positives=alarmed, false_negatives=missed, true_negatives=passed
    )


def value(cells: Any, measure: str, threshold: float, beta: float) -> float:
    each = matrix(cells)
    if measure == "net_benefit":
        return each.net_benefit(threshold)
    if measure in ("f_beta", "skew_aware_f"):
        return float(getattr(each, measure)(beta))
    return float(getattr(each, measure))


def test_every_measure_has_a_rule() -> None:
    assert set(MEASURE_RULES) == {name for name, metric in METRICS.items() if "threshold" in metric.options}
    assert set(MEASURES) <= set(MEASURE_RULES)


@pytest.mark.parametrize("measure", MEASURE_RULES)
@pytest.mark.parametrize(("threshold", "beta"), [(0.5, 1.0), (0.1, 2.0)])
def test_standard_errors_by_numerical_derivatives(measure: str, threshold: float, beta: float) -> None:
    """The delta method for multinomial cells: `g' (diag(p) - p p') g / N`, with shares of all rows."""
    cells = np.array(CELLS, dtype=float)
    rows, share, step = cells.sum(), cells / cells.sum(), 1e-6
    ends = [[value(share + sign * unit, measure, threshold, beta) for sign in (step, -step)] for unit in np.eye(4)]
    gradient = np.array([(above - below) / (2 * step) for above, below in ends])
    covariance = (np.diag(share) - np.outer(share, share)) / rows
    found = matrix_estimate(matrix(), measure, threshold=threshold, beta=beta)
    assert found.value == value(CELLS, measure, threshold, beta)
    assert found.standard_error == pytest.approx(float(np.sqrt(gradient @ covariance @ gradient)), rel=1e-6)


@pytest.mark.parametrize("measure", SHARES)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_shares_against_statsmodels(measure: str, level: float) -> None:
    above, below = (int(np.dot(side, CELLS)) for side in SHARES[measure])
    for method, peer in (("wilson", "wilson"), ("plain", "normal")):
        found = matrix_estimate(matrix(), measure, level=level, method=method).known_interval  # type: ignore[arg-type]
        expected = proportion_confint(above, below, alpha=1 - level, method=peer)
        assert (found.lower, found.upper) == pytest.approx(expected, abs=1e-12)


# prop.test(x, n, correct = FALSE)$conf.int for the model `logistic` of heart_attack.csv at a threshold of 0.2     (R 4)
PROP_TEST = {
    "recall": (0.762313871415829, 0.886297618940456),
    "specificity": (0.573360085920308, 0.672648117442206),
    "precision": (0.397621955344442, 0.519973870322309),
    "negative_predictive_value": (0.865214278969299, 0.937660379905218),
    "accuracy": (0.639925001248417, 0.721299738823578),
}


@pytest.fixture(scope="module")
def heart() -> ScoreCounts:
    return ScoreCounts.from_table(HEART_ATTACK, label="died", score="logistic")


@pytest.mark.parametrize("measure", PROP_TEST)
def test_shares_against_prop_test(heart: ScoreCounts, measure: str) -> None:
    found = estimate(heart, measure, threshold=0.2).known_interval
    assert (found.lower, found.upper) == pytest.approx(PROP_TEST[measure], abs=1e-12)
    assert found.method == "Wilson"


# r <- roc(d$died, d$logistic, direction = "<")
# ci.coords(r, x = 0.2, input = "threshold", boot.n = 20000), with boot.stratified = FALSE for the last three;
# ci.coords(r, x = "best", best.policy = "random", ret = c("threshold", "youden"), boot.n = 20000); its J is 1 more;
# ci.auc(auc(r, partial.auc = c(1, 0.9)), method = "bootstrap", boot.n = 20000);
# ci.auc(auc(r, partial.auc = c(1, 0.8), partial.auc.focus = "sensitivity", partial.auc.correct = TRUE), ...)
PROC: list[tuple[str, dict[str, Any], float, float]] = [
    ("recall", {"threshold": 0.2}, 0.768115942029, 0.891304347826),
    ("specificity", {"threshold": 0.2}, 0.574585635359, 0.674033149171),
    ("youden", {"threshold": 0.2}, 0.3785661382, 0.53499879894),
    ("youden_index", {}, 0.42204640083, 0.57987128673),
    ("partial_auc", {"specificity": (0.9, 1.0)}, 0.0222115461606, 0.0407280406758),
    ("partial_auc", {"sensitivity": (0.8, 1.0), "corrected": True}, 0.632543304775, 0.752771327657),
    ("precision", {"threshold": 0.2}, 0.396078431373, 0.52),
    ("negative_predictive_value", {"threshold": 0.2}, 0.870226529196, 0.941392299107),
    ("accuracy", {"threshold": 0.2}, 0.64, 0.722),
]


@pytest.mark.parametrize(("name", "options", "lower", "upper"), PROC)
def test_bootstrap_against_proc(
    heart: ScoreCounts, name: str, options: dict[str, Any], lower: float, upper: float
) -> None:
    """An end of 4,000 replicates varies by 0.04 standard errors, pROC's by 0.02: 0.3 is six of both together."""
    found = estimate(heart, name, method="bootstrap", replicates=4_000, **options)
    assert found.standard_error is not None
    assert found.known_interval.lower == pytest.approx(lower, abs=0.3 * found.standard_error)
    assert found.known_interval.upper == pytest.approx(upper, abs=0.3 * found.standard_error)


def test_youden_threshold_against_proc(heart: ScoreCounts) -> None:
    """0.167 to 0.343 in pROC, whose thresholds lie midway between scores; replicates pile up on a few scores."""
    found = estimate(heart, "youden_threshold", replicates=4_000).known_interval
    assert found.lower == pytest.approx(0.1669845, abs=0.005)
    assert found.upper == pytest.approx(0.342716, abs=0.005)


def test_likelihood_ratios_by_simel() -> None:
    """`log LR -/+ z sqrt(1/a - 1/(a+c) + 1/b - 1/(b+d))` (Simel, Samsa and Matchar 1991)."""
    a, b, c, d = CELLS
    for measure, ours, theirs in (("positive_likelihood_ratio", a, b), ("negative_likelihood_ratio", c, d)):
        ratio = (ours / (a + c)) / (theirs / (b + d))
        reach = Z * math.sqrt(1 / ours - 1 / (a + c) + 1 / theirs - 1 / (b + d))
        found = matrix_estimate(matrix(), measure).known_interval
        assert (found.lower, found.upper) == pytest.approx((ratio * math.exp(-reach), ratio * math.exp(reach)))


def test_scales_of_a_measure_and_its_double_agree() -> None:
    """J is twice balanced accuracy less 1, and Fisher's z of J half its log-odds: the intervals are the same."""
    youden, balanced = (matrix_estimate(matrix(), name).known_interval for name in ("youden", "balanced_accuracy"))
    assert (youden.lower, youden.upper) == pytest.approx((2 * balanced.lower - 1, 2 * balanced.upper - 1), abs=1e-12)
    assert youden.method == "delta method, Fisher z"


PERFECT = (10, 0, 0, 20)


@pytest.mark.parametrize("method", [None, "plain", "logit"])
@pytest.mark.parametrize("measure", MEASURE_RULES)
def test_a_perfect_matrix(measure: str, method: str | None) -> None:
    found = matrix_estimate(matrix(PERFECT), measure, method=method)  # type: ignore[arg-type]
    if measure in SHARES:
        ends = found.known_interval
        assert 0.0 <= ends.lower < ends.upper <= 1.0
        assert found.value in ends
        assert ends.method == ("Wilson" if method is None else "exact binomial")
    elif measure == "net_benefit":
        assert found.interval is not None
    else:
        assert found.interval is None  # no variance, or an empty cell


def test_undefined_measures_have_no_interval() -> None:
    nobody = matrix((0, 0, 5, 5))
    for measure in ("precision", "matthews_correlation", "positive_likelihood_ratio"):
        found = matrix_estimate(nobody, measure)
        assert math.isnan(found.value)
        assert found.interval is None
    below_chance = matrix_estimate(matrix((5, 20, 20, 5)), "skew_aware_f")
    assert below_chance.value == 0.0
    assert below_chance.interval is None


def test_unknown_measures_are_refused() -> None:
    with pytest.raises(confide.ConfideError, match="Did you mean 'recall'"):
        matrix_estimate(matrix(), "recal")


def test_a_threshold_of_rows(heart: ScoreCounts) -> None:
    expected = matrix_estimate(confide.confusion_matrix(heart, 0.2), "net_benefit", threshold=0.2)
    assert threshold_estimate(heart, "net_benefit", threshold=0.2) == expected
    assert estimate(heart, "net_benefit", threshold=0.2) == expected
