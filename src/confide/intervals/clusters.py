"""Clustered rows: AUC, any metric by influence, and the bootstrap of whole clusters.

DeLong's variance takes rows for independent and is too small where rows of a cluster resemble each other. Obuchowski's
adds the components of a cluster before it squares them. A cluster may hold rows of both classes.

Reference: Obuchowski (1997), Biometrics 53:567.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts, equal_mass_starts
from confide.errors import DataError, ParameterError
from confide.intervals.comparison import JointComparison, compare_components
from confide.intervals.influence import Labels, Linearised, has_influence, linearise, share_below
from confide.intervals.interval import (
    LOG_ODDS,
    Estimate,
    Interval,
    all_or_nothing_ends,
    at_an_end,
    check_level,
    student_quantile,
)
from confide.intervals.metric_estimates import natural_scale
from confide.intervals.replicates import spread
from confide.intervals.resample import check_replicates
from confide.metrics.calibration import calibration_errors
from confide.metrics.calibration_samples import SAMPLED_ERRORS, SampledCurves
from confide.metrics.names import metric_named
from confide.metrics.registry import get_metric
from confide.sources.arrays import count_checked
from confide.sources.rows import Rows, member_codes

Codes = NDArray[np.int64]

OBUCHOWSKI = "Obuchowski, clustered"

_TOO_FEW = "clustered rows need at least two clusters with rows of each class; add clusters, or report the value alone"


def cluster_codes(clusters: ArrayLike) -> Codes:
    """Number the clusters from 0; rows with equal names belong together.

    >>> cluster_codes(["b", "a", "b"])
    array([1, 0, 1])
    """
    return member_codes(clusters, "clusters")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusterPlacements:
    """Components of several models on the same clustered rows: a model a line, a cluster a column.

    `of_positives[r, c]` is the sum over the positives of cluster `c` of their placement value less the AUC of model
    `r`; `of_negatives` likewise. `holds_positives` tells which clusters have positives.
    """

    aucs: FloatArray
    of_positives: FloatArray
    of_negatives: FloatArray
    positives: float
    negatives: float
    holds_positives: NDArray[np.bool_]
    holds_negatives: NDArray[np.bool_]

    def covariance(self) -> FloatArray:
        """Return the covariance of the AUCs: `S10/M + S01/N + (S11 + S11')/(M N)`.

        Each sum of products is multiplied by `I/(I-1)`, with `I` the number of clusters with positives, with
        negatives, and of all clusters. With one row a cluster this is DeLong's covariance exactly.
        """
        ours, theirs = self.of_positives / self.positives, self.of_negatives / self.negatives
        crossed = _factor((self.holds_positives | self.holds_negatives).sum()) * (ours @ theirs.T)
        own = _factor(self.holds_positives.sum()) * (ours @ ours.T)
        other = _factor(self.holds_negatives.sum()) * (theirs @ theirs.T)
        total: FloatArray = own + other + crossed + crossed.T
        return total

    def contrasts(self, matrix: FloatArray) -> ClusterPlacements:
        """Return the components of linear combinations of models, a combination a line."""
        return ClusterPlacements(
            matrix @ self.aucs,
            matrix @ self.of_positives,
            matrix @ self.of_negatives,
            self.positives,
            self.negatives,
            self.holds_positives,
            self.holds_negatives,
        )


def _factor(clusters: float) -> float:
    return float(clusters) / (float(clusters) - 1.0)


def cluster_placements(
    labels: Labels, scores: Sequence[FloatArray], codes: Codes, weights: CountArray | None = None
) -> ClusterPlacements:
    """Compute the components of clustered rows that were validated already; a weight repeats a row in its cluster."""
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    ours, theirs = weight[labels], weight[~labels]
    size = int(codes.max(initial=-1)) + 1
    holds = [np.bincount(codes[side], minlength=size) > 0 for side in (labels, ~labels)]
    if min(held.sum() for held in holds) < 2:
        raise DataError(_TOO_FEW)
    aucs, of_positives, of_negatives = [], [], []
    for score in scores:
        below = share_below(score[labels], score[~labels], theirs)
        above = 1.0 - share_below(score[~labels], score[labels], ours)
        auc = float(np.dot(ours, below) / ours.sum())
        aucs.append(auc)
        of_positives.append(np.bincount(codes[labels], weights=ours * (below - auc), minlength=size))
        of_negatives.append(np.bincount(codes[~labels], weights=theirs * (above - auc), minlength=size))
    return ClusterPlacements(
        np.array(aucs),
        np.array(of_positives),
        np.array(of_negatives),
        float(ours.sum()),
        float(theirs.sum()),
        holds[0],
        holds[1],
    )


def compare_clustered(
    labels: Labels,
    names: Sequence[str],
    scores: Sequence[FloatArray],
    codes: Codes,
    weights: CountArray | None = None,
    *,
    level: float,
) -> JointComparison:
    """Compare the AUCs of models on clustered rows that were validated already."""
    components = cluster_placements(labels, scores, codes, weights)
    degrees = float(np.unique(codes).size - 1)
    return compare_components(components, names, level=level, method=f"paired {OBUCHOWSKI}", degrees=degrees)


def compare_aucs_clustered(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    clusters: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
) -> JointComparison:
    """Compare two or more models on the same clustered rows, as `compare_aucs` does on independent rows.

    Assumes independent clusters. Differences use Student's t with one degree of freedom less than there are clusters,
    and the joint test Hotelling's F.
    """
    if not isinstance(scores, Mapping) or len(scores) < 2:
        raise ParameterError("scores must map the names of two or more models to their scores: {'a': ..., 'b': ...}")
    rows = Rows.checked(labels, tuple(scores), tuple(scores.values()), weights=weights, positive=positive)
    codes = checked_clusters(clusters, len(rows))
    return compare_clustered(rows.labels, rows.names, rows.scores, codes, rows.weights, level=level)


def checked_clusters(clusters: ArrayLike, rows: int, what: str = "clusters") -> Codes:
    """Number the clusters (or folds, or strata), refusing another number of them than of rows."""
    codes = member_codes(clusters, what)
    if codes.size != rows:
        raise ParameterError(f"{what} and labels differ in length; give one of each for every row")
    return codes


CLUSTER_BOOTSTRAP = "cluster bootstrap, percentile"
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


def percentile_estimate(value: float, drawn: FloatArray, level: float, method: str = CLUSTER_BOOTSTRAP) -> Estimate:
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


CLUSTER_ROBUST = "cluster-robust"

Request = tuple[str, Mapping[str, Any]]
"""A metric of the registry and its options."""


def cluster_estimate(
    labels: ArrayLike,
    scores: ArrayLike,
    codes: ArrayLike,
    metric: str,
    *,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Estimate:
    """Estimate a metric of clustered rows; `codes` tells the clusters apart, and `cluster_estimates` says how."""
    metric = metric_named(metric)
    rows = Rows.checked(labels, ("score",), (scores,), weights=weights, positive=positive)
    members, request = checked_clusters(codes, len(rows)), {metric: (metric, options)}
    return cluster_estimates(
        rows.labels,
        rows.scores[0],
        members,
        request,
        weights=rows.weights,
        level=level,
        replicates=replicates,
        rng=rng,
    )[metric]


def cluster_estimates(
    labels: Labels,
    scores: FloatArray,
    codes: Codes,
    requests: Mapping[str, Request],
    *,
    weights: CountArray | None = None,
    level: float = 0.95,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
) -> dict[str, Estimate]:
    """Estimate metrics of clustered rows that were validated already; `codes` come from `cluster_codes`.

    AUC has Obuchowski's standard error, other smooth metrics the cluster-robust one (the sandwich), and the rest
    share the replicates of one bootstrap of clusters. Intervals are on the scale of `natural_scale` and use Student's t
    with one degree of freedom less than there are clusters: with few clusters the standard error itself is uncertain.
    A value without standard error, as an AUC with the positives of one cluster only, has no interval. A share of
    exactly 0 or 1 has the exact binomial interval for the clusters that it was counted in. Assumes
    independent clusters.
    """
    check_level(level)
    closed = {name: request for name, request in requests.items() if has_influence(request[0], **request[1])}
    found = {
        name: _closed_form(labels, scores, codes, metric, weights, level, options)
        for name, (metric, options) in closed.items()
    }
    others = {name: request for name, request in requests.items() if name not in closed}
    smoothed = {name: metric for name, (metric, options) in others.items() if metric in SAMPLED_ERRORS and not options}
    if smoothed:
        errors = cluster_calibration_errors(
            labels, scores, codes, weights=weights, replicates=replicates, level=level, rng=rng
        )
        found |= {name: errors[metric] for name, metric in smoothed.items()}
        others = {name: request for name, request in others.items() if name not in smoothed}
    if others:
        found |= cluster_bootstrap(
            labels,
            scores,
            codes,
            {name: partial(get_metric(metric), **options) for name, (metric, options) in others.items()},
            weights=weights,
            thresholds=[options["threshold"] for _, options in others.values() if "threshold" in options],
            replicates=replicates,
            level=level,
            rng=rng,
        )
    return {name: found[name] for name in requests}


def cluster_sums(values: FloatArray, codes: Codes, weights: CountArray | None = None) -> FloatArray:
    """Add up the values of each cluster's rows."""
    weighted = values if weights is None else values * weights
    return np.bincount(codes, weights=weighted).astype(np.float64)


