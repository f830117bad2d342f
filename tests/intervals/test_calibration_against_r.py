"""Intervals of calibration measures beside R's glm, and beside means over rows by NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.examples import HEART_ATTACK
from confide.intervals.calibration import intercept_estimate, line_estimates
from confide.intervals.metric_estimates import estimate
from tests.random_rows import random_rows

Function = Callable[[Any], Any]
Z = 1.959963984540054

# d <- read.csv("heart_attack.csv"); x <- qlogis(d$logistic)
# a <- glm(d$died ~ offset(x), family = binomial, control = list(epsilon = 1e-14))
# b <- glm(d$died ~ x, family = binomial, control = list(epsilon = 1e-14))
# coef(a); coef(b)      (R 4). Standard errors are robust, and so not those of summary(): see statsmodels' below.
INTERCEPT = 0.00223106661571869
LINE_INTERCEPT = -0.0777815284231192
SLOPE = 0.8904435281002477
# rms::val.prob(d$logistic, d$died): Intercept -0.07778152842329535, Slope 0.89044352809910032, Brier 0.15135977484438
VAL_PROB = {
    "joint_intercept": -0.07778152842329535,
    "calibration_slope": 0.89044352809910032,
    "brier": 0.15135977484438001,
}


@pytest.fixture(scope="module")
def heart() -> ScoreCounts:
    return ScoreCounts.from_table(HEART_ATTACK, label="died", score="logistic")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("calibration_intercept", INTERCEPT), ("joint_intercept", LINE_INTERCEPT), ("calibration_slope", SLOPE)],
)
def test_coefficients_against_glm(heart: ScoreCounts, name: str, expected: float) -> None:
    found = estimate(heart, name)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.known_interval.method == "normal, robust"


@pytest.mark.parametrize("name", VAL_PROB)
def test_values_against_val_prob(heart: ScoreCounts, name: str) -> None:
    assert confide.metric_score(heart, name) == pytest.approx(VAL_PROB[name], abs=1e-9)


@pytest.mark.parametrize("kind", ["distinct", "tied", "repeated", "tied and repeated"])
def test_coefficients_against_statsmodels(kind: str) -> None:
    """Robust standard errors are HC0 of statsmodels, times the root of n/(n - coefficients), of rows written out."""
    import statsmodels.api as sm

    rows = random_rows("distinct" if kind == "repeated" else kind)
    times = np.random.default_rng(8).integers(1, 4, rows.labels.size) if kind == "repeated" else rows.weights
    repeats = np.ones(rows.labels.size, dtype=np.int64) if times is None else times.astype(np.int64)
    counts = ScoreCounts.from_arrays(rows.labels, rows.scores, repeats)
    label, score = np.repeat(rows.labels.astype(float), repeats), np.repeat(rows.scores, repeats)
    odds, n = np.log(score / (1.0 - score)), label.size
    options, robust = {"family": sm.families.Binomial()}, {"tol": 1e-14, "cov_type": "HC0"}
    line = sm.GLM(label, sm.add_constant(odds), **options).fit(**robust)
    shift = sm.GLM(label, np.ones((n, 1)), offset=odds, **options).fit(**robust)
    found = (intercept_estimate(counts), *line_estimates(counts))
    errors = line.bse * math.sqrt(n / (n - 2))
    peers = [(shift.params[0], shift.bse[0] * math.sqrt(n / (n - 1))), *zip(line.params, errors, strict=True)]
    for each, (value, error) in zip(found, peers, strict=True):
        assert each.value == pytest.approx(value, abs=1e-8)
        assert each.standard_error == pytest.approx(error, rel=1e-7)
        assert each.known_interval.upper == pytest.approx(value + Z * error, abs=1e-6)


@pytest.mark.parametrize("kind", ["distinct", "tied", "weighted", "tied and repeated"])
def test_standard_errors_by_rows(kind: str) -> None:
    """Means over rows, and functions of means by the delta method with numerical derivatives."""
    rows = random_rows(kind)
    weights = np.ones(rows.labels.size) if rows.weights is None else rows.weights.astype(float)
    label, score = rows.labels.astype(float), rows.scores
    columns = np.stack((label, score, (label - score) ** 2, -np.log(np.where(label == 1, score, 1 - score))))
    mean = np.average(columns, axis=1, weights=weights)
    covariance = np.cov(columns, aweights=weights, ddof=0) / weights.sum()
    functions: dict[str, Function] = {
        "brier": lambda m: m[2],
        "log_loss": lambda m: m[3],
        "observed_expected": lambda m: m[0] / m[1],
        "scaled_brier": lambda m: 1.0 - m[2] / (m[0] * (1.0 - m[0])),
    }
    for name, function in functions.items():
        step = 1e-6
        gradient = np.array(
            [(function(mean + step * unit) - function(mean - step * unit)) / (2 * step) for unit in np.eye(4)]
        )
        error = float(np.sqrt(gradient @ covariance @ gradient))
        found = estimate(rows.counts, name, method="plain")
        assert found.value == pytest.approx(function(mean), abs=1e-12)
        assert found.standard_error == pytest.approx(error, rel=1e-6), name
        ends = found.known_interval
        assert (ends.lower, ends.upper) == pytest.approx((found.value - Z * error, found.value + Z * error), abs=1e-6)


def test_scales() -> None:
    counts = random_rows("distinct").counts
    scales: dict[str, Function] = {
        "brier": lambda v: np.log(v / (1 - v)),
        "log_loss": np.log,
        "observed_expected": np.log,
        "scaled_brier": lambda v: np.log(1 - v),
    }
    for name, scale in scales.items():
        found = estimate(counts, name, method="logit")
        ends, step = found.known_interval, 1e-6
        assert found.standard_error is not None
        slope = abs(scale(found.value + step) - scale(found.value - step)) / (2 * step)
        spread = sorted((scale(ends.lower), scale(ends.upper)))
        assert spread[0] == pytest.approx(scale(found.value) - Z * found.standard_error * slope, abs=1e-6), name
        assert spread[1] == pytest.approx(scale(found.value) + Z * found.standard_error * slope, abs=1e-6), name


def test_where_there_is_no_line_there_is_no_interval() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7])
    for each in line_estimates(counts):
        assert np.isnan(each.value)
        assert each.interval is None
