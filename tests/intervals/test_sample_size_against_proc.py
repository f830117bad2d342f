"""Power and sample sizes of AUC: values of R's pROC 1.18, and the variances by definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from confide.errors import ParameterError
from confide.intervals import auc_power, auc_sample_size, comparison_power, comparison_sample_size
from confide.intervals.delong import hanley_mcneil_variance
from confide.intervals.power import joint_excess, variance_model

OBUCHOWSKI: dict[str, Any] = {"variance": "obuchowski"}
# pROC writes 1 / (32 pi) as 0.0099 and the square root of 2 as 1.414 for one curve, but exactly for two.
ROUNDED = 0.006


# power.roc.test(auc = 0.8, power = 0.9, kappa = 7/3)
# power.roc.test(auc = 0.65, power = 0.8, kappa = 1, alternative = "one.sided")
@pytest.mark.parametrize(
    ("auc", "prevalence", "power", "one_sided", "cases"),
    [(0.8, 0.3, 0.9, False, 12.2629309082), (0.65, 0.5, 0.8, True, 42.9024699191)],
)
def test_rows_for_one_auc(auc: float, prevalence: float, power: float, one_sided: bool, cases: float) -> None:
    plan = auc_sample_size(auc, prevalence=prevalence, power=power, one_sided=one_sided, **OBUCHOWSKI)
    exact = cases / prevalence
    assert math.ceil(exact) <= plan.rows <= math.ceil(exact * (1.0 + ROUNDED))


def test_power_for_one_auc() -> None:
    # power.roc.test(auc = 0.7, ncases = 30, ncontrols = 200, sig.level = 0.01)$power
    found = auc_power(0.7, rows=230, prevalence=30 / 230, level=0.99, **OBUCHOWSKI)
    assert found.power == pytest.approx(0.854838591872, rel=ROUNDED)


# A <- function(auc) qnorm(auc) * sqrt(2)
# first <- list(A1 = A(.8), B1 = 1, A2 = A(.75), B2 = 1, rn = .5, ra = .5, delta = .05)
# second <- list(A1 = A(.9), B1 = 1, A2 = A(.8), B2 = 1, rn = .3, ra = .6, delta = .1)
# power.roc.test(first, power = .9, kappa = 7/3)
# power.roc.test(second, power = .8, kappa = 4, alternative = "one.sided")
@pytest.mark.parametrize(
    ("terms", "cases"),
    [
        ({"aucs": (0.8, 0.75), "correlation": 0.5, "prevalence": 0.3, "power": 0.9}, 517.08299836),
        (
            {"aucs": (0.9, 0.8), "correlation": (0.6, 0.3), "prevalence": 0.2, "power": 0.8, "one_sided": True},
            47.6560120033,
        ),
    ],
)
def test_rows_for_two_aucs(terms: dict[str, Any], cases: float) -> None:
    plan = comparison_sample_size(**terms, **OBUCHOWSKI)
    assert plan.rows == math.ceil(cases / terms["prevalence"])


def test_power_for_two_aucs() -> None:
    # power.roc.test(first, ncases = 100, ncontrols = 300)$power
    found = comparison_power((0.8, 0.75), correlation=0.5, prevalence=0.25, rows=400, **OBUCHOWSKI)
    assert found.power == pytest.approx(0.319802787781, abs=1e-11)


def test_obuchowskis_variances() -> None:
    # pROC:::var.params.obuchowski(A(.8), 1, 7/3); pROC:::cov.params.obuchowski(A(.8), 1, A(.75), 1, .5, .5, 7/3)
    model = variance_model("obuchowski")
    assert model.variance(0.8, 1.0, 7 / 3) == pytest.approx(0.09365748, abs=5e-9)
    assert model.covariance((0.8, 0.75), 1.0, 7 / 3, (0.5, 0.5)) == pytest.approx(0.03402791, abs=5e-9)


@pytest.mark.parametrize("correlation", [-0.9, -0.3, 0.0, 0.2, 0.5, 0.95])
@pytest.mark.parametrize(("first", "second"), [(0.8, 0.8), (0.95, 0.6), (0.3, 0.7)])
def test_joint_excess_against_scipy(first: float, second: float, correlation: float) -> None:
    both = multivariate_normal.cdf(norm.ppf([first, second]), cov=[[1.0, correlation], [correlation, 1.0]])
    assert joint_excess(first, second, correlation) == pytest.approx(both - first * second, abs=1e-8)


def test_joint_excess_of_equal_scores() -> None:
    for first, second in ((0.9, 0.9), (0.95, 0.6), (0.3, 0.7)):
        assert joint_excess(first, second, 1.0) == pytest.approx(min(first, second) - first * second, abs=1e-7)


def test_normal_variance_without_signal_is_that_of_the_rank_sum() -> None:
    """Without signal the empirical AUC of any continuous scores has variance (n + m + 1) / (12 n m)."""
    for model in ("normal", "hanley-mcneil"):
        assert variance_model(model).variance(0.5, 30, 70) == pytest.approx(101 / (12 * 30 * 70), rel=1e-12)


def test_width_by_hanley_and_mcneil() -> None:
    plan = auc_sample_size(0.8, prevalence=0.3, width=0.1, variance="hanley-mcneil")

    def width(rows: int) -> float:
        return float(2 * norm.ppf(0.975) * np.sqrt(hanley_mcneil_variance(0.8, 0.3 * rows, 0.7 * rows)))

    assert width(plan.rows) <= 0.1 < width(plan.rows - 1)
    assert plan.width == pytest.approx(width(plan.rows))


def test_correlated_aucs_need_fewer_rows_and_both_correlations_agree() -> None:
    def rows(**terms: Any) -> int:
        return comparison_sample_size((0.8, 0.75), prevalence=0.3, power=0.9, **terms).rows

    assert rows(correlation=0.8) < rows(correlation=0.5) < rows(correlation=0.0) == rows(unpaired=True)
    # AUCs of scores with correlation 0.5 are a little less correlated themselves.
    assert rows(auc_correlation=0.46) <= rows(correlation=0.5) <= rows(auc_correlation=0.45)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"auc": 1.0, "power": 0.9}, "`auc` must lie"),
        ({"auc": 0.8}, "give `power`"),
        ({"auc": 0.8, "null": 0.8, "power": 0.9}, "`null` must differ"),
        ({"auc": 0.8, "power": 90}, "`power` must lie"),
        ({"auc": 0.8, "width": -1}, "`width` must be a positive"),
        ({"auc": 0.8, "width": 0.1, "variance": "obuchovski"}, "Did you mean 'obuchowski'"),
        ({"auc": 0.8, "null": 0.800001, "power": 0.99}, "more than 1,000,000,000 rows"),
    ],
)
def test_what_cannot_be_planned_is_refused(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        auc_sample_size(terms.pop("auc"), prevalence=0.3, **terms)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({}, "needs either `correlation`"),
        ({"correlation": 0.5, "auc_correlation": 0.5}, "needs either `correlation`"),
        ({"correlation": 0.5, "unpaired": True}, "leave out `unpaired`"),
        ({"correlation": 1.0}, "between -1 and 1"),
        ({"correlation": 0.5, "variance": "hanley-mcneil"}, "give `auc_correlation`"),
        ({"aucs": (0.8, 0.8), "unpaired": True}, "must differ"),
        ({"aucs": (0.8,), "unpaired": True}, "two values of `auc`"),
    ],
)
def test_what_cannot_be_compared_is_refused(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        comparison_sample_size(**{"aucs": (0.8, 0.75), "prevalence": 0.3, "power": 0.9, **terms})
