"""Logistic fits: maximum likelihood of few terms, and recalibration of millions of distinct scores.

A fit to some thousand merged scores is the start. Newton's steps on all scores follow, so that nothing of the merging
is left in the result: a step from a distance `d` of the maximum ends at a distance of the order of `d^2`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from confide.blocks import dot, map_blocks
from confide.counts import FloatArray, ScoreCounts
from confide.curves.penalised_logistic import logistic

_MOST_LOGISTIC_STEPS = 200
_FLAT = 1e-6  # relative step below which the likelihood is flat to rounding
_SMALLEST_STEP = 1e-13


def logistic_fit(
    design: FloatArray,
    positives: FloatArray,
    rows: FloatArray,
    *,
    offset: FloatArray | None = None,
    largest: float = math.inf,
) -> FloatArray:
    """Maximise the likelihood by Newton's method with step halving, and return the coefficients.

    Each line of `design` stands for `rows` rows, `positives` of them positive; the numbers may be fractions. The first
    column of the design is constant. `offset` is added to the linear predictor. The fit starts at the constant that
    makes the mean log-odds right. Without an overlap of the classes the likelihood has no maximum: the fit then stops
    when a coefficient exceeds `largest`.

    >>> logistic_fit(np.ones((1, 1)), np.array([3.0]), np.array([4.0])).round(6)  # log(3)
    array([1.098612])
    """
    shift = np.zeros(len(rows)) if offset is None else offset
    coefficients = np.zeros(design.shape[1])
    odds = positives.sum() / (rows - positives).sum()
    coefficients[0] = np.log(odds) - np.average(shift, weights=rows)

    def likelihood(candidate: FloatArray) -> float:
        linear = design @ candidate + shift
        return float(np.dot(positives, linear) - np.dot(rows, np.logaddexp(0.0, linear)))

    best = likelihood(coefficients)
    for _ in range(_MOST_LOGISTIC_STEPS):
        rate = rates(design @ coefficients + shift)
        gradient = design.T @ (positives - rows * rate)
        curvature = design.T @ (design * (rows * rate * (1.0 - rate))[:, None])
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = np.abs(step).max() / (1.0 + np.abs(coefficients).max())
        # So near the maximum that the likelihood is flat to rounding, Newton's step needs no check.
        if size > _FLAT:
            scale, reached = 1.0, likelihood(coefficients + step)
            while reached < best and scale > 1e-15:
                scale /= 2.0
                reached = likelihood(coefficients + scale * step)
            step, best = scale * step, reached
        coefficients = coefficients + step
        if size < _SMALLEST_STEP or np.abs(coefficients).max() > largest:
            break
    return coefficients


def rates(log_odds: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds, without overflow.

    >>> rates(np.array([0.0, -1000.0, 1000.0]))
    array([0.5, 0. , 1. ])
    """
    probabilities: FloatArray = 0.5 * (1.0 + np.tanh(log_odds / 2.0))
    return probabilities


FITTED_FROM = 1 << 15
"""Distinct scores from which the fit starts with merged ones."""

_CELLS = 2_048
_MOST_RECALIBRATION_STEPS = 12
_LONGEST_STEP = 0.5  # in log-odds at a typical score; a longer one means that the start was no good
_CLOSE = 1e-7  # the step from here ends within rounding of the maximum


class Line(NamedTuple):
    """Log-odds `height + rise * x` at `x = (log-odds of the score - centre) / spread`."""

    height: float
    rise: float
    centre: float
    spread: float


class LineSums(NamedTuple):
    """Sums over rows at a line: residuals and information, each alone and times powers of `x`."""

    residual: float
    residual_x: float
    information: float
    information_x: float
    information_xx: float


def line_sums(counts: ScoreCounts, line: Line) -> LineSums:
    """Add up residuals and information of all rows, about a line."""

    def sums(part: slice) -> tuple[float, ...]:
        scores, ours = counts.scores[part], counts.positives[part].astype(np.float64)
        rows = ours + counts.negatives[part]
        x = log_odds_of(scores)
        x -= line.centre
        x /= line.spread
        rate = logistic(line.height + line.rise * x)
        expected = rows * rate
        residual = ours - expected
        expected *= 1.0 - rate
        weighted = expected * x
        return float(residual.sum()), dot(residual, x), float(expected.sum()), float(weighted.sum()), dot(weighted, x)

    return LineSums(*np.sum(map_blocks(sums, len(counts)), axis=0).tolist())


def squared_residuals(counts: ScoreCounts, line: Line) -> tuple[float, float, float]:
    """Add up squared residuals of all rows about a line, alone and times `x` and `x^2`: the sandwich's filling."""

    def sums(part: slice) -> tuple[float, float, float]:
        x = (log_odds_of(counts.scores[part]) - line.centre) / line.spread
        rate = logistic(line.height + line.rise * x)
        squared = counts.positives[part] * (1.0 - rate) ** 2 + counts.negatives[part] * rate**2
        return float(squared.sum()), dot(squared, x), dot(squared * x, x)

    alone, times_x, times_xx = np.sum(map_blocks(sums, len(counts)), axis=0).tolist()
    return alone, times_x, times_xx


def log_odds_of(scores: FloatArray) -> FloatArray:
    """Return the log-odds of scores strictly between 0 and 1."""
    odds: FloatArray = np.log(scores)
    odds -= np.log1p(-scores)
    return odds


def fit_line(counts: ScoreCounts, *, fixed_slope: bool) -> tuple[float, float] | None:
    """Fit intercept and slope of the label's log-odds in the score's, or with `fixed_slope` the intercept at slope 1.

    None if the steps from the start do not shrink at once, as where classes hardly overlap.
    """
    few = counts.coarsen(_CELLS)
    odds, ours = log_odds_of(few.scores), few.positives.astype(np.float64)
    rows = ours + few.negatives
    centre = float(np.average(odds, weights=rows))
    spread = float(np.sqrt(np.average((odds - centre) ** 2, weights=rows)))
    if fixed_slope:
        height = float(logistic_fit(np.ones((len(few), 1)), ours, rows, offset=odds)[0]) + centre
        line = Line(height, spread, centre, spread)
    else:
        design = np.column_stack((np.ones(len(few)), (odds - centre) / spread))
        height, rise = (float(each) for each in logistic_fit(design, ours, rows, largest=1e6))
        line = Line(height, rise, centre, spread)
    best = _climb(counts, line, fixed_slope=fixed_slope)
    return None if best is None else (best.height - best.rise / spread * centre, best.rise / spread)


def _climb(counts: ScoreCounts, line: Line, *, fixed_slope: bool) -> Line | None:
    """Take Newton's steps until they are negligible; None if they are not short from the start."""
    for _ in range(_MOST_RECALIBRATION_STEPS):
        sums = line_sums(counts, line)
        if fixed_slope:
            step = (
                np.array([sums.residual / sums.information, 0.0]) if sums.information > 0.0 else np.array([np.nan, 0])
            )
        else:
            matrix = np.array([[sums.information, sums.information_x], [sums.information_x, sums.information_xx]])
            step = np.linalg.lstsq(matrix, np.array([sums.residual, sums.residual_x]), rcond=None)[0]
        size = float(np.abs(step).max())
        if not size < _LONGEST_STEP:
            return None
        line = line._replace(height=line.height + float(step[0]), rise=line.rise + float(step[1]))
        if size < _CLOSE * (1.0 + abs(line.height) + abs(line.rise)):
            return line
    return None
