"""Released curves as a value, and the recalibration of a model from their counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray, ScoreCounts, read_only
from confide.curves.pr import PrCurve
from confide.curves.reliability import ReliabilityBins
from confide.curves.roc import RocCurve
from confide.errors import ParameterError
from confide.grid import Grid
from confide.intervals.resample import Band
from confide.metrics.calibration_fit import logistic_fit, rates
from confide.metrics.threshold import ConfusionMatrix, confusion_matrix
from confide.privacy.guarantee import Guarantee
from confide.privacy.noisy_counts import CurveRegion, NoisyCells
from confide.releases.confusion import confusion_releases
from confide.releases.curve_numbers import refined_grid
from confide.releases.operating import OperatingPoint, Target, choose_threshold
from confide.releases.release import PrivateIntervals, Release, ReleasedCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


METHODS = ("isotonic", "logistic")
SCHEMA = "confide.calibrator/1"

_INSIDE = 1e-6
_STEEPEST = 50.0  # slope, in standard deviations, at which a fit of separated classes stops


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Calibrator:
    """A rising function from scores to probabilities, by lines between points: everything in it may be published.

    `calibrator(scores)` gives the probabilities; below the first point and above the last it is constant.
    """

    scores: FloatArray
    probabilities: FloatArray
    method: str
    guarantee: Guarantee

    def __post_init__(self) -> None:
        for name in ("scores", "probabilities"):
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name), dtype=np.float64)))

    def __call__(self, scores: ArrayLike) -> FloatArray:
        """Probabilities for scores."""
        given = np.asarray(scores, dtype=np.float64)
        if not np.isfinite(given).all():
            raise ParameterError("scores must be finite; remove or replace NaN and infinite scores first")
        result: FloatArray = np.interp(given, self.scores, self.probabilities)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "scores": self.scores.tolist(),
            "probabilities": self.probabilities.tolist(),
            "guarantee": self.guarantee.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> Calibrator:
        """Rebuild it; the guarantee is given, as plain data does not hold exact fractions."""
        return cls(
            scores=np.array(plain["scores"]),
            probabilities=np.array(plain["probabilities"]),
            method=plain["method"],
            guarantee=guarantee,
        )


def fit_calibrator(counts: ScoreCounts, grid: Grid, guarantee: Guarantee, method: str = "isotonic") -> Calibrator:
    """Fit a calibrator to counts on a grid."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    fit = _isotonic if method == "isotonic" else _logistic
    scores, probabilities = fit(counts, grid)
    return Calibrator(scores=scores, probabilities=probabilities, method=method, guarantee=guarantee)


