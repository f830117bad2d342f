"""Calibration: how well scores serve as probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.reliability import Binning, check_probabilities, reliability_bins
from confide.curves.smoothing import SmootherChoice, fitted_curve
from confide.errors import ScoreError
from confide.metrics.logistic_fit import logistic_fit
from confide.predictions import accepts_predictions

_SMALLEST = np.finfo(np.float64).eps


@accepts_predictions
def brier_score(counts: ScoreCounts) -> float:
    """Compute the mean squared difference between score and label; lower is better."""
    check_probabilities(counts)
    return _mean_loss(counts, *squared_errors(counts.scores))


@accepts_predictions
def scaled_brier_score(counts: ScoreCounts) -> float:
    """`1 - Brier / (pi (1 - pi))`: 1 is perfect, 0 no better than giving everybody the prevalence."""
    counts.both_classes()
    return 1.0 - brier_score(counts) / (counts.prevalence * (1.0 - counts.prevalence))


@accepts_predictions
def log_loss(counts: ScoreCounts) -> float:
    """Compute the mean negative log-likelihood; scores of 0 and 1 are moved inwards by the machine epsilon."""
    check_probabilities(counts)
    return _mean_loss(counts, *log_losses(counts.scores))


def squared_errors(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the squared error of each score for a positive and for a negative label."""
    return (1.0 - scores) ** 2, scores**2


