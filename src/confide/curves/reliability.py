"""Observed frequencies at predicted risks, and the net benefit of decisions made by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import FloatArray, ScoreCounts, equal_mass_starts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.errors import DataError, ParameterError, ScoreError

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


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve:
    """Net benefit per row at each threshold probability; treating nobody has net benefit 0."""

    threshold: FloatArray
    net_benefit: FloatArray
    treat_all: FloatArray

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, read_only(getattr(self, name)))


@accepts_predictions
def decision_curve(counts: ScoreCounts, thresholds: ArrayLike | None = None) -> DecisionCurve:
    """Net benefit `tp/N - fp/N t/(1-t)` of treating where `score >= t` (Vickers & Elkin 2006).

    The default thresholds are 0.01 to 0.99 in steps of 0.01.
    """
    check_probabilities(counts)
    counts.both_classes()
    at = np.arange(1, 100) / 100 if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    if at.ndim != 1 or not ((at >= 0.0) & (at < 1.0)).all():
        raise ParameterError("thresholds must be probabilities in [0, 1)")
    first = np.searchsorted(counts.scores, at, side="left")
    caught, alarmed = (np.concatenate(([0], np.cumsum(c[::-1])))[::-1] for c in (counts.positives, counts.negatives))
    odds, total = at / (1.0 - at), caught[0] + alarmed[0]
    return DecisionCurve(at, (caught[first] - odds * alarmed[first]) / total, (caught[0] - odds * alarmed[0]) / total)
