"""Calibration intercept and slope over sites, in log-odds, where the sites' answers determine them.

A score of exactly 0 or 1 has infinite log-odds, so there is no line, here as in `confide evaluate`. Where sites count
on cells, rows of the lowest cell may have any score from 0 up, and so any log-odds from minus infinity up. A line that
changes as these rows move towards 0 or 1 depends on the grid more than on the model, and is not given. Neither is a
line that was fitted to private counts in which noise dominates: it has no interval that would show that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from confide.counts import ScoreCounts
from confide.grid import Grid
from confide.intervals.calibration import intercept_estimate, line_estimates
from confide.intervals.interval import Estimate
from confide.metrics.calibration import calibration_intercept, calibration_slope

MOST_CHANGE = 0.1
"""A number of the line is given if moving the rows of end cells to 0 and 1 changes it by no more than this."""

NEAREST = 2.0**-53
"""Distance from 0 and 1 that rows of end cells are moved to: the least distance from 1 that a double can have."""


class NoLine(StrEnum):
    """Reason why calibration intercept or slope is missing."""

    ENDS = "scores-of-0-or-1"
    END_CELLS = "end-cells"
    SEPARATED = "separated-or-equal"
    NOISE = "noise-dominates"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationLine:
    """Calibration intercept and slope; `absence` says why one of them is None."""

    intercept: Estimate | None = None
    slope: Estimate | None = None
    absence: NoLine | None = None


def calibration_line(counts: ScoreCounts, level: float, grid: Grid, *, at_ends: int = 0) -> CalibrationLine:
    """Return calibration intercept and slope with normal intervals from robust standard errors.

    `counts` has rows at the middles of cells, `grid` is the one that sites counted on, and `at_ends` is how many rows
    are known to have a score of exactly 0 or 1.
    """
    if at_ends:
        return CalibrationLine(absence=NoLine.ENDS)
    slope, moved = line_estimates(counts, level=level)[1], _moved_to_ends(counts, grid)
    absence = None if math.isfinite(slope.value) else NoLine.SEPARATED
    intercept = intercept_estimate(counts, level=level)
    if _changes(intercept.value, calibration_intercept(moved)):
        return CalibrationLine(absence=NoLine.END_CELLS)
    if absence is None and _changes(slope.value, calibration_slope(moved)):
        absence = NoLine.END_CELLS
    return CalibrationLine(intercept=intercept, slope=slope if absence is None else None, absence=absence)


def _changes(value: float, moved: float) -> bool:
    return not abs(value - moved) <= MOST_CHANGE  # also where there is none any more


def _moved_to_ends(counts: ScoreCounts, grid: Grid) -> ScoreCounts:
    """Return the rows with those of cells that begin at 0 or end at 1 next to these ends."""
    scores = counts.scores
    if grid.edges[0] <= 0.0:
        scores = np.where(scores < grid.edges[1], NEAREST, scores)
    if grid.edges[-1] >= 1.0:
        scores = np.where(scores >= grid.edges[-2], 1.0 - NEAREST, scores)
    distinct, first = np.unique(scores, return_index=True)
    return ScoreCounts(distinct, np.add.reduceat(counts.positives, first), np.add.reduceat(counts.negatives, first))
