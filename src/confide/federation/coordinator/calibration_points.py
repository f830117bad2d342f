"""Calibration over sites: observed frequency of the outcome in bins, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.curves.reliability import ReliabilityBins
from confide.federation.tables import BINS, SiteTable, as_float
from confide.intervals.proportion import wilson_interval_of
from confide.releases.curves_release import CurvesRelease


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CalibrationPoints:
    """Bins that hold rows: edges, rows, mean score, observed share of positives and its interval.

    Rows are counted, or estimated, in numerator and denominator alike.
    """

    lower_edge: FloatArray
    upper_edge: FloatArray
    weight: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    method: str

    def __post_init__(self) -> None:
        for name in self._columns():
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name), dtype=np.float64)))

    @classmethod
    def _columns(cls) -> tuple[str, ...]:
        return tuple(name for name in cls.__slots__ if name not in ("level", "method"))

    @property
    def bins(self) -> ReliabilityBins:
        """Points without their intervals."""
        return ReliabilityBins(self.weight, self.mean_score, self.observed)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        columns = {name: getattr(self, name).tolist() for name in self._columns()}
        return {**columns, "level": self.level, "method": self.method}


def points_of_bins(table: SiteTable, level: float) -> CalibrationPoints:
    """Return points from exact counts and sums of scores in bins of equal width, with Wilson's intervals."""
    sums = np.array([as_float(value) for value in table.bin_sums]).reshape(2, -1)
    return _points(table.bin_rows.astype(np.float64), sums, level)


def points_of_cells(counts: ScoreCounts, level: float, bins: int = BINS) -> CalibrationPoints:
    """Return points from rows at the middles of cells, counted or estimated, in bins of equal width on [0, 1]."""
    member = np.clip(np.searchsorted(np.arange(bins + 1) / bins, counts.scores, side="right") - 1, 0, bins - 1)
    both = (counts.positives.astype(np.float64), counts.negatives.astype(np.float64))
    rows: FloatArray = np.stack([np.bincount(member, weights=side, minlength=bins) for side in both])
    sums: FloatArray = np.stack([np.bincount(member, weights=side * counts.scores, minlength=bins) for side in both])
    return _points(rows, sums, level)


def points_of_release(curves: CurvesRelease) -> CalibrationPoints:
    """Return the bins of private counts; their intervals are for the population and hold for all bins at once."""
    edges, (_, ends), found = curves.calibration_edges, curves.calibration_ends, curves.calibration
    return CalibrationPoints(
        lower_edge=edges[:-1],
        upper_edge=edges[1:],
        weight=found.weight,
        mean_score=found.mean_score,
        observed=found.observed,
        lower=ends[0],
        upper=ends[1],
        level=curves.level,
        method="noise and sampling, all bins at once",
    )


def _points(rows: FloatArray, sums: FloatArray, level: float) -> CalibrationPoints:
    total = rows.sum(axis=0)
    used = total > 0.5  # estimated rows may be a hair above 0
    weight, share = total[used], rows[0, used] / total[used]
    ends = [
        wilson_interval_of(float(value), float(size), level=level) for value, size in zip(share, weight, strict=True)
    ]
    edges = np.arange(total.size + 1) / total.size
    return CalibrationPoints(
        lower_edge=edges[:-1][used],
        upper_edge=edges[1:][used],
        weight=weight,
        mean_score=sums.sum(axis=0)[used] / weight,
        observed=share,
        lower=np.array([end.lower for end in ends]),
        upper=np.array([end.upper for end in ends]),
        level=level,
        method="Wilson",
    )
