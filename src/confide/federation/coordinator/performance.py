"""Performance from pooled counts, and the calibration line over sites.

A score of exactly 0 or 1 has infinite log-odds, so there is no line, here as in `confide evaluate`. Where sites count
on cells, rows of the lowest cell may have any score from 0 up, and so any log-odds from minus infinity up. A line that
changes as these rows move towards 0 or 1 depends on the grid more than on the model, and is not given. Neither is a
line that was fitted to private counts in which noise dominates: it has no interval that would show that.

One class holds the results of every mode, from exact sums, groups of cells or private counts. Values that a mode cannot
give are None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.pr import PrCurve, pr_curve
from confide.curves.reliability import DecisionCurve, decision_curve
from confide.curves.roc import RocCurve, roc_curve
from confide.curves.roc_glm import RocGlm, roc_glm, roc_glm_of_cells
from confide.errors import DataError
from confide.federation.coordinator.pooling import (
    CalibrationPoints,
    points_of_bins,
    points_of_cells,
    points_of_release,
    pooled_from_groups,
)
from confide.federation.tables import DisclosedTable, SiteTable, as_float, of_probabilities
from confide.grid import Grid
from confide.intervals.calibration import brier_estimate_of, intercept_estimate, line_estimates, observed_expected_of
from confide.intervals.delong import auc_interval, delong_variance
from confide.intervals.interval import Estimate, Interval, check_level
from confide.intervals.proportions import logit_interval_of, wilson_interval_of
from confide.metrics.calibration import calibration_intercept, calibration_slope
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from confide.releases.curve_numbers import refined_grid
from confide.releases.curves import curves_of
from confide.releases.curves_release import NUMBERS, CurvesRelease

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
    """Return calibration intercept and slope with normal intervals from robust (sandwich) errors.

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


_UNTIED = 1_000  # on grids of at least so many cells classes hardly share a cell
_LINE = ("calibration_intercept", "calibration_slope")
_POINTS = 2_000  # of a curve, in plain data
NEARLY_ALL = 0.9
"""Width from which on an interval, or bounds, of the AUC leave nearly everything open."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Performance:
    """A model's performance over the rows of all sites, or of one.

    `rows` and `positives` are None where they are not known exactly. `bounds` are certain
    bounds of the AUC of exactly these rows, whatever order the groups hide; `auc` is NaN where the groups leave nearly
    everything open. `no_line` says why calibration intercept or slope is None. Thresholds of curves are lower edges of
    cells, at which curves are exact. Private curves also have points between them, estimated from neighbouring cells.
    """

    level: float
    auc: Estimate
    rows: int | None = None
    positives: int | None = None
    size: Estimate | None = None
    prevalence: Estimate | None = None
    average_precision: Estimate | None = None
    brier: Estimate | None = None
    observed_expected: Estimate | None = None
    calibration_intercept: Estimate | None = None
    calibration_slope: Estimate | None = None
    no_line: NoLine | None = None
    roc: RocCurve | None = None
    pr: PrCurve | None = None
    calibration: CalibrationPoints | None = None
    decision: DecisionCurve | None = None
    roc_glm: RocGlm | None = None
    bounds: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; curves with at most 2,000 points, numbers that do not exist as None.

        Calibration intercept and slope are None, and not left out, where `no_line` says why they are missing.
        """
        plain = {name: _plain(getattr(self, name)) for name in self.__slots__}
        kept = _LINE if self.no_line is not None else ()
        return {name: value for name, value in plain.items() if value is not None or name in kept}


def pooled_exact(table: SiteTable, *, level: float = 0.95) -> Performance:
    """Return the performance from the sum of the sites' tables.

    Ranks are those of the cells, so AUC and curves are exact where classes share no cell; Brier score, observed to
    expected ratio and the calibration curve come from sums of the scores themselves. For calibration
    intercept and slope, scores lie in the middle of their cells. Neither exists if scores of exactly 0 or 1, which are
    counted apart, occur.
    """
    check_level(level)
    counts = table.counts()
    n, m = (int(size) for size in counts.both_classes())
    variance = delong_variance(counts) if min(n, m) > 1 else None
    sums, squares = [as_float(each) for each in table.sums], [as_float(each) for each in table.squares]
    known = (sum(sums), n - 2.0 * sums[0] + sum(squares)) if table.probabilities else None
    return Performance(
        auc=_auc(auc_score(counts), variance, n, m, level, "DeLong"),
        calibration=points_of_bins(table, level) if table.probabilities else None,
        roc_glm=_roc_glm(counts, stepwise=len(table.grid) >= _UNTIED),
        **_sizes(n, m, level),
        **_from_counts(counts, table.grid, level),
        **_line(counts, table.grid, level, at_ends=sum(table.ends)),
        **_from_sums(counts, (n, m), known, level),
    )


