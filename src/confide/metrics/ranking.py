"""Ranking metrics: the area under the ROC curve and its parts."""

from __future__ import annotations

import numpy as np

from confide.blocks import scan_blocks
from confide.counts import FloatArray, ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.curves.compiled_sums import compiled_sums
from confide.curves.roc import roc_curve, roc_hull
from confide.errors import ParameterError
from confide.sources.device_sums import sums_on_device

_LARGEST_EXACT = 2**61  # twice the number of pairs must fit a signed 64-bit integer


@sums_on_device(lambda sums: sums.auc)
@accepts_predictions
def auc_score(counts: ScoreCounts) -> float:
    """Compute the probability that a positive outscores a negative, ties counting half: `U / (n m)`.

    >>> auc_score(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    0.75
    """
    positives, negatives = counts.both_classes()
    sums = compiled_sums(counts)
    if sums is not None:
        return sums.auc
    return min(twice_wins(counts) / (2 * positives * negatives), 1.0)  # float weights may round above


def twice_wins(counts: ScoreCounts) -> float:
    """Compute twice the Mann-Whitney statistic: an exact integer if rows were counted."""
    ours, theirs = counts.positives, counts.negatives
    if not counts.weighted and counts.total_positives * counts.total_negatives > _LARGEST_EXACT:
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)

    def wins(part: slice, below: float) -> float:
        theirs_here = theirs[part]
        twice: float = np.dot(ours[part], 2 * (np.cumsum(theirs_here) + below) - theirs_here).item()
        return twice

    return sum(scan_blocks(wins, theirs))


def placements(counts: ScoreCounts) -> tuple[FloatArray, FloatArray]:
    """Compute, at each score, the share of negatives below a positive and of positives above a negative.

    Ties count half. These are DeLong's structural components V10 and V01.
    """
    positives, negatives = counts.both_classes()
    below = (np.cumsum(counts.negatives) - counts.negatives / 2.0) / negatives
    above = (positives - np.cumsum(counts.positives) + counts.positives / 2.0) / positives
    return below, above


@accepts_predictions
def partial_auc_score(
    counts: ScoreCounts,
    *,
    specificity: tuple[float, float] | None = None,
    sensitivity: tuple[float, float] | None = None,
    corrected: bool = False,
) -> float:
    """Compute the area under the ROC curve where specificity, or sensitivity, lies in a range.

    Over sensitivities the area lies between the curve and the right edge. `corrected` applies
    McClish's correction: 1/2 for a useless score, 1 for a perfect one,
    `(1 + (area - least) / (most - least)) / 2`, below 1/2 where the curve lies below the diagonal
    (pROC leaves it out there). The default range is specificity 0.9 to 1.

    References: McClish (1989), Medical Decision Making 9:190; Robin et al. (2011), pROC.
    """
    low, high, least = partial_range(specificity, sensitivity)
    curve = roc_curve(counts)
    area = curve.area_between(1.0 - high, 1.0 - low) if sensitivity is None else curve.area_beside(low, high)
    if not corrected:
        return area
    return (1.0 + (area - least) / (high - low - least)) / 2.0


def partial_range(
    specificity: tuple[float, float] | None, sensitivity: tuple[float, float] | None
) -> tuple[float, float, float]:
    """Return the range of a partial AUC, and the area that a useless score has over it.

    A useless score's curve is the diagonal; over either range the area under it is the same.
    """
    if specificity is not None and sensitivity is not None:
        raise ParameterError("give specificity or sensitivity, not both")
    low, high = sensitivity or specificity or (0.9, 1.0)
    if not 0.0 <= low < high <= 1.0:
        raise ParameterError(f"a range needs 0 <= low < high <= 1, got ({low!r}, {high!r})")
    return low, high, (high - low) * (1.0 - (low + high) / 2.0)


@accepts_predictions
def hull_auc_score(counts: ScoreCounts) -> float:
    """Compute the area under the convex hull of the ROC curve; optimistic, as the hull is chosen on the same data."""
    return roc_hull(counts).area
