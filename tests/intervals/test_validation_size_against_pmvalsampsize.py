"""External validation: CRAN's pmvalsampsize, R's integrate() for what that simulates, and drawn studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.intervals import validation_sample_size
from confide.intervals.validation_size import NormalClasses, NormalPredictor, implied_prevalence, implied_rates

VALVE: dict[str, Any] = {"prevalence": 0.018, "auc": 0.8, "oe_width": 1.0}
NORMAL: dict[str, Any] = {"lp_mean": -5, "lp_sd": 2.5}
BETA: dict[str, Any] = {"risk_beta": (0.5, 0.5)}


# pmvalsampsize(type = "b", prevalence = 0.018, cstatistic = 0.8, oeciwidth = 1, ...)$results_table, with
# lpnormal = c(-5, 2.5); lpbeta = c(0.5, 0.5); lpcstat = -4.7, seed = 1234. It draws 1,000,000 linear predictors for the
# slope, and rounds the standard error of O:E up to the next 0.0001.
@pytest.mark.parametrize(
    ("predictor", "oe", "slope", "c"),
    [(NORMAL, 905, 4563, 4252), (BETA, 905, 1646, 4252), ({}, 905, 16990, 4252)],
)
def test_rows_of_the_published_example(predictor: dict[str, Any], oe: int, slope: int, c: int) -> None:
    rows = [one.rows for one in validation_sample_size(**VALVE, **predictor).criteria]
    assert rows[0] == oe + 1
    assert rows[1] == pytest.approx(slope, rel=0.01)
    assert rows[2] == c


# f <- function(x) x^k * plogis(x) * plogis(-x) * d(x); i: integrate(f, lo, up, rel.tol = 1e-12)$value for k = 0, 1, 2
# i[1] / ((0.2 / (2 * qnorm(.975)))^2 * (i[1] * i[3] - i[2]^2)), where d(x) is
# dnorm(x, -5, 2.5); dbeta(plogis(x), .5, .5) * plogis(x) * plogis(-x);
# .982 * dnorm(x, m, sqrt(v)) + .018 * dnorm(x, m + v, sqrt(v)) with v = 2 * qnorm(.8)^2, m = qlogis(.018) - v / 2
@pytest.mark.parametrize(("predictor", "rows"), [(NORMAL, 4553.70995246), (BETA, 1643.7525793), ({}, 17127.9423549)])
def test_rows_for_the_slope_against_integrate(predictor: dict[str, Any], rows: float) -> None:
    slope = validation_sample_size(**VALVE, **predictor, rows=10_000).criteria[1]
    assert slope.rows == np.ceil(rows)
    assert slope.width == pytest.approx(0.2 * np.sqrt(rows / 10_000), rel=1e-9)


def test_rates_at_a_threshold_against_integrate() -> None:
    # d <- function(x) dnorm(x, -5, 2.5); prevalence <- integrate(function(x) plogis(x) * d(x), -40, 30)$value
    # integrate(function(x) plogis(x) * d(x), qlogis(.08), 30)$value / prevalence; likewise with plogis(-x) below
    model = NormalPredictor(-5.0, 2.5)
    assert implied_prevalence(model) == pytest.approx(0.0522564286479, abs=1e-11)
    assert implied_rates(model, 0.08) == pytest.approx((0.8027403439758, 0.8826780592471), abs=1e-11)


def test_net_benefit() -> None:
    # pmvalsampsize(..., sensitivity = 0.8, specificity = 0.3, threshold = 0.08): 245126 rows, st. net benefit -2.521;
    # pmvalsampsize(..., threshold = 0.08): 11397 rows, 0.231. It rounds the wanted standard error to three digits, and
    # in the second call the rates to two, 0.80 and 0.88.
    stated = validation_sample_size(**VALVE, **NORMAL, threshold=0.08, sensitivity=0.8, specificity=0.3).criteria[3]
    assert stated.value == pytest.approx(-2.521, abs=5e-4)
    assert stated.rows == pytest.approx(245_126 * (0.051 / (0.1 / 1.959964)) ** 2, rel=1e-5)
    rounded = validation_sample_size(**VALVE, **NORMAL, threshold=0.08, sensitivity=0.8, specificity=0.88).criteria[3]
    assert rounded.value == pytest.approx(0.231, abs=5e-4)
    assert rounded.rows == pytest.approx(11_397 * (0.051 / (0.1 / 1.959964)) ** 2, rel=2e-4)
    implied = validation_sample_size(**VALVE, **NORMAL, threshold=0.08).criteria[3]
    assert implied.rows == pytest.approx(11_397, rel=0.04)


def test_classes_of_normal_scores_are_calibrated() -> None:
    model = NormalClasses(0.8, 0.018)
    assert implied_prevalence(model) == pytest.approx(0.018, abs=1e-12)


def test_given_risks_stand_for_their_distribution() -> None:
    quantiles = NormalPredictor(-2.0, 1.0)
    log_odds = -2.0 + np.random.default_rng(5).standard_normal(200_000)
    risks = 1.0 / (1.0 + np.exp(-log_odds))
    terms: dict[str, Any] = {"prevalence": implied_prevalence(quantiles), "auc": 0.76, "threshold": 0.2}
    normal = validation_sample_size(**terms, lp_mean=-2.0, lp_sd=1.0)
    given = validation_sample_size(**terms, risks=risks)
    for one, other in zip(given.criteria, normal.criteria, strict=True):
        assert one.rows == pytest.approx(other.rows, rel=0.02)
    assert given.notes == normal.notes == ()


def test_the_largest_criterion_decides_and_rows_may_be_given() -> None:
    plan = validation_sample_size(**VALVE, **NORMAL)
    assert (plan.rows, plan.decisive.measure, plan.positives) == (4554, "calibration_slope", 82)
    assert all(one.width <= one.wanted_width for one in plan.criteria)
    fewer = validation_sample_size(**VALVE, **NORMAL, rows=4553)
    assert (fewer.enough, fewer.needed) == (False, 4554)
    assert validation_sample_size(**VALVE, **NORMAL, rows=4554).enough


def test_a_linear_predictor_of_another_prevalence_is_noted() -> None:
    assert "prevalence 0.0523" in validation_sample_size(**VALVE, **NORMAL).notes[0]
    assert validation_sample_size(**VALVE, lp_mean=-5, lp_sd=1.5).notes == ()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"lp_mean": -5}, "belong together"),
        ({"lp_mean": -5, "lp_sd": 0}, "`lp_sd` must be a positive"),
        ({"lp_mean": -5, "lp_sd": 1, "risk_beta": (1, 2)}, "give one distribution"),
        ({"risk_beta": (0, 2)}, "two positive numbers"),
        ({"risks": [0.2, 0.2]}, "all equal"),
        ({"risks": [0.2, 1.2]}, "probabilities"),
        ({"auc": 0.5}, "above 0.5"),
        ({"sensitivity": 0.8, "specificity": 0.8}, "needs a `threshold`"),
        ({"threshold": 0.1, "sensitivity": 0.8}, "belong together"),
        ({"slope_width": 0}, "`slope_width` must be"),
        ({"rows": 3}, "`rows` must be"),
    ],
)
def test_what_cannot_be_planned_is_refused(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        validation_sample_size(**{**VALVE, **terms})
