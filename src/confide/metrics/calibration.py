"""Calibration: how well scores serve as probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.blocks import dot, map_blocks, sum_blocks
from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.curves.reliability import Binning, check_probabilities, reliability_bins
from confide.curves.smoothing import SmootherChoice, fitted_curve
from confide.errors import ScoreError
from confide.metrics.calibration_fit import FITTED_FROM, fit_line, log_odds_of, logistic_fit

_SMALLEST = np.finfo(np.float64).eps
_BINS = 1 << 12


@accepts_predictions
def brier_score(counts: ScoreCounts) -> float:
    """Compute the mean squared difference between score and label; lower is better."""
    check_probabilities(counts)
    return _mean_loss(counts, squared_errors)


@accepts_predictions
def scaled_brier_score(counts: ScoreCounts) -> float:
    """`1 - Brier / (pi (1 - pi))`: 1 is perfect, 0 no better than giving everybody the prevalence."""
    positives, negatives = counts.both_classes()
    rows = positives + negatives
    return 1.0 - brier_score(counts) / (positives / rows * (negatives / rows))


@accepts_predictions
def log_loss(counts: ScoreCounts) -> float:
    """Compute the mean negative log-likelihood; scores of 0 and 1 are moved inwards by the machine epsilon."""
    check_probabilities(counts)
    return _mean_loss(counts, log_losses)


def squared_errors(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the squared error of each score for a positive and for a negative label."""
    return (1.0 - scores) ** 2, scores**2


