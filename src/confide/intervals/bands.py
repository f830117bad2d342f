"""Pointwise bands around curves, from the stratified bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.errors import ParameterError
from confide.intervals.interval import check_level
from confide.intervals.resample import check_replicates, check_whole_rows, redraw

_CELLS = 1_000


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


def curve_bands(
    counts: ScoreCounts,
    *,
    level: float = 0.95,
    replicates: int = 1_000,
    points: int = 101,
    rng: np.random.Generator | int | None = None,
) -> tuple[Band, Band]:
    """Bands for the ROC curve over false-positive rates and for the PR curve over recalls, each x at the level alone.

    Scores are first put together into at most 1,000 cells, finer than a plot can show. Percentiles
    of replicates: near the ends of a curve, and with few positives, such bands are too narrow.
    Needs whole rows, as every bootstrap does.
    """
    check_level(level)
    check_replicates(replicates)
    if points < 2:
        raise ParameterError(f"points must be at least 2, got {points!r}")
    few = check_whole_rows(counts).coarsen(_CELLS)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    at = np.linspace(0.0, 1.0, points)
    ours, theirs = redraw(few, replicates, generator)
    recall, alarm = (np.cumsum(drawn[:, ::-1], axis=1) / drawn.sum(axis=1, keepdims=True) for drawn in (ours, theirs))
    start = np.zeros((replicates, 1))
    recall, alarm = np.hstack((start, recall)), np.hstack((start, alarm))
    odds = few.total_negatives / few.total_positives
    heights = np.array([np.interp(at, x, y) for x, y in zip(alarm, recall, strict=True)])
    # Just left of a recall that thresholds share precision is that of the first of them, as in the curve.
    left = at * (1.0 - 1e-12)
    per_positive = np.array([np.interp(left, x, y) for x, y in zip(recall, alarm * odds, strict=True)])
    precision = np.divide(at, at + per_positive, out=np.full_like(per_positive, np.nan), where=at > 0.0)
    precision[:, 0] = precision[:, 1]
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    roc_ends, pr_ends = np.quantile(heights, tails, axis=0), np.quantile(precision, tails, axis=0)
    return Band(at, roc_ends[0], roc_ends[1], level), Band(at, pr_ends[0], pr_ends[1], level)