def pooled_grouped(
    tables: Mapping[str, DisclosedTable] | Sequence[DisclosedTable], *, level: float = 0.95
) -> Performance:
    """Return the performance from the sites' groups under disclosure control.

    Prevalence is exact. Brier score and observed to expected ratio are exact but for the rounding of each site's sums
    to whole numbers. AUC, curves, calibration and intervals are estimates. The interval of AUC allows for the order
    that groups hide. If a class is one group, that leaves nearly everything open: there is no AUC (NaN) and no curve.
    """
    check_level(level)
    listed = list(tables.values()) if isinstance(tables, Mapping) else list(tables)
    found = pooled_from_groups(listed)
    counts, (n, m) = found.counts(), found.rows
    known = None if found.squared_error is None else (found.expected, found.squared_error)
    bounds = Interval(
        lower=found.auc_bounds[0], upper=found.auc_bounds[1], level=1.0, method="certain, whatever groups hide"
    )
    if bounds.width > NEARLY_ALL:
        sizes, sums = _sizes(n, m, level), _from_sums(counts, (n, m), known, level)
        return Performance(auc=Estimate(value=math.nan), bounds=bounds, **sizes, **sums)
    variance = found.auc_variance + found.auc_group_error**2
    return Performance(
        auc=_auc(found.auc, variance, n, m, level, "DeLong, groups"),
        calibration=points_of_cells(counts, level) if known else None,
        roc_glm=_roc_glm(counts, stepwise=False),
        bounds=bounds,
        **_sizes(n, m, level),
        **_from_counts(counts, found.grid, level),
        **_line(counts, listed[0].grid, level),
        **_from_sums(counts, (n, m), known, level),
    )


def pooled_private(curves: CurvesRelease, *, level: float = 0.95) -> Performance:
    """Return the performance from private counts; intervals are for the population and include the noise."""
    if check_level(level) != curves.level:
        curves = curves_of(curves.raw, level=level, shape=curves.shape)
    numbers = {name: _released(curves, name) for name in NUMBERS}
    auc = numbers.pop("auc")
    if auc is None:
        raise DataError("the private counts have no AUC; release counts of both classes")
    drawn = _from_counts(curves.counts, curves.grid, level) | _line(curves.counts, curves.grid, level)
    fine, roc, pr = refined_grid(curves.grid), curves.roc, curves.pr
    drawn.update(
        roc=RocCurve(roc.false_positive_rate, roc.true_positive_rate, _lower_edges(fine, roc.thresholds)),
        pr=PrCurve(pr.recall, pr.precision, _lower_edges(fine, pr.thresholds), pr.prevalence),
        **numbers,
    )
    drawn.update(_noisy_line(drawn, dominated=leaves_open(auc)))
    probabilities = numbers["brier"] is not None
    return Performance(
        auc=auc,
        size=_released(curves, "rows"),
        calibration=points_of_release(curves) if probabilities else None,
        roc_glm=_roc_glm(curves.counts, stepwise=False),
        level=level,
        **drawn,
    )


def leaves_open(auc: Estimate) -> bool:
    """Return whether the interval of an AUC covers nearly all of [0, 1]."""
    return auc.interval is not None and auc.interval.width >= NEARLY_ALL


def _sizes(positives: int, negatives: int, level: float) -> dict[str, Any]:
    rows = positives + negatives
    share = positives / rows
    return {
        "level": level,
        "rows": rows,
        "positives": positives,
        "size": Estimate(value=rows),
        "prevalence": Estimate(value=share, interval=wilson_interval_of(share, rows, level=level)),
    }


def _auc(value: float, variance: float | None, n: int, m: int, level: float, name: str) -> Estimate:
    if variance is None:
        return Estimate(value=value)
    interval = auc_interval(value, variance, n, m, level=level, name=name)
    return Estimate(value=value, standard_error=math.sqrt(variance), interval=interval)


