"""Estimates from surveys: rows with sampling weights, in strata and clusters, with design-based intervals.

A sampling weight is the number of people whom a row stands for; it is no repetition of the row, so the intervals of
weighted counts do not hold. The variance is that of linearisation: the value is taken as a sum of `weight * influence`
over rows, and the totals of clusters vary within strata as if clusters had been drawn with replacement [1]_. The
influence on AUC is a row's placement value less AUC, over the weight of its class [2]_. Intervals use Student's t
with as many degrees of freedom as clusters less strata, and the log-odds scale for shares and AUC, as R's survey does.

References
----------
.. [1] D. Binder, "On the variances of asymptotically normal estimators from complex surveys", International
   Statistical Review 51, 1983.
.. [2] W. Yao, Z. Li and B. Graubard, "Estimation of ROC curve with complex survey data", Statistics in Medicine 34,
   2015.

"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray
from confide.errors import DataError, ParameterError, did_you_mean
from confide.intervals.clusters import Codes, checked_clusters
from confide.intervals.influence import LINEAR_METRICS, Labels, Linearised, linearise
from confide.intervals.interval import LOG_ODDS, Estimate, Interval, Scale, check_level
from confide.intervals.metric_estimates import natural_scale
from confide.metrics.names import metric_named
from confide.sources.rows import Rows

PREVALENCE = "prevalence"
SURVEY_METRICS = (*LINEAR_METRICS, PREVALENCE)
"""Measures that can be estimated from a survey."""


def survey_estimate(
    metric: str,
    labels: ArrayLike,
    scores: ArrayLike,
    weights: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    **options: Any,
) -> Estimate:
    """Estimate a measure of `SURVEY_METRICS` in the population that weighted rows stand for.

    Parameters
    ----------
    metric, labels, scores, weights
        The measure, and one label, score and sampling weight for each row. Only ratios of weights count.
    strata, clusters
        The stratum and the cluster (primary sampling unit) of each row, as anything that can be told apart. Clusters
        of different strata are different, even if they have the same name. Without clusters, rows are drawn singly.

    >>> labels, scores, weights = [0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.7, 0.8], [3, 1, 2, 2, 1, 1]
    >>> found = survey_estimate("auc", labels, scores, weights)
    >>> round(found.value, 3), round(found.standard_error, 3)
    (0.833, 0.191)
    """
    metric = metric_named(metric)
    check_level(level)
    if metric not in SURVEY_METRICS:
        known = ", ".join(SURVEY_METRICS)
        raise ParameterError(
            f"{metric!r} cannot be estimated from a survey. {did_you_mean(metric, SURVEY_METRICS)}Choose one of {known}"
        )
    rows = Rows.checked(labels, ("score",), (scores,), survey_weights=weights, clusters=clusters, positive=positive)
    if rows.weights is None:
        raise ParameterError("give `weights`, the sampling weight of each row")
    return survey_estimate_checked(
        metric,
        rows.labels,
        rows.scores[0],
        rows.weights,
        strata=None if strata is None else checked_clusters(strata, len(rows), "strata"),
        clusters=rows.clusters,
        level=level,
        **options,
    )


def survey_estimate_checked(
    metric: str,
    labels: Labels,
    scores: FloatArray,
    weights: CountArray,
    *,
    strata: Codes | None = None,
    clusters: Codes | None = None,
    level: float,
    **options: Any,
) -> Estimate:
    """Estimate a measure from rows that were validated already."""
    linear = (
        _prevalence(labels, weights) if metric == PREVALENCE else linearise(metric, labels, scores, weights, **options)
    )
    if math.isnan(linear.value):
        return Estimate(value=linear.value)
    stratum, cluster = _design(labels.size, strata, clusters)
    variance, degrees = _total_variance(weights * linear.influence, stratum, cluster)
    scale = LOG_ODDS if metric == PREVALENCE else natural_scale(metric)
    error = math.sqrt(variance)
    return Estimate(
        value=linear.value, standard_error=error, interval=_interval(linear.value, error, degrees, level, scale)
    )


def _prevalence(labels: Labels, weights: CountArray) -> Linearised:
    value = float(np.average(labels, weights=weights))
    return Linearised(value, (labels.astype(np.float64) - value) / float(weights.sum()))


def _design(rows: int, strata: Codes | None, clusters: Codes | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the stratum of each cluster, and the cluster of each row, as numbers."""
    stratum = np.zeros(rows, dtype=np.int64) if strata is None else strata
    cluster = np.arange(rows, dtype=np.int64) if clusters is None else clusters
    pairs, of_row = np.unique(np.column_stack((stratum, cluster)), axis=0, return_inverse=True)
    return pairs[:, 0], of_row.reshape(-1)


def _total_variance(
    contributions: FloatArray, stratum: NDArray[np.intp], cluster: NDArray[np.intp]
) -> tuple[float, int]:
    """Return the variance of a total, and its degrees of freedom."""
    totals = np.bincount(cluster, weights=contributions)
    sizes = np.bincount(stratum)
    if (sizes < 2).any():
        raise DataError("each stratum needs two or more clusters, or rows; merge strata that have one")
    means = np.bincount(stratum, weights=totals) / sizes
    squares = np.bincount(stratum, weights=(totals - means[stratum]) ** 2)
    return float(np.sum(sizes / (sizes - 1.0) * squares)), int(totals.size - sizes.size)


def _interval(value: float, error: float, degrees: int, level: float, scale: Scale) -> Interval | None:
    """Build the interval on its scale; None for a value at the end of its range, such as an AUC of 1."""
    from scipy.special import stdtrit

    if not scale.inside(value) or not math.isfinite(error):
        return None
    lower, upper = scale.ends(value, error, float(stdtrit(degrees, 0.5 + level / 2.0)))
    return Interval(lower=lower, upper=upper, level=level, method=f"survey linearisation{scale.suffix}, t")
