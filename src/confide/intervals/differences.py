"""Differences of any metric: between models on the same rows, and between groups of rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.blocks import dot, sum_blocks
from confide.counts import CountArray, FloatArray
from confide.errors import DataError, OneClassError, ParameterError, did_you_mean
from confide.intervals.clusters import (
    ClusteredScores,
    Codes,
    Score,
    checked_clusters,
    cluster_replicates,
    cluster_sums,
    compare_clustered,
    count_clusters,
    percentile_estimate,
    value_or_nan,
)
from confide.intervals.comparison import (
    Comparison,
    Contrast,
    _simultaneous_quantile,
    compare_checked,
    normal_comparison,
    simultaneous_reach,
)
from confide.intervals.influence import Labels, Linearised, has_influence, linearise
from confide.intervals.interval import LOG, LOG_ODDS, Estimate, Interval, check_level, normal_quantile
from confide.intervals.metric_estimates import natural_scale
from confide.metrics.names import metric_named
from confide.metrics.registry import get_metric
from confide.sources.arrays import count_checked
from confide.sources.rows import CodedScores, Rows


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
    metric = metric_named(metric)
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


Ends = Literal["normal", "square-and-add"]

REST = "rest"


def compare_estimates_unpaired(
    first: Estimate,
    second: Estimate,
    *,
    metric: str,
    level: float = 0.95,
    names: tuple[str, str] = ("first", "second"),
    threshold: float | None = None,
    ends: Ends | None = None,
) -> Comparison:
    """Compare a metric between two independent sets of rows, of which only estimates are known.

    `ends="normal"` adds the squared standard errors. `ends="square-and-add"` adds the squared distances from the
    values to the ends of their intervals that face each other; of two Wilson intervals this is Newcombe's interval for
    a difference of proportions. Its standard error is the distance from the difference to the end nearer to 0, over
    the normal quantile, so that the p-value is below 1 - level just where the interval excludes 0. The default is
    square-and-add for shares and areas (whose `natural_scale` is log-odds) and normal for the others. Ratios, such as
    observed : expected, are compared by the logarithm of their ratio. Assumes that no row is in both sets, and that
    standard errors are known well; those from few clusters are not (see `against_rest`, which allows for that).

    References: Newcombe (1998), Statistics in Medicine 17:873, method 10; Zou & Donner (2008), ibid. 27:1693.
    """
    metric = metric_named(metric)
    check_level(level)
    get_metric(metric)
    if ends not in (None, "normal", "square-and-add"):
        raise ParameterError(f"ends must be 'normal' or 'square-and-add', got {ends!r}")
    chosen = ends or ("square-and-add" if natural_scale(metric) is LOG_ODDS else "normal")
    contrast = contrast_of(metric)
    values = [_contrast_value(estimate, contrast) for estimate in (first, second)]
    labels: dict[str, Any] = {"metric": metric, "threshold": threshold, "contrast": contrast}
    if chosen == "square-and-add":
        return _square_and_add(names, first, second, level, labels)
    errors = [_contrast_error(estimate, contrast) for estimate in (first, second)]
    variance = errors[0] ** 2 + errors[1] ** 2
    return normal_comparison(*names, values[0] - values[1], variance, level, method="unpaired normal", **labels)


def against_rest(
    labels: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike,
    metric: str,
    *,
    reference: str | None = None,
    codes: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    **options: Any,
) -> tuple[Comparison, ...]:
    """Compare a smooth metric of each group with that of all other rows, or of the group named `reference`.

    `groups` names the group of each row. Standard errors come from influence values, with the factor `n/(n-1)` of each
    part; for AUC of independent rows they are DeLong's. With `codes`, which tell clusters apart, the rows of a cluster
    may lie in several groups. Student's t then has Welch's degrees of freedom, which are few if a group has few
    clusters, and at most one less than there are clusters. The simultaneous intervals hold together for all groups.
    Groups without rows of both classes, in themselves or in the rest, are left out.

    References: Welch (1947), Biometrika 34:28; Satterthwaite (1946), Biometrics Bulletin 2:110.
    """
    metric = metric_named(metric)
    rows = Rows.checked(labels, ("score",), (scores,), weights=weights, groups={"groups": groups}, positive=positive)
    return against_rest_checked(
        rows.labels,
        rows.scores[0],
        rows.groupings[0].groups,
        metric,
        reference=reference,
        codes=None if codes is None else checked_clusters(codes, len(rows)),
        weights=rows.weights,
        level=level,
        **options,
    )


def against_rest_checked(
    labels: Labels,
    scores: FloatArray,
    groups: NDArray[Any],
    metric: str,
    *,
    reference: str | None = None,
    codes: Codes | None = None,
    weights: CountArray | None = None,
    level: float = 0.95,
    **options: Any,
) -> tuple[Comparison, ...]:
    """Compare a metric between groups of rows that were validated already, as `against_rest` does."""
    check_level(level)
    if not has_influence(metric, **options):
        raise ParameterError(f"{metric} has no standard error in closed form; compare estimates of each group instead")
    named = np.asarray(groups, dtype=object)  # texts of NumPy lose NULs at their ends
    known = sorted(set(named.tolist()))
    if reference is not None and reference not in known:
        raise ParameterError(f"no group is called {reference!r}. {did_you_mean(reference, known)}Check the name")
    sides: list[_Sides] = []
    for group in known:
        inside = named == group
        outside = ~inside if reference is None else named == reference
        if group == reference:
            continue
        try:
            ours, theirs = (_part(metric, labels, scores, weights, rows, codes, options) for rows in (inside, outside))
        except OneClassError:
            continue
        most = math.inf if codes is None else count_clusters(codes[inside | outside]) - 1.0
        sides.append(_Sides(group, REST if reference is None else reference, ours, theirs, most))
    return _compare_sides(sides, metric, codes, weights, level, options)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Part:
    """Value of a metric in some of the rows, the influence of all rows on it, and the degrees of its variance."""

    value: float
    influence: FloatArray
    degrees: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Sides:
    """A group, what it is compared with, and the most degrees of freedom that their difference can have."""

    first: str
    second: str
    ours: _Part
    theirs: _Part
    most_degrees: float

    def degrees(self, ours: float, theirs: float) -> float:
        """Return Welch's degrees of freedom, from the variances of both parts."""
        if math.isinf(self.most_degrees) or not 0.0 < ours + theirs < math.inf:
            return self.most_degrees
        share = ours / (ours + theirs)
        return min(self.most_degrees, 1.0 / (share**2 / self.ours.degrees + (1.0 - share) ** 2 / self.theirs.degrees))