def _from_counts(counts: ScoreCounts, grid: Grid, level: float) -> dict[str, Any]:
    """Return the numbers and curves that follow from rows at the middles of cells."""
    average = average_precision_score(counts)
    roc, pr = roc_curve(counts).simplified(), pr_curve(counts)
    found: dict[str, Any] = {
        "average_precision": Estimate(
            value=average, interval=logit_interval_of(average, counts.total_positives, level=level)
        ),
        "roc": RocCurve(roc.false_positive_rate, roc.true_positive_rate, _lower_edges(grid, roc.thresholds)),
        "pr": PrCurve(pr.recall, pr.precision, _lower_edges(grid, pr.thresholds), pr.prevalence),
    }
    if of_probabilities(grid):
        found["decision"] = decision_curve(counts, _decision_thresholds(grid))
    return found


def _line(counts: ScoreCounts, grid: Grid, level: float, *, at_ends: int = 0) -> dict[str, Any]:
    """Return calibration intercept and slope, or why there is none; nothing if scores are not probabilities."""
    if not of_probabilities(grid):
        return {}
    line = calibration_line(counts, level, grid, at_ends=at_ends)
    return {"calibration_intercept": line.intercept, "calibration_slope": line.slope, "no_line": line.absence}


def _noisy_line(drawn: Mapping[str, Any], *, dominated: bool) -> dict[str, Any]:
    """Return calibration intercept and slope without standard errors, which would leave out the noise.

    Return neither where noise dominates: without an interval, nothing would tell such a number from a finding.
    """
    found = {name: drawn.get(name) for name in _LINE}
    if dominated and any(estimate is not None for estimate in found.values()):
        return {**dict.fromkeys(found), "no_line": NoLine.NOISE}
    return {name: None if estimate is None else Estimate(value=estimate.value) for name, estimate in found.items()}


def _from_sums(
    counts: ScoreCounts, rows: tuple[int, int], sums: tuple[float, float] | None, level: float
) -> dict[str, Any]:
    """Return Brier score and ratio of observed to expected positives from sums of scores and of squared errors.

    Standard errors take rows to lie in the middle of their cells. Nothing is returned if scores are not probabilities.
    """
    if sums is None:
        return {}
    expected, brier = sums[0], sums[1] / (rows[0] + rows[1])
    ratio = observed_expected_of(rows[0] / expected, counts, level=level) if expected > 0.0 else None
    return {"brier": brier_estimate_of(brier, counts, level=level), "observed_expected": ratio}


def _roc_glm(counts: ScoreCounts, *, stepwise: bool) -> RocGlm | None:
    """Return the fitted curve; None if the classes are too far apart to fit one."""
    try:
        return roc_glm(counts) if stepwise else roc_glm_of_cells(counts.positives, counts.negatives)
    except DataError:
        return None


def _released(curves: CurvesRelease, name: str) -> Estimate | None:
    value = curves.values[name]
    return None if math.isnan(value) else Estimate(value=value, interval=curves.intervals[name].population)


def _lower_edges(grid: Grid, thresholds: FloatArray) -> FloatArray:
    finite = np.isfinite(thresholds)
    edges = np.full(thresholds.size, np.inf)
    edges[finite] = grid.edges[grid.cells(thresholds[finite])]
    return edges


def _decision_thresholds(grid: Grid) -> FloatArray:
    """Return the inner edges nearest to 0.01, 0.02, ... 0.99, at which the curve is exact."""
    inner = grid.edges[(grid.edges > 0.0) & (grid.edges < 1.0)]
    if not inner.size:
        return inner
    at = np.arange(1, 100) / 100
    right = (
        np.clip(np.searchsorted(inner, at), 1, max(inner.size - 1, 1)) if inner.size > 1 else np.zeros(99, dtype=int)
    )
    left = np.maximum(right - 1, 0)
    nearer = np.where(np.abs(inner[left] - at) <= np.abs(inner[right] - at), left, right)
    return np.unique(inner[nearer])


def _plain(value: Any) -> Any:
    """Return estimates, curves and numbers as plain data."""
    if hasattr(value, "to_dict"):
        return _plain(value.to_dict())
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, RocCurve | PrCurve | DecisionCurve):
        names = [name for name in value.__slots__ if name != "prevalence"]
        kept = np.unique(np.linspace(0, getattr(value, names[0]).size - 1, _POINTS).round().astype(np.int64))
        return {name: [_plain(float(each)) for each in getattr(value, name)[kept]] for name in names}
    return value