def cluster_variance(linear: Linearised, codes: Codes, weights: CountArray | None = None) -> float:
    """Compute the cluster-robust variance: the sum of squared influence of clusters, times `G/(G-1)`.

    `G` is the number of clusters. R's `sandwich::vcovCL(type="HC0")` has the same factor.
    """
    sums, clusters = cluster_sums(linear.influence, codes, weights), count_clusters(codes)
    if clusters < 2:
        raise DataError("clustered rows need at least two clusters; add clusters, or report the value alone")
    return float(np.dot(sums, sums)) * clusters / (clusters - 1.0)


def count_clusters(codes: Codes) -> int:
    """Count the clusters that have rows: of a part of the rows, fewer than of all."""
    return int(np.count_nonzero(np.bincount(codes)))


def _closed_form(
    labels: Labels,
    scores: FloatArray,
    codes: Codes,
    metric: str,
    weights: CountArray | None,
    level: float,
    options: Mapping[str, Any],
) -> Estimate:
    linear = linearise(metric, labels, scores, weights, **options)
    if math.isnan(linear.value):
        return Estimate(value=linear.value)
    clusters = count_clusters(codes)
    if metric == "auc":
        if min(count_clusters(codes[side]) for side in (labels, ~labels)) < 2:
            return Estimate(value=linear.value)
        variance, name = cluster_placements(labels, [scores], codes, weights).covariance().item(), OBUCHOWSKI
    else:
        variance, name = cluster_variance(linear, codes, weights), CLUSTER_ROBUST
    scale = natural_scale(metric)
    if scale is LOG_ODDS and at_an_end(linear.value):
        trials = min(_held(codes, rows) for rows in _counted_in(metric, labels, scores, options))
        lower, upper = all_or_nothing_ends(linear.value, trials, level)
        end = Interval(lower=lower, upper=upper, level=level, method="exact binomial on clusters")
        return Estimate(value=linear.value, standard_error=0.0, interval=end)
    error = math.sqrt(max(variance, 0.0))
    if math.isnan(variance) or not scale.inside(linear.value):
        return Estimate(value=linear.value)
    lower, upper = scale.ends(linear.value, error, student_quantile(clusters - 1, level))
    return Estimate(
        value=linear.value,
        standard_error=error,
        interval=Interval(lower=lower, upper=upper, level=level, method=name + scale.suffix),
    )


def _counted_in(
    metric: str, labels: Labels, scores: FloatArray, options: Mapping[str, Any]
) -> tuple[NDArray[np.bool_], ...]:
    """Return the rows that a share is counted in; of two shares, the rows of each."""
    called = scores >= options.get("threshold", 0.5)
    everything = np.ones(labels.size, dtype=np.bool_)
    rows = {
        "accuracy": (everything,),
        "recall": (labels,),
        "false_positive_rate": (~labels,),
        "specificity": (~labels,),
        "precision": (called,),
        "negative_predictive_value": (~called,),
        "average_precision": (labels,),
    }
    return rows.get(metric, (labels, ~labels))


def _held(codes: Codes, rows: NDArray[np.bool_]) -> int:
    """Count the clusters that hold some of the rows."""
    return count_clusters(codes[rows])
