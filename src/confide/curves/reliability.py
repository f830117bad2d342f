"""Reliability: observed share of positives in bins of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray, ScoreCounts, equal_mass_starts, read_only
from confide.errors import DataError, ParameterError, ScoreError
from confide.predictions import accepts_predictions

Binning = Literal["width", "mass"]


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityBins:
    """Weight, mean score and share of positives of each bin that holds rows."""

    weight: FloatArray
    mean_score: FloatArray
    observed: FloatArray

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


def equal_width_starts(scores: FloatArray, bins: int) -> NDArray[np.int64]:
    """Return the index of the first score of each bin of equal width on [0, 1] that holds any; scores ascend."""
    first = np.unique(np.searchsorted(scores, np.arange(bins) / bins, side="left"))
    return first[first < scores.size]


@accepts_predictions
def reliability_bins(counts: ScoreCounts, *, bins: int = 10, binning: Binning = "width") -> ReliabilityBins:
    """Group rows into bins of equal width on [0, 1], or of equal mass; equal scores stay together.

    Bins of equal width are closed on the left, the last on both sides.
    """
    check_probabilities(counts)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ParameterError(f"bins must be a whole number of at least 1, got {bins!r}")
    if binning == "width":
        first = equal_width_starts(counts.scores, bins)
    elif binning == "mass":
        first = equal_mass_starts(counts.positives + counts.negatives, bins)
    else:
        raise ParameterError(f"binning must be 'width' or 'mass', got {binning!r}")
    cells = counts.merged(first)
    weight = (cells.positives + cells.negatives).astype(np.float64)
    return ReliabilityBins(weight, cells.scores, cells.positives / weight)
