"""Reliability: how often what was given a probability happens, in bins and smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from confide.counts import FloatArray, ScoreCounts, equal_mass_starts, read_only
from confide.errors import DataError, ParameterError, ScoreError
from confide.predictions import accepts_predictions

Binning = Literal["width", "mass"]
_SMOOTHING_CELLS = 2_000
_SMOOTHING_POINTS = 200


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityBins:
    """Weight, mean score and share of positives of each bin that holds rows."""

    weight: FloatArray
    mean_score: FloatArray
    observed: FloatArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, slots=True, eq=False)
class SmoothCalibration:
    """A smooth curve of the positives' share against the score, with its pointwise standard error."""

    score: FloatArray
    observed: FloatArray
    standard_error: FloatArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, read_only(getattr(self, name)))


def check_probabilities(counts: ScoreCounts) -> None:
    """Refuse scores that cannot be probabilities, and no scores at all."""
    if not len(counts):
        raise DataError("there are no rows; count at least one")
    if not counts.probabilities:
        raise ScoreError(
            "calibration needs scores in [0, 1]; give probabilities, or use the ranking metrics for other scores"
        )


@accepts_predictions
def reliability_bins(counts: ScoreCounts, *, bins: int = 10, binning: Binning = "width") -> ReliabilityBins:
    """Group rows into bins of equal width on [0, 1], or of equal mass; equal scores stay together.

    Bins of equal width are closed on the left, the last on both sides.
    """
    check_probabilities(counts)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ParameterError(f"bins must be a whole number of at least 1, got {bins!r}")
    weight = (counts.positives + counts.negatives).astype(np.float64)
    if binning == "width":
        member = np.searchsorted(np.arange(bins + 1) / bins, counts.scores, side="right") - 1
        first = np.unique(np.clip(member, 0, bins - 1), return_index=True)[1]
    elif binning == "mass":
        first = equal_mass_starts(weight, bins)
    else:
        raise ParameterError(f"binning must be 'width' or 'mass', got {binning!r}")
    in_bin = np.add.reduceat(weight, first)
    return ReliabilityBins(
        in_bin,
        np.add.reduceat(weight * counts.scores, first) / in_bin,
        np.add.reduceat(counts.positives.astype(np.float64), first) / in_bin,
    )


@accepts_predictions
def smooth_calibration(counts: ScoreCounts, *, span: float = 0.75) -> SmoothCalibration:
    """Smooth the label on the score by local linear regression (lowess without robustness steps).

    Each point uses the nearest `span` share of the weight with tricube weights (Cleveland 1979). Of
    many distinct scores, neighbours are first put together in 2,000 cells of equal mass, and the
    curve is computed at no more than 200 scores. The standard error is that of a weighted sum of
    independent labels.
    """
    check_probabilities(counts)
    if not 0.0 < span <= 1.0:
        raise ParameterError(f"span must lie in (0, 1], got {span!r}")
    few = counts.coarsen(_SMOOTHING_CELLS)
    score, weight = few.scores, (few.positives + few.negatives).astype(np.float64)
    share = few.positives / weight
    at = _evaluation_scores(score)
    needed = span * float(weight.sum())
    if np.all(weight == np.floor(weight)):  # of whole rows the span is a whole number, as in Cleveland's
        needed = np.floor(needed + 1e-10)
    fitted, error = zip(*(_local_line(x, score, weight, share, needed) for x in at), strict=True)
    return SmoothCalibration(at, np.array(fitted), np.array(error))


def _evaluation_scores(score: FloatArray) -> FloatArray:
    if score.size <= _SMOOTHING_POINTS:
        return score
    chosen = np.linspace(0, score.size - 1, _SMOOTHING_POINTS // 2).round().astype(np.int64)
    even = np.linspace(score[0], score[-1], _SMOOTHING_POINTS // 2)
    return np.union1d(score[chosen], even)


def _local_line(
    x: float, score: FloatArray, weight: FloatArray, share: FloatArray, needed: float
) -> tuple[float, float]:
    distance = np.abs(score - x)
    nearest = np.argsort(distance, kind="stable")
    reach = int(np.searchsorted(np.cumsum(weight[nearest]), needed * (1.0 - 1e-12)))
    width = distance[nearest[min(reach, nearest.size - 1)]]
    if width <= 0.0:
        here = distance <= 0.0
        kernel = weight * here
    else:
        kernel = weight * np.clip(1.0 - (distance / width) ** 3, 0.0, None) ** 3
        if np.count_nonzero(kernel) < 2:  # every neighbour but the point itself lies on the rim
            kernel = weight * (distance <= width)
    total = kernel.sum()
    centre = np.dot(kernel, score) / total
    spread = np.dot(kernel, (score - centre) ** 2) / total
    lever = 1.0 + (x - centre) * (score - centre) / spread if spread > 1e-24 else np.ones_like(score)
    influence = kernel / total * lever
    fitted = float(np.clip(np.dot(influence, share), 0.0, 1.0))
    per_row = np.divide(influence, weight)
    variance = np.dot(per_row * per_row, weight) * fitted * (1.0 - fitted)
    return fitted, float(np.sqrt(variance))