def log_losses(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the negative log-likelihood of a positive and of a negative label at each score."""
    inside = np.clip(scores, _SMALLEST, 1.0 - _SMALLEST)
    return -np.log(inside), -np.log1p(-inside)


@accepts_predictions
def observed_expected_ratio(counts: ScoreCounts) -> float:
    """Divide the number of positives by the sum of scores; above 1, risks are underestimated."""
    check_probabilities(counts)
    expected = np.dot(counts.positives + counts.negatives, counts.scores)
    return float(counts.total_positives / expected) if expected > 0.0 else np.nan


@accepts_predictions
def calibration_intercept(counts: ScoreCounts) -> float:
    """Compute calibration in the large: the shift in log-odds that makes risks right on average.

    The intercept of a logistic regression with the score's log-odds as offset (slope fixed at 1):
    0 is right, above 0 risks are underestimated.
    """
    return float(_fit(np.ones((len(counts), 1)), counts, log_odds(counts))[0])


@accepts_predictions
def calibration_slope(counts: ScoreCounts) -> float:
    """Compute the slope of the label's log-odds in the score's; below 1, risks are too extreme.

    Fitted together with an intercept (`joint_intercept`). NaN where all scores are equal or classes separate.
    """
    return calibration_line(counts).slope


@accepts_predictions
def joint_intercept(counts: ScoreCounts) -> float:
    """Compute the intercept that is fitted together with `calibration_slope`: rms::val.prob's `Intercept`.

    It is the log-odds of the outcome at a score of 1/2. The calibration in the large is `calibration_intercept`. NaN
    where all scores are equal or classes separate.
    """
    return calibration_line(counts).intercept


class CalibrationLine(NamedTuple):
    """Intercept and slope of the label's log-odds in the score's, fitted together."""

    intercept: float
    slope: float


def calibration_line(counts: ScoreCounts) -> CalibrationLine:
    """Fit the label's log-odds on the score's; intercept and slope are NaN where there is no line."""
    odds = log_odds(counts)
    weight = counts.positives + counts.negatives
    centre = float(np.average(odds, weights=weight))
    spread = float(np.sqrt(np.average((odds - centre) ** 2, weights=weight)))
    if spread == 0.0 or not _overlap(counts):
        return CalibrationLine(np.nan, np.nan)
    design = np.column_stack((np.ones(len(counts)), (odds - centre) / spread))  # so that no scale is ill-conditioned
    height, rise = (float(coefficient) for coefficient in _fit(design, counts))
    return CalibrationLine(height - rise / spread * centre, rise / spread)


@accepts_predictions
def expected_calibration_error(counts: ScoreCounts, *, bins: int = 10, binning: Binning = "width") -> float:
    """Compute the mean distance between observed share and mean score over bins, weighted by their rows."""
    grouped = reliability_bins(counts, bins=bins, binning=binning)
    return float(np.average(np.abs(grouped.observed - grouped.mean_score), weights=grouped.weight))


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationErrors:
    """Distance between score and smooth calibration curve over rows: mean, median, 90th percentile, maximum."""

    ici: float
    e50: float
    e90: float
    emax: float


@accepts_predictions
def calibration_errors(counts: ScoreCounts, *, smoother: SmootherChoice = "spline") -> CalibrationErrors:
    """Fit the smooth calibration curve once, and summarise its distance from the score over all rows.

    `smoother` is explained at `confide.curves.smooth_calibration`. The curve is evaluated at every distinct score.
    Percentiles are inverse to the distribution over rows, averaged where it is flat (`quantile(..., type = 2)` in R).
    A perfectly calibrated model has errors above 0 in finite samples: the curve follows some of the noise.

    References: Austin & Steyerberg (2019), Statistics in Medicine 38:4051 (ICI, E50, E90, Emax); Harrell, rms::val.prob
    (Eavg is ICI, E90 and Emax there, on a local line with span 2/3).
    """
    gap, weight = _distances(counts, smoother)
    order = np.argsort(gap, kind="stable")
    median, ninetieth = (_percentile(gap[order], np.cumsum(weight[order]), share) for share in (0.5, 0.9))
    return CalibrationErrors(
        ici=float(np.average(gap, weights=weight)), e50=median, e90=ninetieth, emax=float(gap[order[-1]])
    )


@accepts_predictions
def integrated_calibration_index(counts: ScoreCounts, *, smoother: SmootherChoice = "spline") -> float:
    """Compute the mean distance between score and smooth calibration curve over rows: ICI, also Eavg."""
    gap, weight = _distances(counts, smoother)
    return float(np.average(gap, weights=weight))


@accepts_predictions
def calibration_e50(counts: ScoreCounts, *, smoother: SmootherChoice = "spline") -> float:
    """Compute the median distance between score and smooth calibration curve over rows: E50."""
    return calibration_errors(counts, smoother=smoother).e50


@accepts_predictions
def calibration_e90(counts: ScoreCounts, *, smoother: SmootherChoice = "spline") -> float:
    """Compute the 90th percentile of the distance between score and smooth calibration curve over rows: E90."""
    return calibration_errors(counts, smoother=smoother).e90


@accepts_predictions
def calibration_emax(counts: ScoreCounts, *, smoother: SmootherChoice = "spline") -> float:
    """Compute the largest distance between score and smooth calibration curve over rows: Emax."""
    return calibration_errors(counts, smoother=smoother).emax


def _distances(counts: ScoreCounts, smoother: SmootherChoice) -> tuple[FloatArray, FloatArray]:
    """Return the distance between curve and score at each distinct score, and the score's weight."""
    gap: FloatArray = np.abs(fitted_curve(counts, smoother).observed(counts.scores) - counts.scores)
    return gap, (counts.positives + counts.negatives).astype(np.float64)


def _percentile(ascending: FloatArray, through: FloatArray, share: float) -> float:
    """Return the value at which the weight passes a share; midway to the next if it is reached exactly."""
    target, slack = share * through[-1], 1e-12 * through[-1]
    first, second = np.searchsorted(through, (target - slack, target + slack))
    last = ascending.size - 1
    return float((ascending[min(first, last)] + ascending[min(second, last)]) / 2.0)


def _mean_loss(counts: ScoreCounts, of_positives: FloatArray, of_negatives: FloatArray) -> float:
    missed = np.dot(counts.positives, of_positives) + np.dot(counts.negatives, of_negatives)
    return float(missed / (counts.total_positives + counts.total_negatives))


def log_odds(counts: ScoreCounts) -> FloatArray:
    """Return the log-odds of each score, refusing scores of 0 and 1."""
    check_probabilities(counts)
    counts.both_classes()
    if counts.scores[0] <= 0.0 or counts.scores[-1] >= 1.0:
        raise ScoreError(
            "calibration intercept and slope need scores strictly between 0 and 1, as the log-odds of 0 and 1 "
            "are infinite; move them inwards by an amount of your choice"
        )
    odds: FloatArray = np.log(counts.scores) - np.log1p(-counts.scores)
    return odds


def _overlap(counts: ScoreCounts) -> bool:
    """Return whether the classes' scores overlap: if not, the likelihood has no maximum."""
    ours, theirs = (counts.scores[side > 0] for side in (counts.positives, counts.negatives))
    return bool(ours[0] < theirs[-1] and theirs[0] < ours[-1])


def _fit(design: FloatArray, counts: ScoreCounts, offset: FloatArray | None = None) -> FloatArray:
    positives = counts.positives.astype(np.float64)
    return logistic_fit(design, positives, positives + counts.negatives, offset=offset)
