"""Intervals for proportions beside statsmodels' and beside their formulas."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

import confide
from confide import ScoreCounts
from confide.intervals.proportions import binomial_interval_of, logit_interval_of, wilson_interval_of

TOLERANCE = 1e-12
TABLE_4_1 = ScoreCounts.from_arrays([int(sign == "+") for sign in "+--++----+------+---"], range(20, 0, -1))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "trials"), [(0, 5), (1, 7), (30, 41), (499, 1000), (12, 12)])
def test_wilson(hits: int, trials: int, level: float) -> None:
    expected = proportion_confint(hits, trials, alpha=1 - level, method="wilson")
    found = wilson_interval_of(hits / trials, trials, level=level)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(("hits", "trials"), [(1, 7), (30, 41), (499, 1000)])
def test_binomial(hits: int, trials: int, level: float) -> None:
    z = norm.ppf(0.5 + level / 2)
    share = hits / trials
    reach = z * math.sqrt(share * (1 - share) / trials)
    found = binomial_interval_of(share, trials, level=level)
    assert (found.lower, found.upper) == pytest.approx((share - reach, share + reach), abs=TOLERANCE)


def test_binomial_is_not_cut_at_one() -> None:
    assert binomial_interval_of(0.95, 5).upper > 1.0


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_logit_is_the_dissertations(level: float) -> None:
    """`eta = logit(v)`, `tau = (n v (1 - v))^(-1/2)`, ends `logistic(eta -/+ z tau)`, n positives (section 4.3)."""
    value = (1 + 1 / 2 + 3 / 5 + 2 / 5 + 5 / 17) / 5
    eta, tau = math.log(value / (1 - value)), (5 * value * (1 - value)) ** -0.5
    ends = [1 / (1 + math.exp(-(eta + sign * norm.ppf(0.5 + level / 2) * tau))) for sign in (-1, 1)]
    found = confide.intervals.logit_interval(TABLE_4_1, level=level)
    assert (found.lower, found.upper) == pytest.approx(tuple(ends), abs=TOLERANCE)


@pytest.mark.parametrize("estimator", confide.metrics.ESTIMATORS)
def test_any_estimator_has_both_intervals(estimator: str) -> None:
    value = confide.aucpr_score(TABLE_4_1, estimator=estimator)
    binomial = confide.intervals.binomial_interval(TABLE_4_1, estimator=estimator)
    logit = confide.intervals.logit_interval(TABLE_4_1, estimator=estimator)
    assert (binomial.lower + binomial.upper) / 2 == pytest.approx(value, abs=TOLERANCE)
    assert 0 < logit.lower < value < logit.upper < 1


@pytest.mark.parametrize(("value", "hits"), [(1.0, 12), (0.0, 0)])
def test_all_or_nothing_is_clopper_and_pearson(value: float, hits: int) -> None:
    expected = proportion_confint(hits, 12, alpha=0.05, method="beta")
    found = logit_interval_of(value, 12)
    assert (found.lower, found.upper) == pytest.approx(expected, abs=TOLERANCE)
    assert found.method == "exact binomial"
