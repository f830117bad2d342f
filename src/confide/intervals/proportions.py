"""Intervals of proportions and of the measures of a confusion matrix.

Every measure is a function of the four cells that stays the same when all cells are doubled. Rows are independent, so
the cells are multinomial, and the delta method gives the variance `sum n_i g_i^2` with `g_i` the derivative by cell
`i` (Agresti, *Categorical Data Analysis*, section 16.1). For shares this is the binomial variance `v (1 - v) / n`, and
for likelihood ratios that of Simel, Samsa and Matchar (1991).

References: A. Agresti, *Categorical Data Analysis*, 3rd edition, Wiley 2013. D. Simel, G. Samsa and D. Matchar,
"Likelihood ratios with confidence", Journal of Clinical Epidemiology 44, 1991.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.errors import ParameterError, did_you_mean
from confide.intervals.influence import measure_gradient
from confide.intervals.interval import (
    FISHER_Z,
    IDENTITY,
    LOG,
    LOG_ODDS,
    Estimate,
    Interval,
    Method,
    Scale,
    all_or_nothing_ends,
    at_an_end,
    check_level,
    logit_ends,
    normal_estimate,
    normal_quantile,
    plain_ends,
)
from confide.metrics.precision_recall import aucpr_score
from confide.metrics.threshold import ConfusionMatrix, confusion_matrix


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


_ALL = (1.0, 1.0, 1.0, 1.0)
_POSITIVE, _NEGATIVE = (1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0)
_CALLED, _PASSED = (1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0)
_HITS, _REJECTIONS = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)

SHARES: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = MappingProxyType(
    {
        "accuracy": ((1.0, 0.0, 0.0, 1.0), _ALL),
        "recall": (_HITS, _POSITIVE),
        "false_positive_rate": ((0.0, 1.0, 0.0, 0.0), _NEGATIVE),
        "specificity": (_REJECTIONS, _NEGATIVE),
        "precision": (_HITS, _CALLED),
        "negative_predictive_value": (_REJECTIONS, _PASSED),
    }
)
"""Measures that are shares: the cells that are counted, and those that they are a share of.

Cells are true positives, false positives, false negatives and true negatives.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRule:
    """Range-keeping scale and default method of a measure."""

    scale: Scale
    default: Method


MEASURE_RULES: Mapping[str, MeasureRule] = MappingProxyType(
    {
        **{name: MeasureRule(scale=LOG_ODDS, default="wilson") for name in SHARES},
        "f1": MeasureRule(scale=LOG_ODDS, default="logit"),
        "f_beta": MeasureRule(scale=LOG_ODDS, default="logit"),
        "skew_aware_f": MeasureRule(scale=LOG_ODDS, default="logit"),
        "balanced_accuracy": MeasureRule(scale=LOG_ODDS, default="logit"),
        "youden": MeasureRule(scale=FISHER_Z, default="logit"),
        "matthews_correlation": MeasureRule(scale=FISHER_Z, default="logit"),
        "positive_likelihood_ratio": MeasureRule(scale=LOG, default="logit"),
        "negative_likelihood_ratio": MeasureRule(scale=LOG, default="logit"),
        "net_benefit": MeasureRule(scale=IDENTITY, default="plain"),
    }
)
"""Rule of every measure that `matrix_estimate` gives an interval for."""


def matrix_estimate(
    matrix: ConfusionMatrix,
    measure: str,
    *,
    threshold: float = 0.5,
    beta: float = 1.0,
    level: float = 0.95,
    method: Method | None = None,
) -> Estimate:
    """Estimate a measure of a confusion matrix, with standard error and interval.

    Shares have Wilson's interval by default; "plain" is the binomial one and "logit" that on the log-odds scale, both
    exact binomial where the share is 0 or 1. F, skew-aware F and balanced accuracy use log-odds, Matthews' correlation
    and Youden's J Fisher's z, likelihood ratios logarithms, net benefit its own scale. `threshold` serves net benefit
    alone, `beta` F and skew-aware F. Weights count as rows.

    There is no interval where the measure is undefined; where a likelihood ratio has an empty cell; where the other
    measures are at an end of their range, and so have a variance of 0; and where skew-aware F is 0, as it has no
    derivative there.

    >>> matrix = ConfusionMatrix(true_positives=81, false_positives=10, false_negatives=19, true_negatives=90)
    >>> found = matrix_estimate(matrix, "recall").known_interval
    >>> round(found.lower, 4), round(found.upper, 4), found.method
    (0.7222, 0.8749, 'Wilson')
    """
    check_level(level)
    if measure not in MEASURE_RULES:
        raise ParameterError(
            f"no measure of a confusion matrix is called {measure!r}. {did_you_mean(measure, MEASURE_RULES)}"
            f"These have intervals: {', '.join(MEASURE_RULES)}"
        )
    rule = MEASURE_RULES[measure]
    cells = _cells(matrix)
    value = _value(matrix, measure, threshold, beta)
    chosen = rule.default if method is None or (method == "wilson" and measure not in SHARES) else method
    if measure in SHARES:
        return _share_estimate(value, float(np.dot(SHARES[measure][1], cells)), level=level, method=chosen)
    if math.isnan(value) or ("likelihood" in measure and (cells <= 0.0).any()):
        return Estimate(value=value)
    slope = measure_gradient(cells, lambda matrix: _value(matrix, measure, threshold, beta)).slope
    error = float(np.sqrt(np.dot(cells, slope**2)))
    return normal_estimate(value, error, level=level, method=chosen, scale=rule.scale, name="delta method")


@accepts_predictions
def threshold_estimate(
    counts: ScoreCounts,
    measure: str,
    *,
    threshold: float = 0.5,
    beta: float = 1.0,
    level: float = 0.95,
    method: Method | None = None,
) -> Estimate:
    """Estimate a measure at a threshold: `matrix_estimate` of the confusion matrix there."""
    matrix = confusion_matrix(counts, threshold)
    return matrix_estimate(matrix, measure, threshold=threshold, beta=beta, level=level, method=method)


def _cells(matrix: ConfusionMatrix) -> FloatArray:
    return np.array(
        [matrix.true_positives, matrix.false_positives, matrix.false_negatives, matrix.true_negatives], dtype=np.float64
    )


def _value(matrix: ConfusionMatrix, measure: str, threshold: float, beta: float) -> float:
    if measure == "net_benefit":
        return matrix.net_benefit(threshold)
    found = getattr(matrix, measure)
    value: float = found(beta) if measure in ("f_beta", "skew_aware_f") else found
    return value


def _share_estimate(value: float, trials: float, *, level: float, method: Method) -> Estimate:
    if math.isnan(value):
        return Estimate(value=value)
    error = math.sqrt(max(value * (1.0 - value), 0.0) / trials)
    if method == "wilson":
        return Estimate(value=value, standard_error=error, interval=wilson_interval_of(value, trials, level=level))
    if at_an_end(value):
        lower, upper = all_or_nothing_ends(value, trials, level)
        exact = Interval(lower=lower, upper=upper, level=level, method="exact binomial")
        return Estimate(value=value, standard_error=error, interval=exact)
    return normal_estimate(value, error, level=level, method=method, scale=LOG_ODDS, name="binomial")
