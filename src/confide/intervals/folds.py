"""Cross-validated scores: estimates over folds, with the intervals that the dissertation compared.

Scores of different models are not on one scale, so a pooled AUC compares what must not be compared. The usual estimate
is the mean over folds. Its interval is that of the models as they were trained: it leaves out how they would change
with other training rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts, require_counts
from confide.errors import DataError, ParameterError, SmallSampleWarning
from confide.intervals.clusters import (
    ClusteredScores,
    Codes,
    checked_clusters,
    cluster_replicates,
    cluster_sums,
    count_clusters,
    percentile_estimate,
    value_or_nan,
)
from confide.intervals.delong import Transform, auc_interval
from confide.intervals.influence import Labels, has_influence, linearise
from confide.intervals.interval import Estimate, Interval, check_level, student_quantile
from confide.intervals.metric_estimates import natural_scale
from confide.metrics.names import metric_named
from confide.metrics.registry import get_metric
from confide.sources.arrays import count_checked
from confide.sources.rows import Rows

Weighting = Literal["rows", "equal"]


def cross_validated_auc(
    labels: ArrayLike,
    scores: ArrayLike,
    folds: ArrayLike,
    *,
    codes: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    transform: Transform = "logit",
) -> Estimate:
    """Estimate AUC by the mean over folds, with the influence-function interval (LeDell et al. 2015).

    The influence of a row is its placement value in its fold less the fold's AUC, over the share of its class in all
    rows; the variance is the mean over folds of the mean squared influence, over the number of rows. R's
    `cvAUC::ci.cvAUC` computes the same, with `transform="none"`. Ties count half. With `codes`, which tell clusters
    apart, the influence of a cluster's rows is added up first, and the variance multiplied by `G/(G-1)`.

    Reference: LeDell, Petersen & van der Laan (2015), Electronic Journal of Statistics 9:1583.
    """
    rows = Rows.checked(labels, ("score",), (scores,), weights=weights, positive=positive)
    return cross_validated_auc_checked(
        rows.labels,
        rows.scores[0],
        checked_clusters(folds, len(rows), "folds"),
        codes=None if codes is None else checked_clusters(codes, len(rows)),
        weights=rows.weights,
        level=level,
        transform=transform,
    )


def cross_validated_auc_checked(
    labels: Labels,
    scores: FloatArray,
    folds: Codes,
    *,
    codes: Codes | None = None,
    weights: CountArray | None = None,
    level: float = 0.95,
    transform: Transform = "logit",
) -> Estimate:
    """Estimate AUC over folds of rows that were validated already, as `cross_validated_auc` does."""
    check_level(level)
    members = _folds(labels, folds)
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    total, ours = weight.sum(), float(weight[labels].sum())
    shares = np.where(labels, ours, total - ours) / total
    aucs, influence = [], np.empty(labels.size)
    for rows in members:
        fold = linearise("auc", labels[rows], scores[rows], weight[rows])
        size, inside = weight[rows].sum(), labels[rows]
        of_class = np.where(inside, weight[rows] @ inside, weight[rows] @ ~inside)
        curve = fold.influence * of_class / shares[rows]  # placement less AUC, over the share of the class
        influence[rows] = curve / math.sqrt(len(members) * size * total)
        aucs.append(fold.value)
    variance = _variance(influence, codes, weights)
    mean = float(np.mean(aucs))
    return Estimate(
        value=mean,
        standard_error=math.sqrt(variance),
        interval=auc_interval(
            mean, variance, ours, float(total) - ours, level=level, transform=transform, name="cross-validated AUC"
        ),
    )


def fold_value(labels: Labels, scores: FloatArray, folds: Codes, metric: str, **options: Any) -> float:
    """Compute the mean of a metric over folds, each weighing as its rows do."""
    members, score = _folds(labels, folds), partial(get_metric(metric), **options)
    values = [value_or_nan(score, count_checked(labels[rows], scores[rows])) for rows in members]
    return float(np.average(values, weights=[rows.size for rows in members]))


def check_folds(labels: Labels, folds: Codes) -> None:
    """Refuse fewer than two folds, and folds without both classes."""
    _folds(labels, folds)


def fold_estimate(
    labels: ArrayLike,
    scores: ArrayLike,
    folds: ArrayLike,
    metric: str,
    *,
    weighting: Weighting = "rows",
    codes: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    positive: object = None,
    level: float = 0.95,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Estimate:
    """Estimate a metric by its mean over folds, each weighing as its rows do, or all the same.

    Means of rows, such as the Brier score, are then those of all rows. Smooth metrics have a normal interval from
    their influence values (Student's t with clusters), on the scale of `natural_scale`; the others a percentile
    interval from rows, or clusters, redrawn in all folds at once. For AUC use `cross_validated_auc`.
    """
    metric = metric_named(metric)
    rows = Rows.checked(labels, ("score",), (scores,), weights=weights, positive=positive)
    return fold_estimate_checked(
        rows.labels,
        rows.scores[0],
        checked_clusters(folds, len(rows), "folds"),
        metric,
        weighting=weighting,
        codes=None if codes is None else checked_clusters(codes, len(rows)),
        weights=rows.weights,
        level=level,
        replicates=replicates,
        rng=rng,
        **options,
    )


def fold_estimate_checked(
    labels: Labels,
    scores: FloatArray,
    folds: Codes,
    metric: str,
    *,
    weighting: Weighting = "rows",
    codes: Codes | None = None,
    weights: CountArray | None = None,
    level: float = 0.95,
    replicates: int = 1_000,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Estimate:
    """Estimate a metric over folds of rows that were validated already, as `fold_estimate` does."""
    check_level(level)
    if weighting not in ("rows", "equal"):
        raise ParameterError(f"weighting must be 'rows' or 'equal', got {weighting!r}")
    members = _folds(labels, folds)
    weight = np.ones(labels.size) if weights is None else weights.astype(np.float64)
    if codes is None and min(weight[rows].sum() for rows in members) <= 1.0:
        raise DataError(
            "a fold weighs no more than one row, which a variance needs; multiply all weights by one number"
        )
    sizes = np.array([weight[rows].sum() if weighting == "rows" else 1.0 for rows in members])
    shares = sizes / sizes.sum()
    if not has_influence(metric, **options):
        return _redrawn(labels, scores, members, shares, metric, codes, weights, level, replicates, rng, options)
    influence, value = np.zeros(labels.size), 0.0
    for rows, share in zip(members, shares, strict=True):
        fold = linearise(metric, labels[rows], scores[rows], None if weights is None else weights[rows], **options)
        factor = 1.0 if codes is not None else math.sqrt(weight[rows].sum() / (weight[rows].sum() - 1.0))
        influence[rows] = share * factor * fold.influence
        value += share * fold.value
    variance, scale = _variance(influence, codes, weights), natural_scale(metric)
    if not (math.isfinite(variance) and scale.inside(value)):
        return Estimate(value=value)
    reach = student_quantile(math.inf if codes is None else count_clusters(codes) - 1, level)
    lower, upper = scale.ends(value, math.sqrt(variance), reach)
    method = f"mean over folds{'' if codes is None else ', cluster-robust'}{scale.suffix}"
    return Estimate(
        value=value,
        standard_error=math.sqrt(variance),
        interval=Interval(lower=lower, upper=upper, level=level, method=method),
    )


def _folds(labels: Labels, folds: Codes) -> list[NDArray[np.int64]]:
    """Return the rows of each fold, refusing folds without both classes."""
    members = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
    if len(members) < 2:
        raise ParameterError("folds must be at least two; check that this is the right column")
    if any(labels[rows].all() or not labels[rows].any() for rows in members):
        raise DataError("a fold has rows of one class only; use fewer folds, or deal each class evenly")
    return members


def _variance(influence: FloatArray, codes: Codes | None, weights: CountArray | None) -> float:
    """Return the variance of a sum over independent rows, or clusters."""
    if codes is None:
        return float(np.sum(influence**2 if weights is None else weights * influence**2))
    sums, clusters = cluster_sums(influence, codes, weights), count_clusters(codes)
    return float(np.dot(sums, sums)) * clusters / (clusters - 1.0)


def _redrawn(
    labels: Labels,
    scores: FloatArray,
    members: list[NDArray[np.int64]],
    shares: FloatArray,
    metric: str,
    codes: Codes | None,
    weights: CountArray | None,
    level: float,
    replicates: int,
    rng: np.random.Generator | int | None,
    options: dict[str, Any],
) -> Estimate:
    drawn_with = np.arange(labels.size) if codes is None else codes
    score = partial(get_metric(metric), **options)
    parts = [(labels[rows], scores[rows], None if weights is None else weights[rows]) for rows in members]
    thresholds = [options["threshold"]] if "threshold" in options else []
    prepared = [
        ClusteredScores.prepare(label, each, drawn_with[rows], weight, thresholds=thresholds)
        for (label, each, weight), rows in zip(parts, members, strict=True)
    ]
    size = int(drawn_with.max()) + 1
    drawn = cluster_replicates(prepared, {metric: score}, size, replicates=replicates, rng=rng)[metric]
    value = float(shares @ [value_or_nan(score, count_checked(*part)) for part in parts])
    kind = "bootstrap" if codes is None else "cluster bootstrap"
    return percentile_estimate(value, shares @ drawn, level, f"mean over folds, {kind}, percentile")


CROSS_VALIDATION_POSITIVES = 10_000
"""Below this many positives in all, cross-validation's interval for AUCPR covers less than it says."""


def cross_validation_interval(
    folds: Sequence[ScoreCounts], metric: str = "average_precision", **settings: Any
) -> Interval:
    """Compute the interval of `cross_validation_estimate`, which takes the same settings."""
    return cross_validation_estimate(folds, metric, **settings).known_interval


def cross_validation_estimate(
    folds: Sequence[ScoreCounts], metric: str = "average_precision", *, level: float = 0.95, **options: Any
) -> Estimate:
    """Estimate a metric by the folds' mean, with `mean -/+ t sd / sqrt(k)`, Student's t with k - 1 degrees of freedom.

    Assumes that folds are independent and the metric unbiased on one fold. Neither holds for areas
    under the PR curve: on a k-th of the positives they are biased, so the interval sits in the wrong
    place (section 4.4); below `CROSS_VALIDATION_POSITIVES` it warns.
    """
    from scipy.special import stdtrit

    check_level(level)
    if not isinstance(folds, Sequence):
        raise ParameterError("folds must be several ScoreCounts, one for each fold; split_folds makes them of one")
    if len(folds) < 2:
        raise ParameterError(f"folds must hold two or more ScoreCounts, got {len(folds)}; give one for each fold")
    for fold in folds:
        require_counts(fold, "folds")
    chosen = get_metric(metric)
    if sum(fold.total_positives for fold in folds) < CROSS_VALIDATION_POSITIVES:
        warnings.warn(
            f"there are fewer than {CROSS_VALIDATION_POSITIVES:,} positives, where cross-validation covers less than "
            "it says; merge the folds and use the logit interval for areas under the PR curve or DeLong's for AUC",
            SmallSampleWarning,
            stacklevel=2,
        )
    values = np.array([chosen(fold, **options) for fold in folds])
    error = float(np.std(values, ddof=1) / np.sqrt(values.size))
    reach = float(stdtrit(values.size - 1, 0.5 + level / 2.0)) * error
    mean = float(values.mean())
    return Estimate(
        value=mean,
        standard_error=error,
        interval=Interval(
            lower=mean - reach, upper=mean + reach, level=level, method=f"{values.size}-fold cross-validation, t"
        ),
    )


def split_folds(counts: ScoreCounts, folds: int, rng: np.random.Generator | int | None = None) -> list[ScoreCounts]:
    """Deal the rows at random into folds, each class evenly."""
    if require_counts(counts, "counts").weighted:
        raise ParameterError("folds are dealt from whole rows; float weights do not say what a row is")
    positives, negatives = counts.both_classes()
    if (
        isinstance(folds, bool)
        or not isinstance(folds, int | np.integer)
        or not 2 <= folds <= min(positives, negatives)
    ):
        raise ParameterError("folds must be at least 2 and at most the number of rows of the smaller class")
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    ours = _deal(counts.positives, folds, generator)
    theirs = _deal(counts.negatives, folds, generator)
    dealt = []
    for p, q in zip(ours, theirs, strict=True):
        seen = p + q > 0
        dealt.append(ScoreCounts(counts.scores[seen], p[seen], q[seen]))
    return dealt


def _deal(counts: CountArray, folds: int, rng: np.random.Generator) -> list[CountArray]:
    cells = rng.permutation(np.repeat(np.arange(counts.size), counts))
    return [np.bincount(part, minlength=counts.size) for part in np.array_split(cells, folds)]
