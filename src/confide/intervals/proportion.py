"""Intervals that treat a value as a proportion: the dissertation's choice for areas under PR curves."""

from __future__ import annotations

import math

from confide.counts import ScoreCounts
from confide.intervals.interval import (
    Interval,
    all_or_nothing_ends,
    at_an_end,
    check_level,
    logit_ends,
    normal_quantile,
    plain_ends,
)
from confide.metrics.precision_recall import aucpr_score
from confide.predictions import accepts_predictions


@accepts_predictions
def binomial_interval(counts: ScoreCounts, *, estimator: str = "average_precision", level: float = 0.95) -> Interval:
    """`v -/+ z sqrt(v (1 - v) / n)` for AUCPR with any estimator, `n` the number of positives.

    Covers at least its level in the dissertation's simulations (section 4.4), where bootstrap and
    cross-validation do not. It may leave [0, 1]; it is not cut, so that its width can be read.
    """
    value = aucpr_score(counts, estimator=estimator)
    return binomial_interval_of(value, counts.total_positives, level=level)


@accepts_predictions
def logit_interval(counts: ScoreCounts, *, estimator: str = "average_precision", level: float = 0.95) -> Interval:
    """Compute the binomial interval on the log-odds scale, which stays in (0, 1): the default for AUCPR.

    A value of exactly 0 or 1 has no log-odds; its interval is the exact binomial one for `n` trials.
    """
    value = aucpr_score(counts, estimator=estimator)
    return logit_interval_of(value, counts.total_positives, level=level)


def binomial_interval_of(value: float, trials: float, *, level: float = 0.95) -> Interval:
    """Compute the normal interval for a proportion."""
    lower, upper = plain_ends(value, math.sqrt(max(value * (1.0 - value), 0.0) / trials), level)
    return Interval(lower=lower, upper=upper, level=level, method="binomial")


def logit_interval_of(value: float, trials: float, *, level: float = 0.95) -> Interval:
    """Compute the logit interval for a proportion."""
    check_level(level)
    if math.isnan(value):
        return Interval(lower=math.nan, upper=math.nan, level=level, method="logit")
    if at_an_end(value):
        lower, upper = all_or_nothing_ends(value, trials, level)
        return Interval(lower=lower, upper=upper, level=level, method="exact binomial")
    lower, upper = logit_ends(value, math.sqrt(value * (1.0 - value) / trials), level)
    return Interval(lower=lower, upper=upper, level=level, method="logit")


def wilson_interval_of(value: float, trials: float, *, level: float = 0.95) -> Interval:
    """Wilson's interval for a proportion of independent trials: for rates, bins and shares."""
    z = normal_quantile(level)
    if not trials > 0.0 or math.isnan(value):
        return Interval(lower=math.nan, upper=math.nan, level=level, method="Wilson")
    square = z * z / trials
    centre = (value + square / 2.0) / (1.0 + square)
    reach = z * math.sqrt(value * (1.0 - value) / trials + square / (4.0 * trials)) / (1.0 + square)
    lower = 0.0 if value == 0.0 else max(centre - reach, 0.0)  # at the ends the formula gives 0 and 1, but for rounding
    upper = 1.0 if value == 1.0 else min(centre + reach, 1.0)
    return Interval(lower=lower, upper=upper, level=level, method="Wilson")
