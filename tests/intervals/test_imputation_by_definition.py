"""Rubin's rules by their definition, in fractions, and the coverage of what they pool."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import t

from confide.errors import DataError, ParameterError
from confide.intervals.imputation import pool, rubin
from confide.intervals.interval import IDENTITY, LOG, LOG_ODDS, Estimate

VALUES = ("1/2", "11/20", "12/25", "27/50", "13/25")
VARIANCES = ("1/100", "11/1000", "9/1000", "12/1000", "1/100")


def test_pooling_is_exact() -> None:
    """What mice::pool.scalar(Q, U, n = 200, k = 1) computes, in exact fractions."""
    values, variances = [Fraction(v) for v in VALUES], [Fraction(v) for v in VARIANCES]
    m = len(values)
    mean, within = sum(values) / m, sum(variances) / m
    between = sum((value - mean) ** 2 for value in values) / (m - 1)
    total = within + (1 + Fraction(1, m)) * between
    share = (1 + Fraction(1, m)) * between / total
    old = (m - 1) / share**2
    observed = Fraction(199 + 1, 199 + 3) * 199 * (1 - share)
    degrees = old * observed / (old + observed)
    ratio = (1 + Fraction(1, m)) * between / within
    found = rubin([float(v) for v in values], [float(v) for v in variances], complete_degrees=199)
    assert found.value == pytest.approx(float(mean), rel=1e-14)
    assert (found.within, found.between) == pytest.approx((float(within), float(between)), rel=1e-12)
    assert found.variance == pytest.approx(float(total), rel=1e-12)
    assert found.degrees_of_freedom == pytest.approx(float(degrees), rel=1e-12)
    assert found.missing_information == pytest.approx(float((ratio + 2 / (degrees + 3)) / (ratio + 1)), rel=1e-12)
    large = rubin([float(v) for v in values], [float(v) for v in variances])
    assert large.degrees_of_freedom == pytest.approx(float(old), rel=1e-12)


def test_equal_values_leave_the_variance_as_it_is() -> None:
    found = rubin([0.5, 0.5, 0.5], [0.01, 0.01, 0.01])
    assert found.variance == pytest.approx(0.01)
    assert found.degrees_of_freedom > 1e8


@pytest.mark.parametrize(
    ("scale", "values", "errors"),
    [("logit", (0.81, 0.83, 0.80), (0.03, 0.028, 0.031)), ("log", (1.1, 1.3, 0.9), (0.2, 0.25, 0.15))],
)
def test_pooled_estimate_is_that_of_the_scale(scale: str, values: tuple[float, ...], errors: tuple[float, ...]) -> None:
    logit = scale == "logit"

    def forward(value: float) -> float:
        return math.log(value / (1.0 - value)) if logit else math.log(value)

    def back(value: float) -> float:
        return 1.0 / (1.0 + math.exp(-value)) if logit else math.exp(value)

    def slope(value: float) -> float:
        return 1.0 / (value * (1.0 - value)) if logit else 1.0 / value

    moved = rubin(
        [forward(v) for v in values],
        [(e * slope(v)) ** 2 for v, e in zip(values, errors, strict=True)],
        complete_degrees=499,
    )
    estimates = [Estimate(value=v, standard_error=e) for v, e in zip(values, errors, strict=True)]
    found = pool(estimates, scale=LOG_ODDS if logit else LOG, rows=500)
    reach = t.ppf(0.975, moved.degrees_of_freedom) * math.sqrt(moved.variance)
    assert found.value == pytest.approx(back(moved.value))
    assert found.standard_error == pytest.approx(math.sqrt(moved.variance) / slope(found.value))
    assert found.known_interval.lower == pytest.approx(back(moved.value - reach))
    assert found.known_interval.upper == pytest.approx(back(moved.value + reach))
    assert found.known_interval.method == f"Rubin's rules, {scale}"


def test_what_cannot_be_pooled_is_refused() -> None:
    good = Estimate(value=0.8, standard_error=0.1)
    with pytest.raises(DataError, match="end of the logit scale"):
        pool([good, Estimate(value=1.0, standard_error=0.0)], scale=LOG_ODDS)
    with pytest.raises(DataError, match="without standard error"):
        pool([good, Estimate(value=0.7)], scale=IDENTITY)
    with pytest.raises(ParameterError, match="at least two imputed data sets"):
        pool([good], scale=IDENTITY)
    with pytest.raises(DataError, match="without variance"):
        rubin([0.5, 0.5], [0.0, 0.0])


@pytest.mark.statistical
def test_pooled_intervals_cover_and_a_single_imputation_does_not() -> None:
    """Means of 60 normal values, 40 % of them missing and imputed five times from their posterior.

    Binomial(1000, 0.95) leaves (0.925, 0.972) with probability under 1e-3; the interval of one imputed set covers
    about 0.85.
    """
    rng = np.random.default_rng(1)
    covered = [0, 0]
    for _ in range(1_000):
        seen = rng.standard_normal(36)
        estimates = []
        for _ in range(5):
            spread = math.sqrt(35 * seen.var(ddof=1) / rng.chisquare(35))
            centre = seen.mean() + spread / 6.0 * rng.standard_normal()
            filled = np.concatenate((seen, centre + spread * rng.standard_normal(24)))
            estimates.append(Estimate(value=filled.mean(), standard_error=filled.std(ddof=1) / math.sqrt(60)))
        covered[0] += 0.0 in pool(estimates, scale=IDENTITY, rows=60).known_interval
        one = estimates[0]
        covered[1] += abs(one.value) < 2.0 * (one.standard_error or 0.0)
    assert 0.925 < covered[0] / 1_000 < 0.972
    assert covered[1] / 1_000 < 0.925
