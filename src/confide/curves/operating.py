"""Operating points of a score: true and false positives at each threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts, read_only


@dataclass(frozen=True, slots=True, eq=False)
class OperatingPoints:
    """Points for each distinct score, from the highest down: positive means `score >= threshold`."""

    thresholds: FloatArray
    true_positives: CountArray
    false_positives: CountArray

    @property
    def positives(self) -> float:
        """Weight of all positives, taken from the last point."""
        last: float = self.true_positives[-1].item()
        return last

    @property
    def negatives(self) -> float:
        """Weight of all negatives, taken from the last point."""
        last: float = self.false_positives[-1].item()
        return last

    @property
    def precision(self) -> FloatArray:
        """Precision at each point; the weight called positive is never zero there."""
        precision: FloatArray = self.true_positives / (self.true_positives + self.false_positives)
        return precision


def operating_points(counts: ScoreCounts) -> OperatingPoints:
    """Accumulate counts from the highest score down."""
    return OperatingPoints(
        read_only(counts.scores[::-1]),
        read_only(np.cumsum(counts.positives[::-1])),
        read_only(np.cumsum(counts.negatives[::-1])),
    )