def log_losses(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the negative log-likelihood of a positive and of a negative label at each score."""
    inside = np.clip(scores, _SMALLEST, 1.0 - _SMALLEST)
    return -np.log(inside), -np.log1p(-inside)


@accepts_predictions
def observed_expected_ratio(counts: ScoreCounts) -> float:
    """Divide the number of positives by the sum of scores; above 1, risks are underestimated.

    NaN where the sum is 0, or so near that no float holds the ratio.
    """
    check_probabilities(counts)
    (expected,) = sum_blocks(
        lambda part: (dot(counts.positives[part] + counts.negatives[part], counts.scores[part]),), len(counts)
    )
    ratio = float(counts.total_positives) / expected if expected > 0.0 else np.inf
    return ratio if np.isfinite(ratio) else np.nan


@accepts_predictions
def calibration_intercept(counts: ScoreCounts) -> float:
    """Compute calibration in the large: the shift in log-odds that makes risks right on average.

    The intercept of a logistic regression with the score's log-odds as offset (slope fixed at 1):
    0 is right, above 0 risks are underestimated.
    """
    check_log_odds(counts)
    found = fit_line(counts, fixed_slope=True) if len(counts) > FITTED_FROM else None
    return float(_fit(np.ones((len(counts), 1)), counts, log_odds(counts))[0]) if found is None else found[0]


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
    check_log_odds(counts)
    if not _overlap(counts):
        return CalibrationLine(np.nan, np.nan)
    found = fit_line(counts, fixed_slope=False) if len(counts) > FITTED_FROM else None
    if found is not None:
        return CalibrationLine(*found)
    odds = log_odds(counts)
    weight = counts.positives + counts.negatives
    centre = float(np.average(odds, weights=weight))
    spread = float(np.sqrt(np.average((odds - centre) ** 2, weights=weight)))
    if spread == 0.0:
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
    gap = _distances(counts, smoother)
    weight = counts.positives + counts.negatives
    median, ninetieth = weighted_percentiles(gap, weight, (0.5, 0.9))
    return CalibrationErrors(ici=_mean_distance(counts, gap), e50=median, e90=ninetieth, emax=float(gap.max()))


@accepts_predictions
def integrated_calibration_index(counts: ScoreCounts, *, smoother: SmootherChoice = "spline") -> float:
    """Compute the mean distance between score and smooth calibration curve over rows: ICI, also Eavg."""
    return _mean_distance(counts, _distances(counts, smoother))


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


def _distances(counts: ScoreCounts, smoother: SmootherChoice) -> FloatArray:
    """Return the distance between curve and score at each distinct score."""
    gap = fitted_curve(counts, smoother).observed(counts.scores)

    def subtract(part: slice) -> None:
        np.subtract(gap[part], counts.scores[part], out=gap[part])
        np.abs(gap[part], out=gap[part])

    map_blocks(subtract, gap.size)
    return gap


def _mean_distance(counts: ScoreCounts, gap: FloatArray) -> float:
    (total,) = sum_blocks(lambda part: (dot(counts.positives[part] + counts.negatives[part], gap[part]),), len(counts))
    return total / (counts.total_positives + counts.total_negatives)


def weighted_percentiles(values: FloatArray, weight: CountArray, shares: Sequence[float]) -> list[float]:
    """Return the values at which the weight passes each share; midway to the next where one is reached exactly.

    Values are not negative. They are counted in bins of equal width, and only the bin of a percentile is sorted.
    """
    width = float(values.max()) / _BINS or 1.0

    def histogram(part: slice) -> tuple[NDArray[np.uint16], FloatArray]:
        bins = np.minimum(values[part] / width, _BINS - 1).astype(np.uint16)
        return bins, np.bincount(bins, weights=weight[part], minlength=_BINS).astype(np.float64, copy=False)

    parts = map_blocks(histogram, values.size)
    bins, through = np.concatenate([each for each, _ in parts]), np.cumsum(np.sum([each for _, each in parts], axis=0))

    def at(target: float) -> float:
        """Return the least value up to which the weight is at least `target`."""
        chosen = min(int(np.searchsorted(through, target)), _BINS - 1)
        places = np.flatnonzero(bins == chosen)
        order = np.argsort(values[places], kind="stable")
        inside = np.cumsum(weight[places][order], dtype=np.float64) + (through[chosen - 1] if chosen else 0.0)
        return float(values[places[order[min(int(np.searchsorted(inside, target)), places.size - 1)]]])

    total = float(through[-1])
    return [(at((share - 1e-12) * total) + at((share + 1e-12) * total)) / 2.0 for share in shares]


def _mean_loss(counts: ScoreCounts, losses: Callable[[FloatArray], tuple[FloatArray, FloatArray]]) -> float:
    def missed(part: slice) -> tuple[float]:
        of_positives, of_negatives = losses(counts.scores[part])
        return (dot(counts.positives[part], of_positives) + dot(counts.negatives[part], of_negatives),)

    return sum_blocks(missed, len(counts))[0] / (counts.total_positives + counts.total_negatives)


def log_odds(counts: ScoreCounts) -> FloatArray:
    """Return the log-odds of each score, refusing scores of 0 and 1."""
    check_log_odds(counts)
    return log_odds_of(counts.scores)


def check_log_odds(counts: ScoreCounts) -> None:
    """Refuse scores that have no log-odds, and rows of one class."""
    check_probabilities(counts)
    counts.both_classes()
    if counts.scores[0] <= 0.0 or counts.scores[-1] >= 1.0:
        raise ScoreError(
            "calibration intercept and slope need scores strictly between 0 and 1, as the log-odds of 0 and 1 "
            "are infinite; move them inwards by an amount of your choice"
        )


def _overlap(counts: ScoreCounts) -> bool:
    """Return whether the classes' scores overlap: if not, the likelihood has no maximum."""
    first = [int(np.argmax(side > 0)) for side in (counts.positives, counts.negatives)]
    last = [len(counts) - 1 - int(np.argmax(side[::-1] > 0)) for side in (counts.positives, counts.negatives)]
    return first[0] < last[1] and first[1] < last[0]


def _fit(design: FloatArray, counts: ScoreCounts, offset: FloatArray | None = None) -> FloatArray:
    positives = counts.positives.astype(np.float64)
    return logistic_fit(design, positives, positives + counts.negatives, offset=offset)
