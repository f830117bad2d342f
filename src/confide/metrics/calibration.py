"""Calibration: how well scores serve as probabilities."""

from __future__ import annotations

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.reliability import Binning, check_probabilities, reliability_bins, smooth_calibration
from confide.errors import ScoreError
from confide.metrics.logistic_fit import logistic_fit
from confide.predictions import accepts_predictions

_SMALLEST = np.finfo(np.float64).eps


@accepts_predictions
def brier_score(counts: ScoreCounts) -> float:
    """Compute the mean squared difference between score and label; lower is better."""
    check_probabilities(counts)
    missed = np.dot(counts.positives, (1.0 - counts.scores) ** 2) + np.dot(counts.negatives, counts.scores**2)
    return float(missed / _total(counts))


@accepts_predictions
def scaled_brier_score(counts: ScoreCounts) -> float:
    """`1 - Brier / (pi (1 - pi))`: 1 is perfect, 0 no better than giving everybody the prevalence."""
    counts.both_classes()
    return 1.0 - brier_score(counts) / (counts.prevalence * (1.0 - counts.prevalence))


@accepts_predictions
def log_loss(counts: ScoreCounts) -> float:
    """Compute the mean negative log-likelihood; scores of 0 and 1 are moved inwards by the machine epsilon."""
    check_probabilities(counts)
    score = np.clip(counts.scores, _SMALLEST, 1.0 - _SMALLEST)
    missed = np.dot(counts.positives, np.log(score)) + np.dot(counts.negatives, np.log1p(-score))
    return float(-missed / _total(counts))


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
    offset = _log_odds(counts)
    return float(_fit(np.ones((len(counts), 1)), counts, offset)[0])


@accepts_predictions
def calibration_slope(counts: ScoreCounts) -> float:
    """Compute the slope of the label's log-odds in the score's; below 1, risks are too extreme.

    Fitted together with an intercept of its own. NaN where all scores are equal or classes separate.
    """
    log_odds = _log_odds(counts)
    weight = counts.positives + counts.negatives
    centred = log_odds - np.average(log_odds, weights=weight)
    spread = float(np.sqrt(np.average(centred**2, weights=weight)))
    if spread == 0.0 or not _overlap(counts):
        return np.nan
    design = np.column_stack((np.ones(len(counts)), centred / spread))  # so that no scale is ill-conditioned
    return float(_fit(design, counts)[1]) / spread


@accepts_predictions
def expected_calibration_error(counts: ScoreCounts, *, bins: int = 10, binning: Binning = "width") -> float:
    """Compute the mean distance between observed share and mean score over bins, weighted by their rows."""
    grouped = reliability_bins(counts, bins=bins, binning=binning)
    return float(np.average(np.abs(grouped.observed - grouped.mean_score), weights=grouped.weight))


@accepts_predictions
def integrated_calibration_index(counts: ScoreCounts, *, span: float = 0.75) -> float:
    """Compute the mean distance between score and smooth calibration curve over rows: ICI, also Eavg.

    Reference: Austin & Steyerberg (2019), Statistics in Medicine 38:4051.
    """
    curve = smooth_calibration(counts, span=span)
    gap = np.abs(np.interp(counts.scores, curve.score, curve.observed) - counts.scores)
    return float(np.average(gap, weights=counts.positives + counts.negatives))


def _total(counts: ScoreCounts) -> float:
    return counts.total_positives + counts.total_negatives


def _log_odds(counts: ScoreCounts) -> FloatArray:
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
