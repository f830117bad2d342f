"""Samples of one model's rows: each kind estimates metrics under its own sampling design."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.evaluation.model import Request, Sample
from confide.evaluation.settings import UNUSED, Design, Settings
from confide.intervals.clusters import cluster_estimates
from confide.intervals.folds import check_folds, cross_validated_auc_checked, fold_estimate_checked, fold_value
from confide.intervals.influence import has_influence
from confide.intervals.interval import Estimate
from confide.intervals.metric_estimates import estimates, is_closed
from confide.intervals.survey import SURVEY_METRICS, survey_estimate_checked
from confide.metrics.registry import SharedScores, get_metric
from confide.sources.arrays import count_checked
from confide.sources.rows import Rows

_OF_LOG_ODDS = frozenset({"calibration_intercept", "calibration_slope", "joint_intercept"})
_MEAN_OVER_FOLDS = frozenset({"auc", "average_precision", "partial_auc"})


def sample_of(rows: Rows, position: int, settings: Settings, *, counts: ScoreCounts, resample: bool = True) -> Sample:
    """Return the rows of the model at a position as a sample. Without `resample` nothing is bootstrapped."""
    labels, scores = rows.labels, rows.scores[position]
    independent = IndependentSample(counts, settings, resample=resample and settings.replicates > 0)
    if rows.survey and rows.weights is not None:
        # A mean weight of 1: smoothers weigh their penalty against the number of rows, not of people.
        even = rows.weights / float(np.mean(rows.weights))
        per_row = replace(independent, counts=count_checked(labels, scores, even))
        return SurveySample(counts, per_row, labels, scores, even, rows.clusters)
    if rows.clusters is not None:
        return ClusteredSample(independent, labels, scores, rows.clusters)
    if rows.folds is not None:
        return FoldSample(independent, labels, scores, rows.folds)
    return independent


def design_of(rows: Rows) -> Design:
    """Return the sampling design of rows."""

    def number(codes: NDArray[np.int64] | None) -> int | None:
        return None if codes is None else int(np.unique(codes).size)

    return Design(
        weighted=rows.weights is not None,
        clusters=number(rows.clusters),
        folds=number(rows.folds),
        survey=rows.survey,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndependentSample:
    """Independent rows, of which counts say everything."""

    counts: ScoreCounts
    settings: Settings
    resample: bool = True

    @property
    def per_row(self) -> ScoreCounts:
        """Counts of all rows."""
        return self.counts

    def estimates(self, requests: Sequence[Request]) -> list[Estimate]:
        """Estimate metrics by the method that was chosen, or by the default of each."""
        settings = self.settings
        drawn = [each for each in requests if self.exists(each) and (self.resample or self.closed(each))]
        found = dict(
            zip(
                drawn,
                estimates(
                    self.counts,
                    [(each.metric, dict(each.options)) for each in drawn],
                    level=settings.level,
                    method=settings.interval,
                    replicates=settings.replicates or UNUSED,
                    rng=settings.seed,
                ),
                strict=True,
            )
        )
        values = SharedScores(self.counts)
        return [found[each] if each in found else self.value(each, values) for each in requests]

    def closed(self, request: Request) -> bool:
        """Return whether the interval of a metric needs no bootstrap."""
        return is_closed(request.metric, self.settings.interval)

    def exists(self, request: Request) -> bool:
        """Return whether a metric exists: scores of exactly 0 or 1 have no log-odds."""
        ends = self.counts.scores[0] <= 0.0 or self.counts.scores[-1] >= 1.0
        return not (request.metric in _OF_LOG_ODDS and ends)

    def value(self, request: Request, values: SharedScores) -> Estimate:
        """Return the value of a metric alone, NaN where it does not exist."""
        if not self.exists(request):
            return Estimate(value=math.nan)
        return Estimate(value=values.score(get_metric(request.metric), dict(request.options)))

    def each(self, requests: Sequence[Request], estimate: Callable[[Request], Estimate | None]) -> list[Estimate]:
        """Estimate metrics one by one; only the value remains where an estimate is None or impossible."""
        found, values = [], SharedScores(self.counts)
        for request in requests:
            try:
                known = estimate(request) if self.exists(request) else None
            except DataError:  # too few rows, clusters or folds for a standard error
                known = None
            found.append(self.value(request, values) if known is None else known)
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusteredSample:
    """Rows of which those of one cluster depend on each other."""

    independent: IndependentSample
    labels: NDArray[np.bool_]
    scores: FloatArray
    clusters: NDArray[np.int64]

    @property
    def counts(self) -> ScoreCounts:
        """Counts of all rows."""
        return self.independent.counts

    @property
    def per_row(self) -> ScoreCounts:
        """Counts of all rows."""
        return self.independent.counts

    def estimates(self, requests: Sequence[Request]) -> list[Estimate]:
        """Estimate metrics with cluster-robust standard errors, or by resampling clusters."""
        base, settings = self.independent, self.independent.settings
        kept = [each for each in requests if base.exists(each) and (base.resample or has_influence(each.metric))]
        try:
            found = cluster_estimates(
                self.labels,
                self.scores,
                self.clusters,
                {str(place): (each.metric, dict(each.options)) for place, each in enumerate(kept)},
                level=settings.level,
                replicates=settings.replicates or UNUSED,
                rng=settings.seed,
            )
        except DataError:  # one cluster only
            found = {}
        known = {each: found[str(place)] for place, each in enumerate(kept) if str(place) in found}
        values = SharedScores(self.counts)
        return [known[each] if each in known else base.value(each, values) for each in requests]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FoldSample:
    """Rows whose scores come from a cross-validation: ranking is averaged over folds, other metrics use all rows.

    Ranking is NaN in a group of rows that has one fold only, or a fold with one class only.
    """

    independent: IndependentSample
    labels: NDArray[np.bool_]
    scores: FloatArray
    folds: NDArray[np.int64]

    @property
    def counts(self) -> ScoreCounts:
        """Counts of all rows."""
        return self.independent.counts

    @property
    def per_row(self) -> ScoreCounts:
        """Counts of all rows."""
        return self.independent.counts

    def estimates(self, requests: Sequence[Request]) -> list[Estimate]:
        """Estimate metrics."""
        pooled = [each for each in requests if each.metric not in _MEAN_OVER_FOLDS]
        found = dict(zip(pooled, self.independent.estimates(pooled), strict=True))
        try:
            check_folds(self.labels, self.folds)
        except (DataError, ParameterError):
            found |= {each: Estimate(value=math.nan) for each in requests if each not in found}
        found |= {each: self._mean_over_folds(each) for each in requests if each not in found}
        return [found[each] for each in requests]

    def _mean_over_folds(self, request: Request) -> Estimate:
        settings = self.independent.settings
        if request.metric == "auc":
            return cross_validated_auc_checked(self.labels, self.scores, self.folds, level=settings.level)
        options = dict(request.options)
        if not self.independent.resample and not has_influence(request.metric, **options):
            return Estimate(value=fold_value(self.labels, self.scores, self.folds, request.metric, **options))
        return fold_estimate_checked(
            self.labels,
            self.scores,
            self.folds,
            request.metric,
            level=settings.level,
            replicates=settings.replicates or UNUSED,
            rng=settings.seed,
            **options,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SurveySample:
    """Rows with sampling weights: smooth metrics have design-based intervals, the others values alone.

    `counts` have the weights as given. Metrics are estimated, and curves drawn, with weights of mean 1, so that only
    ratios matter.
    """

    counts: ScoreCounts
    independent: IndependentSample
    labels: NDArray[np.bool_]
    scores: FloatArray
    weights: CountArray
    clusters: NDArray[np.int64] | None

    @property
    def per_row(self) -> ScoreCounts:
        """Counts with weights of mean 1."""
        return self.independent.counts

    def estimates(self, requests: Sequence[Request]) -> list[Estimate]:
        """Estimate metrics in the population that the weighted rows stand for."""
        return self.independent.each(requests, self._linearised)

    def _linearised(self, request: Request) -> Estimate | None:
        if request.metric not in SURVEY_METRICS:
            return None
        return survey_estimate_checked(
            request.metric,
            self.labels,
            self.scores,
            self.weights,
            clusters=self.clusters,
            level=self.independent.settings.level,
            **dict(request.options),
        )
