"""Bootstrap of whole clusters: any metric of rows that depend on each other within a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts, equal_mass_starts
from confide.errors import DataError
from confide.intervals.clusters import Codes
from confide.intervals.influence import Labels
from confide.intervals.interval import Estimate, Interval, check_level
from confide.intervals.replicates import spread
from confide.intervals.resample import check_replicates
from confide.metrics.calibration import calibration_errors
from confide.metrics.calibration_samples import SAMPLED_ERRORS, SampledCurves
from confide.sources.arrays import count_checked

METHOD = "cluster bootstrap, percentile"
MOST_CELLS = 4_096
"""More distinct scores than these are put together into cells of equal mass, at their mean score, in replicates."""

Score: TypeAlias = Callable[[ScoreCounts], float]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Class:
    """Rows of one class: the cell, cluster and weight of each."""

    cells: NDArray[np.int64]
    codes: Codes
    weights: CountArray | None

    def counts(self, drawn: NDArray[np.int64], size: int) -> CountArray:
        """Count rows by cell, each as often as its cluster was drawn."""
        times = drawn[self.codes] if self.weights is None else drawn[self.codes] * self.weights
        counted = np.bincount(self.cells, weights=times, minlength=size)
        return counted if times.dtype.kind == "f" else counted.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusteredScores:
    """Rows of one score, prepared so that drawing clusters costs one pass over the rows."""

    scores: FloatArray
    positives: _Class
    negatives: _Class

    @classmethod
    def prepare(
        cls,
        labels: Labels,
        scores: FloatArray,
        codes: Codes,
        weights: CountArray | None = None,
        *,
        thresholds: Sequence[float] = (),
    ) -> ClusteredScores:
        """Assign rows to cells of scores; no cell holds scores on both sides of a threshold."""
        distinct, cell = np.unique(scores, return_inverse=True)
        if distinct.size > MOST_CELLS:
            starts = equal_mass_starts(np.bincount(cell), MOST_CELLS)
            starts = np.union1d(starts, np.searchsorted(distinct, np.asarray(thresholds, dtype=np.float64)))
            starts = starts[starts < distinct.size]
            cell = np.searchsorted(starts, cell, side="right") - 1
            means = np.bincount(cell, weights=scores) / np.bincount(cell)
            last = np.append(starts[1:], distinct.size) - 1
            distinct = np.clip(
                means, distinct[starts], distinct[last]
            )  # rounding must not carry a mean out of its cell
        sides = (
            _Class(cell[side], codes[side], None if weights is None else weights[side]) for side in (labels, ~labels)
        )
        return cls(distinct, *sides)

    def counts(self, drawn: NDArray[np.int64]) -> ScoreCounts:
        """Count the rows of drawn clusters; `drawn` tells how often each was drawn."""
        ours, theirs = (side.counts(drawn, self.scores.size) for side in (self.positives, self.negatives))
        seen = ours + theirs > 0
        return ScoreCounts(self.scores[seen], ours[seen], theirs[seen])


def draw_clusters(clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many clusters as there are, with replacement; return how often each was drawn."""
    return np.bincount(rng.integers(clusters, size=clusters), minlength=clusters)


def cluster_replicates(
    prepared: Sequence[ClusteredScores],
    metrics: Mapping[str, Score],
    clusters: int,
    *,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
) -> dict[str, FloatArray]:
    """Compute metrics of several scores in the same replicates: for each metric a line a score, NaN without value."""
    check_replicates(replicates)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    found = {name: np.empty((len(prepared), replicates)) for name in metrics}
    for replicate in range(replicates):
        drawn = draw_clusters(clusters, generator)
        for line, each in enumerate(prepared):
            counts = each.counts(drawn)
            for name, metric in metrics.items():
                found[name][line, replicate] = value_or_nan(metric, counts)
    return found


def value_or_nan(metric: Score, counts: ScoreCounts) -> float:
    """Compute a metric, NaN for data on which it has no value, as without rows of a class."""
    try:
        return float(metric(counts))
    except DataError:
        return math.nan


def cluster_bootstrap(
    labels: Labels,
    scores: FloatArray,
    codes: Codes,
    metrics: Mapping[str, Score],
    *,
    weights: CountArray | None = None,
    thresholds: Sequence[float] = (),
    replicates: int = 1_000,
    level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> dict[str, Estimate]:
    """Estimate metrics with standard errors and percentile intervals from resampled clusters.

    `metrics` maps a name of your choice to a function of counts, for example a metric of the registry. `thresholds`
    are those that the metrics use. Assumes independent clusters; a cluster's rows are drawn together. Values come from
    all distinct scores, replicates from at most `MOST_CELLS` cells. Replicates in which a metric has no value are left
    out; if that is most of them, the estimate has no interval.
    """
    check_level(level)
    counts = count_checked(labels, scores, weights)
    counts.both_classes()
    held, renumbered = np.unique(codes, return_inverse=True)  # codes of a part of the rows have gaps
    prepared = ClusteredScores.prepare(labels, scores, renumbered, weights, thresholds=thresholds)
    drawn = cluster_replicates([prepared], metrics, held.size, replicates=replicates, rng=rng)
    return {
        name: percentile_estimate(value_or_nan(metric, counts), drawn[name][0], level)
        for name, metric in metrics.items()
    }


def cluster_calibration_errors(
    labels: Labels,
    scores: FloatArray,
    codes: Codes,
    *,
    weights: CountArray | None = None,
    replicates: int = 1_000,
    level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> dict[str, Estimate]:
    """Estimate the errors of the smooth calibration curve from resampled clusters, by the metrics' names.

    The curves of all replicates are fitted at once.
    """
    check_replicates(replicates)
    counts = count_checked(labels, scores, weights)
    curves = SampledCurves.of(counts)
    held, renumbered = np.unique(codes, return_inverse=True)
    # A cell ends where the weight of its rows, added up from below, does.
    through, ends = (np.cumsum(each.positives + each.negatives) for each in (counts, curves.cells))
    cell_of = np.minimum(np.searchsorted(ends, through * (1.0 - 1e-12)), ends.size - 1)
    cell = cell_of[np.searchsorted(counts.scores, scores)]
    sides = [
        _Class(cell[side], renumbered[side], None if weights is None else weights[side]) for side in (labels, ~labels)
    ]
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    drawn = [draw_clusters(held.size, generator) for _ in range(replicates)]
    ours, theirs = (np.array([side.counts(times, ends.size) for times in drawn]) for side in sides)
    errors = curves.errors(ours, theirs)
    known = calibration_errors(counts)
    return {
        metric: percentile_estimate(getattr(known, name), getattr(errors, name), level)
        for metric, name in SAMPLED_ERRORS.items()
    }


def percentile_estimate(value: float, drawn: FloatArray, level: float, method: str = METHOD) -> Estimate:
    """Build an estimate from replicates, without interval if most of them have no value."""
    usable = drawn[np.isfinite(drawn)]
    if usable.size < 0.5 * drawn.size or math.isnan(value):
        return Estimate(value=value)
    lower, upper = np.quantile(usable, ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
    return Estimate(
        value=value,
        standard_error=spread(usable),
        interval=Interval(lower=float(lower), upper=float(upper), level=level, method=method),
    )