def _isotonic(counts: ScoreCounts, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Compute the share of positives in each cell with rows, plus half a row of each class, rising with the score.

    So no risk becomes exactly 0 or 1, which no finite number of rows could show.
    """
    from scipy.optimize import isotonic_regression

    rows = counts.positives + counts.negatives + 1.0
    return counts.scores, isotonic_regression((counts.positives + 0.5) / rows, weights=rows).x


def _logistic(counts: ScoreCounts, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Log-odds as a line in those of the score, for probabilities, or in the score itself; the slope is not below 0."""
    rows = (counts.positives + counts.negatives).astype(np.float64)

    def feature(scores: FloatArray) -> FloatArray:
        if not counts.probabilities:
            return scores
        inside = np.clip(scores, _INSIDE, 1.0 - _INSIDE)
        odds: FloatArray = np.log(inside / (1.0 - inside))
        return odds

    x = feature(counts.scores)
    centre, spread = np.average(x, weights=rows), max(float(np.std(x)), 1e-9)

    design = np.column_stack((np.ones_like(x), (x - centre) / spread))
    intercept, slope = logistic_fit(design, counts.positives.astype(np.float64), rows, largest=_STEEPEST)
    if slope < 0.0:  # the best line that does not fall is flat
        intercept, slope = np.log(counts.prevalence / (1.0 - counts.prevalence)), 0.0
    at = np.union1d(grid.edges, grid.representatives)
    return at, rates(intercept + slope * (feature(at) - centre) / spread)


CURVES = ("roc", "pr", "calibration", "counts")
NUMBERS = ("auc", "average_precision", "brier", "observed_expected", "prevalence")
CURVE_METRICS = (*CURVES, *NUMBERS)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bands:
    """Bands around one curve: one holds the whole exact curve of these rows, the other the population's."""

    sample: Band
    population: Band


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class CurvesRelease:
    """Private curves with all that follows from them: everything in it may be published.

    `counts` holds whole rows at the middle of each cell: every function of exact evaluation takes it.
    `roc` and `pr` are drawn from the same rows, spread within their cell as neighbouring cells suggest (`drawn`): a
    curve bends between its points at the edges of cells. `bands["roc"]` and `bands["pr"]` hold whole curves at the
    level.
    `auc` uses that order too; `average_precision` and the other numbers assume that classes are mixed evenly within a
    cell. `intervals` has two of each. Those of `auc` allow for errors of that order; the others allow any order within
    cells.
    """

    raw: Release
    grid: Grid
    strategy: str
    shape: str
    level: float
    counts: ScoreCounts
    roc: RocCurve
    pr: PrCurve
    calibration: ReliabilityBins
    bands: Mapping[str, Bands]
    intervals: Mapping[str, PrivateIntervals]
    values: Mapping[str, float]
    area: Release | None = None
    drawn: ScoreCounts = field(repr=False)
    noisy: NoisyCells = field(repr=False)
    regions: tuple[CurveRegion, CurveRegion] = field(repr=False)
    calibration_ends: tuple[FloatArray, FloatArray] = field(repr=False)
    calibration_edges: FloatArray = field(repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all results together."""
        return self.raw.guarantee

    @property
    def mechanism(self) -> str:
        """Mechanism that added the noise."""
        return self.raw.mechanism

    @property
    def auc(self) -> float:
        """Area under the ROC curve."""
        return self.values["auc"]

    @property
    def average_precision(self) -> float:
        """Average precision."""
        return self.values["average_precision"]

    @property
    def brier(self) -> float:
        """Brier score, for scores that are probabilities."""
        return self.values["brier"]

    @property
    def observed_expected(self) -> float:
        """Number of positives over the sum of scores."""
        return self.values["observed_expected"]

    @property
    def prevalence(self) -> float:
        """Share of the positives."""
        return self.values["prevalence"]

    def confusion(self, threshold: float) -> ConfusionMatrix:
        """Estimate the confusion matrix at a threshold; unless it is an edge of the grid, a cell is interpolated."""
        return confusion_matrix(self.drawn, threshold)

    def threshold_for(self, *, safe: bool = False, **target: float) -> OperatingPoint:
        """Choose the threshold that reaches a recall or a specificity, for example `threshold_for(recall=0.9)`.

        The highest edge of the grid that reaches the recall (the lowest for a specificity); with
        `safe=True` one at which even the lower end of its interval does. Its intervals hold although it was chosen
        from the same data, since they hold for all edges together. It costs nothing more.
        """
        return choose_threshold(self, Target.parse(target, safe=safe))

    def calibrator(self, method: str = "isotonic") -> Calibrator:
        """Recalibrate the model: a function from its scores to probabilities that fit the private counts.

        "isotonic" takes the share of positives in each cell, made to rise with the score; "logistic" a line
        in log-odds. Post-processing: it may be published and used on any scores, at no further cost.
        """
        return fit_calibrator(self.counts, self.grid, self.guarantee, method)

    def releases(self, *, threshold: float | None = None, target: Target | None = None) -> tuple[Release, ...]:
        """Return every curve and number as a release of its own, all from the same noise.

        With a threshold, which must be an edge of the grid, the measures of its confusion matrix too; with
        a target the threshold that is chosen for it.
        """
        return tuple(self._releases(threshold, target))

    def _releases(self, threshold: float | None, target: Target | None) -> Iterator[Release]:
        grid = {"edges": self.grid.edges.tolist()}
        beside = {} if self.area is None else {"area": self.area.mechanism}
        yield self._release("roc", "auc", self._roc(), options={**self._how(), **grid, **beside})
        yield self._release("pr", "average_precision", self._pr(), options={**self._how(), **grid})
        yield self._release("calibration", "observed_expected", self._calibration(), parts=self._recalibration())
        yield self._release("counts", "rows", self._table(), parts=self.raw.parts, options=self.raw.options)
        for name in NUMBERS:
            yield self._release(name, name) if name != "auc" or self.area is None else self.area
        if threshold is not None:
            cells = self._matrix_cells(threshold)
            yield from confusion_releases(cells, self.guarantee, self.mechanism, threshold, self.level).values()
        if target is not None:
            yield self.threshold_for(safe=target.safe, **{target.measure: target.value}).release(self)

    def __getitem__(self, metric: str) -> Release:
        return next(release for release in self.releases() if release.metric == metric)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        plain = [release.to_dict() for release in self.releases()]
        return {
            "schema": plain[0]["schema"],
            "releases": [{key: value for key, value in one.items() if key != "schema"} for one in plain],
            "guarantee": self.guarantee.to_dict(),
        }

    def __str__(self) -> str:
        return (
            f"private curves on {len(self.grid)} cells ({self.strategy}): AUC {self.auc:.3f}, "
            f"average precision {self.average_precision:.3f}; {self.guarantee.in_words()}"
        )

    def __repr__(self) -> str:
        return f"<CurvesRelease on {len(self.grid)} cells: AUC {self.auc:.3f} ({self.guarantee.summary})>"

    def plot(self) -> Figure:
        """Draw ROC, PR and calibration with their bands."""
        from confide.report.release_plots import plot_releases

        return plot_releases(self.releases()[:3])

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each number, with both intervals."""
        from confide.report.release import release_frame

        return release_frame(self.releases())

    def _repr_html_(self) -> str:
        from confide.report.release import fragment

        return fragment(self.releases())

    def _release(
        self,
        metric: str,
        value: str,
        curve: ReleasedCurve | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Release:
        sizes = {
            "positives": int(self.counts.total_positives),
            "negatives": int(self.counts.total_negatives),
        }
        return Release(
            metric=metric,
            value=self.values[value],
            intervals=self.intervals[value],
            guarantee=self.guarantee,
            mechanism=self.mechanism,
            parts=sizes if parts is None else {**sizes, **parts},
            options=self._how() if options is None else {**options, "shape": self.shape},
            curve=curve,
        )

    def _how(self) -> dict[str, Any]:
        """Return the public options of every release."""
        ends = [float(end) for end in self.grid.edges[[0, -1]]]
        return {"strategy": self.strategy, "cells": len(self.grid), "range": ends, "shape": self.shape}

    def _roc(self) -> ReleasedCurve:
        points = {
            "false_positive_rate": self.roc.false_positive_rate,
            "true_positive_rate": self.roc.true_positive_rate,
            "threshold": self._edges(self.roc.thresholds),
        }
        return ReleasedCurve.of(points=points, bands=_plain_bands(self.bands["roc"], "false_positive_rate"))

    def _pr(self) -> ReleasedCurve:
        points = {
            "recall": self.pr.recall,
            "precision": self.pr.precision,
            "threshold": self._edges(self.pr.thresholds),
        }
        return ReleasedCurve.of(points=points, bands=_plain_bands(self.bands["pr"], "recall"))

    def _calibration(self) -> ReleasedCurve:
        bins = self.calibration
        ends = zip(("sample", "population"), self.calibration_ends, strict=True)
        return ReleasedCurve.of(
            points={
                "mean_score": bins.mean_score,
                "observed": bins.observed,
                "rows": bins.weight,
                "lower_edge": self.calibration_edges[:-1],
                "upper_edge": self.calibration_edges[1:],
            },
            bands={name: {"mean_score": bins.mean_score, "lower": low, "upper": high} for name, (low, high) in ends},
        )

    def _recalibration(self) -> dict[str, Any]:
        """Evaluate both calibrators at the same scores."""
        result = {method: self.calibrator(method) for method in METHODS}
        at = np.union1d(self.grid.edges, self.grid.representatives)
        curves = {method: calibrator(at).tolist() for method, calibrator in result.items()}
        return {"recalibration": {"score": at.tolist(), **curves}}

    def _table(self) -> ReleasedCurve:
        table = np.zeros((2, len(self.grid)))
        where = self.grid.cells(self.counts.scores)
        table[0, where], table[1, where] = self.counts.positives, self.counts.negatives
        edges = self.grid.edges
        return ReleasedCurve.of(
            points={"lower_edge": edges[:-1], "upper_edge": edges[1:], "positives": table[0], "negatives": table[1]}
        )

    def _edges(self, thresholds: FloatArray) -> FloatArray:
        """Return the lower edge of each part of a cell: the threshold of the curve's point."""
        fine = refined_grid(self.grid)
        finite = np.isfinite(thresholds)
        edges = np.full(thresholds.size, np.inf)
        edges[finite] = fine.edges[fine.cells(thresholds[finite])]
        return edges

    def _matrix_cells(self, threshold: float) -> NoisyCells:
        """Noisy counts below and above the threshold."""
        outside = not self.grid.edges[0] < threshold < self.grid.edges[-1]
        if not outside and threshold not in self.grid.edges:
            raise ParameterError(
                f"{threshold!r} is not an edge of the grid; give it as threshold when the curves are released"
            )
        first = int(np.searchsorted(self.grid.edges[:-1], threshold))
        noisy = self.noisy

        def halves(tables: FloatArray) -> FloatArray:
            return np.stack((tables[..., :first].sum(axis=-1), tables[..., first:].sum(axis=-1)), axis=-1)

        return replace(
            noisy,
            cells=halves(noisy.cells),
            cell_rows=None if noisy.cell_rows is None else halves(noisy.cell_rows),
            integers=noisy.integers or noisy.cells.shape[1],
            reconstruct=lambda drawn: halves(noisy.reconstruct(drawn)),
        )


def _plain_bands(bands: Bands, x: str) -> dict[str, dict[str, Any]]:
    named = {"sample": bands.sample, "population": bands.population}
    return {name: {x: band.x, "lower": band.lower, "upper": band.upper} for name, band in named.items()}
