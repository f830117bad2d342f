"""Estimates of clustered rows: standard errors that hold though rows of a cluster depend on each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray
from confide.errors import DataError
from confide.intervals import clusters as obuchowski
from confide.intervals.cluster_bootstrap import cluster_bootstrap, cluster_calibration_errors
from confide.intervals.clusters import Codes, checked_clusters, cluster_placements
from confide.intervals.influence import Labels, Linearised, has_influence, linearise
from confide.intervals.interval import Estimate, Interval, all_or_nothing_ends, at_an_end, check_level, student_quantile
from confide.intervals.metric_estimates import natural_scale
from confide.intervals.scales import LOG_ODDS
from confide.metrics.calibration_samples import SAMPLED_ERRORS
from confide.metrics.registry import get_metric
from confide.sources.rows import Rows

METHOD = "cluster-robust"

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
        variance, name = cluster_placements(labels, [scores], codes, weights).covariance().item(), obuchowski.METHOD
    else:
        variance, name = cluster_variance(linear, codes, weights), METHOD
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