def _part(
    metric: str,
    labels: Labels,
    scores: FloatArray,
    weights: CountArray | None,
    rows: NDArray[np.bool_],
    codes: Codes | None,
    options: dict[str, Any],
) -> _Part:
    """Linearise a metric of some of the rows; the others have no influence on it."""
    weight = None if weights is None else weights[rows]
    found = contrasted(linearise(metric, labels[rows], scores[rows], weight, **options), contrast_of(metric))
    influence = np.zeros(labels.size)
    influence[rows] = found.influence * _factors(metric, labels[rows], weight, None if codes is None else codes[rows])
    return _Part(found.value, influence, _degrees(None if codes is None else codes[rows]))


def _factors(metric: str, labels: Labels, weights: CountArray | None, codes: Codes | None) -> FloatArray | float:
    """Return the root of the finite-sample factor of each row: of its class for AUC of independent rows."""
    if codes is not None:
        return _root_factor(count_clusters(codes))
    weight = np.ones(labels.size) if weights is None else weights
    if metric == "auc":
        sizes = [_root_factor(float(weight[side].sum())) for side in (labels, ~labels)]
        return np.where(labels, *sizes)
    return _root_factor(float(weight.sum()))


def _root_factor(size: float) -> float:
    if size <= 1.0:
        raise OneClassError("a part has one row, or cluster, only; add rows")
    return math.sqrt(size / (size - 1.0))


