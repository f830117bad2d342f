"""Differences between models on the same rows, for any metric, with or without clusters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.blocks import dot, sum_blocks
from confide.counts import CountArray, FloatArray
from confide.errors import DataError, ParameterError
from confide.intervals.cluster_bootstrap import (
    ClusteredScores,
    Score,
    cluster_replicates,
    percentile_estimate,
    value_or_nan,
)
from confide.intervals.cluster_estimates import count_clusters
from confide.intervals.clusters import Codes, checked_clusters, compare_clustered
from confide.intervals.comparison import (
    Comparison,
    Contrast,
    _simultaneous_quantile,
    compare_checked,
    normal_comparison,
    simultaneous_reach,
)
from confide.intervals.influence import Labels, Linearised, has_influence, linearise
from confide.intervals.interval import check_level
from confide.intervals.metric_estimates import natural_scale
from confide.intervals.scales import LOG
from confide.metrics.registry import get_metric
from confide.sources.arrays import count_checked
from confide.sources.coded import CodedScores
from confide.sources.rows import Rows


def compare_models(
    labels: ArrayLike,
    scores: Mapping[str, ArrayLike],
    metric: str,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> tuple[Comparison, ...]:
    """Compare a metric of the registry between all pairs of models on the same rows.

    AUC has the paired DeLong test, or with `clusters` Obuchowski's. Other smooth metrics (average precision, Brier
    score, log loss, calibration, measures at a threshold, net benefit) have a normal interval for the mean of the rows'
    differences in influence: for Brier score and log loss this is the paired z-test. The others have a percentile
    interval from redrawn rows, or clusters, and the p-value of the difference over its bootstrap standard error.
    Ratios are compared by the logarithm of their ratio. Assumes independent rows, or independent clusters; weights
    count as repetitions. With three models or more each difference has a simultaneous interval too.

    >>> found = compare_models([0, 0, 1, 1], {"a": [0.1, 0.4, 0.6, 0.8], "b": [0.3, 0.2, 0.5, 0.7]}, "brier")
    >>> found[0].interval.method, round(found[0].difference, 4)
    ('paired normal', -0.025)
    """
    if not isinstance(scores, Mapping) or len(scores) < 2:
        raise ParameterError("scores must map the names of two or more models to their scores: {'a': ..., 'b': ...}")
    rows = Rows.checked(labels, tuple(scores), tuple(scores.values()), weights=weights, positive=positive)
    return compare_models_checked(
        rows.labels,
        rows.names,
        rows.scores,
        metric,
        codes=None if clusters is None else checked_clusters(clusters, len(rows)),
        weights=rows.weights,
        level=level,
        replicates=replicates,
        rng=rng,
        **options,
    )


def compare_models_checked(
    labels: Labels,
    names: Sequence[str],
    scores: Sequence[FloatArray],
    metric: str,
    *,
    codes: Codes | None = None,
    weights: CountArray | None = None,
    level: float = 0.95,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
    coded: Sequence[CodedScores] | None = None,
    **options: Any,
) -> tuple[Comparison, ...]:
    """Compare models on rows that were validated already, as `compare_models` does.

    `coded` are the scores of whole rows by their places, if at hand.
    """
    check_level(level)
    chosen = get_metric(metric)
    if metric == "auc":
        if codes is None:
            return compare_checked(labels, names, scores, weights, level=level, coded=coded).differences
        return compare_clustered(labels, names, scores, codes, weights, level=level).differences
    if has_influence(metric, **options):
        known: Sequence[CodedScores | None] = coded or [None] * len(scores)
        linear = [
            linearise(metric, labels, score, weights, each, **options)
            for score, each in zip(scores, known, strict=True)
        ]
        return _compare_linear(linear, names, metric, codes, weights, level, options)
    if codes is None and weights is not None and weights.dtype.kind == "f":
        raise ParameterError("the bootstrap redraws whole rows, and float weights do not say what a row is")
    return _compare_redrawn(
        labels, names, scores, partial(chosen, **options), metric, codes, weights, level, replicates, rng, options
    )


def contrast_of(metric: str) -> Contrast:
    """Return how two values of a metric are compared: ratios by the logarithm of their ratio."""
    return "log ratio" if natural_scale(metric) is LOG else "difference"


def contrasted(linear: Linearised, contrast: Contrast) -> Linearised:
    """Linearise the logarithm of a value where ratios are compared."""
    if contrast == "difference":
        return linear
    if not linear.value > 0.0:
        return Linearised(math.nan, np.full(linear.influence.size, math.nan))
    return Linearised(math.log(linear.value), linear.influence / linear.value)


def influence_covariance(
    influences: FloatArray, codes: Codes | None = None, weights: CountArray | None = None
) -> FloatArray:
    """Compute the covariance of values from their influence values, a value a line.

    Over independent rows each row of weight `w` counts as `w` rows; over clusters the rows of a cluster are added up
    first. The sum of products is multiplied by `n/(n-1)`, with `n` the number of rows or of clusters.
    """
    if codes is None:
        parts, size = influences, float(influences.shape[1])
        if weights is not None:
            parts, size = influences * np.sqrt(weights.astype(np.float64)), float(weights.sum())
    else:
        weighted = influences if weights is None else influences * weights
        parts = np.array([np.bincount(codes, weights=line) for line in weighted])
        size = float(count_clusters(codes))
    if size < 2.0:
        raise DataError("a difference needs at least two rows, or clusters; add rows")
    covariance: FloatArray = np.array([[_product(one, other) for other in parts] for one in parts])
    return covariance * (size / (size - 1.0))


def _product(one: FloatArray, other: FloatArray) -> float:
    return sum_blocks(lambda part: (dot(one[part], other[part]),), one.size)[0]


def _compare_linear(
    linear: Sequence[Linearised],
    names: Sequence[str],
    metric: str,
    codes: Codes | None,
    weights: CountArray | None,
    level: float,
    options: Mapping[str, Any],
) -> tuple[Comparison, ...]:
    contrast = contrast_of(metric)
    values = [contrasted(each, contrast) for each in linear]
    influences = np.array([each.influence for each in values])
    pairs = list(itertools.combinations(range(len(names)), 2))
    # The variance of a difference from the differences: nothing is lost to cancellation.
    variances = [influence_covariance((influences[i] - influences[j])[None], codes, weights).item() for i, j in pairs]
    degrees = _degrees(codes)
    reach = None
    if len(pairs) > 1 and bool(np.isfinite(influences).all()):
        together = influence_covariance(influences, codes, weights)
        reach = simultaneous_reach(_simultaneous_quantile(together, pairs, variances, level), degrees)
    return tuple(
        normal_comparison(
            names[i],
            names[j],
            values[i].value - values[j].value,
            variance,
            level,
            reach=reach,
            method="paired normal" if codes is None else "paired cluster-robust, t",
            degrees=degrees,
            metric=metric,
            threshold=_threshold(metric, options),
            contrast=contrast,
        )
        for (i, j), variance in zip(pairs, variances, strict=True)
    )


def _compare_redrawn(
    labels: Labels,
    names: Sequence[str],
    scores: Sequence[FloatArray],
    score: Score,
    metric: str,
    codes: Codes | None,
    weights: CountArray | None,
    level: float,
    replicates: int,
    rng: np.random.Generator | int | None,
    options: Mapping[str, Any],
) -> tuple[Comparison, ...]:
    if codes is None:
        labels, scores, weights = _repeated(labels, scores, weights)
    drawn_with = np.arange(labels.size) if codes is None else codes
    thresholds = [options["threshold"]] if "threshold" in options else []
    prepared = [ClusteredScores.prepare(labels, each, drawn_with, weights, thresholds=thresholds) for each in scores]
    size = int(drawn_with.max()) + 1
    drawn = cluster_replicates(prepared, {metric: score}, size, replicates=replicates, rng=rng)[metric]
    values = [value_or_nan(score, count_checked(labels, each, weights)) for each in scores]
    method = f"paired {'bootstrap' if codes is None else 'cluster bootstrap'}, percentile"
    found = []
    for i, j in itertools.combinations(range(len(names)), 2):
        estimate = percentile_estimate(values[i] - values[j], drawn[i] - drawn[j], level, method)
        if estimate.interval is None or estimate.standard_error is None:
            raise DataError(f"{metric} is undefined in most replicates; choose another metric, or add rows")
        normal = normal_comparison(
            names[i],
            names[j],
            estimate.value,
            estimate.standard_error**2,
            level,
            method=method,
            degrees=_degrees(codes),
            metric=metric,
            threshold=_threshold(metric, options),
        )
        found.append(replace(normal, interval=estimate.interval))
    return tuple(found)


def _degrees(codes: Codes | None) -> float:
    """Return the degrees of freedom of Student's t: those of the clusters, infinite for independent rows."""
    return math.inf if codes is None else count_clusters(codes) - 1.0


def _repeated(
    labels: Labels, scores: Sequence[FloatArray], weights: CountArray | None
) -> tuple[Labels, Sequence[FloatArray], None]:
    """Write out the rows that integer weights repeat: each is drawn on its own."""
    if weights is None:
        return labels, scores, None
    return np.repeat(labels, weights), [np.repeat(score, weights) for score in scores], None


def _threshold(metric: str, options: Mapping[str, Any]) -> float | None:
    """Return the threshold of a metric that has one."""
    if "threshold" not in get_metric(metric).options:
        return None
    return float(options.get("threshold", 0.5))
