"""Intervals of calibration measures and of proper scores, from sums over rows.

Brier score and log loss are means over rows. Scaled Brier score and the ratio of observed to expected positives are
smooth functions of means: the delta method gives their variance as the mean square of each row's influence, over the
number of rows. Calibration intercept and slope are coefficients of a logistic regression, with robust variances: the
sandwich of White (1982), as in R's `sandwich::vcovHC(type = "HC1")`. They hold where the calibration curve is no such
line, too; those of the Fisher information do not. A weight counts as so many rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from confide.blocks import dot, sum_blocks
from confide.counts import FloatArray, ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.intervals.interval import LOG, LOG_ODDS, LOG_OF_REST, Estimate, Method, normal_estimate
from confide.metrics.calibration import (
    brier_score,
    calibration_intercept,
    calibration_line,
    log_loss,
    log_losses,
    observed_expected_ratio,
    scaled_brier_score,
    squared_errors,
)
from confide.metrics.calibration_fit import Line, line_sums, squared_residuals

_ROBUST = "normal, robust"


@accepts_predictions
def intercept_estimate(counts: ScoreCounts, *, level: float = 0.95) -> Estimate:
    """Estimate calibration in the large: the intercept with the score's log-odds as offset.

    The standard error is robust: `sqrt(n/(n-1) sum (y_i - p_i)^2) / sum p_i (1 - p_i)` with the fitted `p_i`. That of
    the Fisher information would take the slope to be 1.
    """
    shift = calibration_intercept(counts)
    line = Line(height=shift, rise=1.0, centre=0.0, spread=1.0)
    information, squared = line_sums(counts, line).information, squared_residuals(counts, line)[0]
    return normal_estimate(shift, _robust_error(squared, information, counts, 1), level=level, name=_ROBUST)


@accepts_predictions
def line_estimates(counts: ScoreCounts, *, level: float = 0.95) -> tuple[Estimate, Estimate]:
    """Estimate intercept and slope of the calibration line, fitted together.

    Standard errors are robust: the inverse information times the sum of the rows' squared scores times the inverse
    information, times `n/(n-2)`, as in R's `sandwich::vcovHC(glm(label ~ log_odds, family = binomial), type = "HC1")`.
    Without a line, as where all scores are equal or classes separate, both are NaN.
    """
    height, slope = calibration_line(counts)
    if not math.isfinite(slope):
        return Estimate(value=height), Estimate(value=slope)
    sums = line_sums(counts, Line(height=height, rise=slope, centre=0.0, spread=1.0))
    total = sums.information
    centre = sums.information_x / total if total > 0.0 else 0.0
    # Centred at its weighted mean, the log-odds are orthogonal to the constant.
    line = Line(height=height + slope * centre, rise=slope, centre=centre, spread=1.0)
    spread = line_sums(counts, line).information_xx
    squared, squared_x, squared_xx = squared_residuals(counts, line)
    lever = centre * total / spread if spread > 0.0 else 0.0
    of_height = squared - 2.0 * lever * squared_x + lever**2 * squared_xx
    return (
        normal_estimate(height, _robust_error(of_height, total, counts, 2), level=level, name=_ROBUST),
        normal_estimate(slope, _robust_error(squared_xx, spread, counts, 2), level=level, name=_ROBUST),
    )


@accepts_predictions
def brier_estimate(counts: ScoreCounts, *, level: float = 0.95, method: Method = "plain") -> Estimate:
    """Estimate the Brier score, a mean over rows."""
    return brier_estimate_of(brier_score(counts), counts, level=level, method=method)


def brier_estimate_of(value: float, counts: ScoreCounts, *, level: float, method: Method = "plain") -> Estimate:
    """Estimate a Brier score that is known, with the spread of squared errors from counts."""
    error = _error_of_mean(counts, squared_errors, value)
    return normal_estimate(value, error, level=level, method=method, scale=LOG_ODDS)


@accepts_predictions
def log_loss_estimate(counts: ScoreCounts, *, level: float = 0.95, method: Method = "plain") -> Estimate:
    """Estimate the log loss, a mean over rows."""
    value = log_loss(counts)
    error = _error_of_mean(counts, log_losses, value)
    return normal_estimate(value, error, level=level, method=method, scale=LOG)


@accepts_predictions
def scaled_brier_estimate(counts: ScoreCounts, *, level: float = 0.95, method: Method = "plain") -> Estimate:
    """Estimate the scaled Brier score `1 - B / v`, with `v = pi (1 - pi)`, by the delta method.

    The influence of a row with squared error `b` and label `y` is `-(b - B)/v + B (1 - 2 pi)(y - pi)/v^2`: the
    prevalence varies with the rows too.
    """
    value, pi = scaled_brier_score(counts), counts.prevalence
    spread = pi * (1.0 - pi)
    brier = (1.0 - value) * spread
    lever = brier * (1.0 - 2.0 * pi) / spread**2

    def influence(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        ours, theirs = squared_errors(scores)
        return -(ours - brier) / spread + lever * (1.0 - pi), -(theirs - brier) / spread - lever * pi

    error = _error_of_mean(counts, influence, 0.0)
    return normal_estimate(value, error, level=level, method=method, scale=LOG_OF_REST)


@accepts_predictions
def observed_expected_estimate(counts: ScoreCounts, *, level: float = 0.95, method: Method = "logit") -> Estimate:
    """Estimate the ratio of observed to expected positives, on the log scale by default."""
    return observed_expected_of(observed_expected_ratio(counts), counts, level=level, method=method)


def observed_expected_of(ratio: float, counts: ScoreCounts, *, level: float, method: Method = "logit") -> Estimate:
    """Estimate a ratio of observed to expected positives that is known, with the spread from counts.

    It is a ratio of two means over the same rows, so `Var(log O/E) = sum (y_i - R p_i)^2 / O^2`, with `R = O/E`. For a
    calibrated model the sum is the binomial variance of O given the scores, `sum p_i (1 - p_i)`. The shorter
    `1/O - 1/N` takes every row to have the same risk: it ignores that O and E vary together, and is too wide for a
    model that discriminates.
    """
    if not ratio > 0.0:
        return Estimate(value=ratio)
    rows = counts.total_positives + counts.total_negatives
    deviation = _error_of_mean(counts, lambda scores: (1.0 - ratio * scores, -ratio * scores), 0.0) * rows
    error = ratio * deviation / counts.total_positives
    return normal_estimate(ratio, error, level=level, method=method, scale=LOG)


def _robust_error(squared: float, information: float, counts: ScoreCounts, coefficients: int) -> float:
    """Return the sandwich standard error from squared scores and information; infinite where there is none."""
    rows = counts.total_positives + counts.total_negatives
    if not (information > 0.0 and rows > coefficients):
        return math.inf
    return math.sqrt(max(squared, 0.0) * rows / (rows - coefficients)) / information


def _error_of_mean(
    counts: ScoreCounts, values: Callable[[FloatArray], tuple[FloatArray, FloatArray]], mean: float
) -> float:
    """Return the standard error of a mean over rows, from the value of each score for either label."""

    def squares(part: slice) -> tuple[float]:
        of_positives, of_negatives = values(counts.scores[part])
        ours, theirs = (of_positives - mean) ** 2, (of_negatives - mean) ** 2
        return (dot(counts.positives[part], ours) + dot(counts.negatives[part], theirs),)

    (total,) = sum_blocks(squares, len(counts))
    return math.sqrt(total) / (counts.total_positives + counts.total_negatives)