def _compare_sides(
    sides: Sequence[_Sides],
    metric: str,
    codes: Codes | None,
    weights: CountArray | None,
    level: float,
    options: dict[str, Any],
) -> tuple[Comparison, ...]:
    influences = np.array([part.influence for side in sides for part in (side.ours, side.theirs)])
    summed = _summed(influences, codes, weights) if len(sides) else influences
    pairs = [(2 * i, 2 * i + 1) for i in range(len(sides))]
    variances = [float(np.sum((summed[i] - summed[j]) ** 2)) for i, j in pairs]
    degrees = [
        side.degrees(*(float(np.sum(summed[place] ** 2)) for place in pair))
        for side, pair in zip(sides, pairs, strict=True)
    ]
    normal = None
    if len(pairs) > 1 and bool(np.isfinite(summed).all()):
        normal = _simultaneous_quantile(summed @ summed.T, pairs, variances, level)
    threshold = options.get("threshold", 0.5) if "threshold" in get_metric(metric).options else None
    return tuple(
        normal_comparison(
            side.first,
            side.second,
            side.ours.value - side.theirs.value,
            variance,
            level,
            reach=None if normal is None else simultaneous_reach(normal, freedom),
            method="unpaired normal" if codes is None else "cluster-robust, t",
            degrees=freedom,
            metric=metric,
            threshold=threshold,
            contrast=contrast_of(metric),
        )
        for side, variance, freedom in zip(sides, variances, degrees, strict=True)
    )


def _summed(influences: FloatArray, codes: Codes | None, weights: CountArray | None) -> FloatArray:
    """Return values whose products add up to the covariance: of rows, or of clusters."""
    if codes is not None:
        return np.array([cluster_sums(line, codes, weights) for line in influences])
    return influences if weights is None else influences * np.sqrt(weights)


def _square_and_add(
    names: tuple[str, str], first: Estimate, second: Estimate, level: float, labels: dict[str, Any]
) -> Comparison:
    from scipy.special import ndtr

    contrast: Contrast = labels["contrast"]
    (one, one_low, one_high), (two, two_low, two_high) = (
        _contrast_ends(estimate, level, contrast) for estimate in (first, second)
    )
    difference = one - two
    below, above = math.hypot(one - one_low, two_high - two), math.hypot(one_high - one, two - two_low)
    nearer = below if difference > 0.0 else above
    error = nearer / normal_quantile(level)
    z = difference / error if error > 0.0 else 0.0
    interval = Interval(
        lower=difference - below, upper=difference + above, level=level, method="unpaired square-and-add"
    )
    return Comparison(
        first=names[0],
        second=names[1],
        difference=difference,
        standard_error=error,
        z=z,
        p_value=float(2.0 * ndtr(-abs(z))),
        interval=interval,
        **labels,
    )


def _contrast_value(estimate: Estimate, contrast: Contrast) -> float:
    if contrast == "difference":
        return estimate.value
    if not estimate.value > 0.0:
        raise DataError("a ratio of 0 has no logarithm and cannot be compared; add rows")
    return math.log(estimate.value)


def _contrast_error(estimate: Estimate, contrast: Contrast) -> float:
    if estimate.standard_error is None:
        raise DataError("an estimate without standard error cannot be compared; use one that has it, or add rows")
    return estimate.standard_error if contrast == "difference" else estimate.standard_error / estimate.value


def _contrast_ends(estimate: Estimate, level: float, contrast: Contrast) -> tuple[float, float, float]:
    interval = estimate.known_interval
    if not math.isclose(interval.level, level):
        raise ParameterError(f"level is {level!r} and an estimate's interval has another; give both the same level")
    value = _contrast_value(estimate, contrast)
    if contrast == "difference":
        return value, interval.lower, interval.upper
    return value, math.log(interval.lower), math.log(interval.upper)
