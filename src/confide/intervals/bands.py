"""Pointwise bands around ROC, PR and decision curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.curves.decision import decision_curve
from confide.errors import ParameterError
from confide.intervals.interval import check_level, normal_quantile
from confide.intervals.reductions import CELLS
from confide.intervals.replicates import Replicates, draw_replicates, rising_shares
from confide.intervals.resample import check_replicates, check_whole_rows
from confide.predictions import accepts_predictions


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Lower and upper ends at each `x`: of single points or of the whole curve, as what made it says."""

    x: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float

    def __post_init__(self) -> None:
        for name in ("x", "lower", "upper"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@accepts_predictions
def curve_bands(
    counts: ScoreCounts,
    *,
    level: float = 0.95,
    replicates: int = 1_000,
    points: int = 101,
    rng: np.random.Generator | int | None = None,
) -> tuple[Band, Band]:
    """Bands for the ROC curve over false-positive rates and for the PR curve over recalls, each x at the level alone.

    Rows are resampled within each class for the ROC curve, which does not depend on the prevalence, and from all rows
    for the PR curve, which does. Scores are first put together into at most 1,000 cells, finer than a plot can show.
    Percentiles of replicates: near the ends of a curve, and with few positives, such bands are too narrow.
    Needs whole rows, as every bootstrap does.
    """
    check_level(level)
    check_replicates(replicates)
    if points < 2:
        raise ParameterError(f"points must be at least 2, got {points!r}")
    few = check_whole_rows(counts).coarsen(CELLS)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    at = np.linspace(0.0, 1.0, points)
    heights = _roc_heights(draw_replicates(few, replicates, generator, "classes"), at)
    precision = _precisions(draw_replicates(few, replicates, generator, "rows"), at)
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    roc_ends, pr_ends = np.quantile(heights, tails, axis=0), np.quantile(precision, tails, axis=0)
    return Band(at, roc_ends[0], roc_ends[1], level), Band(at, pr_ends[0], pr_ends[1], level)


@accepts_predictions
def decision_bands(
    counts: ScoreCounts, thresholds: ArrayLike | None = None, *, level: float = 0.95
) -> tuple[Band, Band]:
    """Bands for the decision curve and for treating everybody, each threshold at the level alone.

    Net benefit is a mean over rows: 1 for a true positive, `-t/(1-t)` for a false positive, 0 for a row that is not
    treated. The band is the mean plus and minus `z` standard errors. Thresholds are those of `decision_curve`.
    A weight counts as so many rows.
    """
    curve = decision_curve(counts, thresholds)
    at, rows = curve.threshold, float(counts.total_positives + counts.total_negatives)
    caught = np.concatenate((np.cumsum(counts.positives[::-1])[::-1], [0])) / rows
    alarmed = np.concatenate((np.cumsum(counts.negatives[::-1])[::-1], [0])) / rows
    first = np.searchsorted(counts.scores, at, side="left")
    squares = (at / (1.0 - at)) ** 2
    bands = []
    for mean, of in ((curve.net_benefit, first), (curve.treat_all, np.zeros_like(first))):
        variance = np.clip(caught[of] + squares * alarmed[of] - mean**2, 0.0, None)
        reach = normal_quantile(level) * np.sqrt(variance / rows)
        bands.append(Band(at, mean - reach, mean + reach, level))
    return bands[0], bands[1]


def _roc_heights(replicates: Replicates, at: FloatArray) -> FloatArray:
    """Return the true-positive rate of each replicate at false-positive rates."""
    recall, alarm = rising_shares(replicates.positives), rising_shares(replicates.negatives)
    return np.array([np.interp(at, x, y) for x, y in zip(alarm, recall, strict=True)])


def _precisions(replicates: Replicates, at: FloatArray) -> FloatArray:
    """Return the precision of each replicate with both classes at recalls."""
    both = replicates.both_classes
    ours, theirs = replicates.positives[both], replicates.negatives[both]
    recall, alarm = rising_shares(ours), rising_shares(theirs) * (theirs.sum(axis=1) / ours.sum(axis=1))[:, None]
    # Just left of a recall that thresholds share precision is that of the first of them, as in the curve.
    left = at * (1.0 - 1e-12)
    per_positive = np.array([np.interp(left, x, y) for x, y in zip(recall, alarm, strict=True)])
    precision: FloatArray = np.divide(at, at + per_positive, out=np.full_like(per_positive, np.nan), where=at > 0.0)
    precision[:, 0] = precision[:, 1]
    return precision
