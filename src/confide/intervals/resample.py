"""Bootstrap of any metric and of curves: rows are resampled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.counts_or_arrays import accepts_predictions
from confide.curves.reliability import decision_curve
from confide.errors import ParameterError, SmallSampleWarning
from confide.intervals.interval import Estimate, Interval, check_level, normal_quantile
from confide.intervals.replicates import (
    CELLS,
    Replicates,
    check_resampling,
    draw_replicates,
    moved,
    reduced,
    reduction,
    replicate_values,
    rising_shares,
    spread,
)
from confide.kernels import compiler_installed
from confide.metrics.registry import Metric, Resampling, get_metric

Method = Literal["percentile", "bca"]

BOOTSTRAP_POSITIVES = 200
"""Below this many rows of the smaller class the bootstrap is known to cover less than it says."""

LEAST_REPLICATES = 100
"""Fewer replicates say nothing about the tails."""

BOOTSTRAPS = {"rows": "bootstrap of rows", "classes": "stratified bootstrap"}
"""Names of the two bootstraps, as intervals state them."""

_FAST = ("auc", "average_precision")
_COMPILED_FROM_WORK = 5_000_000  # rows times replicates, from which loading compiled code pays
_LARGEST_COMPILED = 2**24
_JACKKNIFE_CELLS = 1_000
_CHUNK = 4_000_000  # counts drawn at a time


@accepts_predictions
def bootstrap_interval(
    counts: ScoreCounts, /, metric: str | Callable[[ScoreCounts], float] = "average_precision", **settings: Any
) -> Interval:
    """Compute the interval of `bootstrap_estimate`, which takes the same settings."""
    return bootstrap_estimate(counts, metric, **settings).known_interval


@accepts_predictions
def bootstrap_estimate(
    counts: ScoreCounts,
    /,
    metric: str | Callable[[ScoreCounts], float] = "average_precision",
    *,
    replicates: int = 1_000,
    method: Method = "percentile",
    level: float = 0.95,
    rng: np.random.Generator | int | None = None,
    resampling: Resampling | None = None,
    **options: Any,
) -> Estimate:
    """Estimate any metric, with standard error and interval from resampled rows.

    `resampling` is "rows", or "classes" to resample the rows of each class apart. The default is the registry's
    (`Metric.resampling`): classes for metrics of the two distributions of scores, such as AUC, recall and likelihood
    ratios; rows for all metrics that the prevalence enters, which resampling within classes holds fixed, so that their
    intervals would be too narrow; and rows for functions that are not in the registry.

    `method` is "percentile" (quantiles of the replicates) or "bca" (Efron 1987: corrected for bias
    and for a standard error that changes with the value). Assumes independent rows, and whole rows:
    float weights do not say what a row is. For areas under the PR curve the dissertation found it to
    cover less than its level with few positives (section 4.4); below `BOOTSTRAP_POSITIVES` it warns.
    Replicates with one class only, or in which the metric has no value, are left out; if that is most of them it is
    refused. For metrics of the registry other than AUC and average precision, more than 1,000 distinct scores are first
    put together in 1,000 cells of equal mass, and replicates are moved by what that changes; measures at a threshold
    are exact nevertheless.
    """
    check_level(level)
    check_replicates(replicates)
    check_resampling(resampling)
    if method not in ("percentile", "bca"):
        raise ParameterError(f"method must be 'percentile' or 'bca', got {method!r}")
    chosen = get_metric(metric) if isinstance(metric, str) else metric
    scheme = resampling or (chosen.resampling if isinstance(chosen, Metric) else "rows")
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    check_whole_rows(counts)
    _warn_if_small(counts)

    def score(sample: ScoreCounts) -> float:
        return float(chosen(sample, **options))

    value = score(counts)
    if isinstance(chosen, Metric) and chosen.name in _FAST and not options:
        drawn = replicate_ranks(counts, replicates, generator, resampling=scheme)[_FAST.index(chosen.name)]
    else:
        few = reduced(counts, reduction(chosen, options)) if isinstance(chosen, Metric) else counts
        drawn = np.concatenate(
            [
                replicate_values(part, {0: (chosen, options)})[0]
                for part in _parts(few, replicates, generator, resampling=scheme)
            ]
        )
        drawn = drawn if few is counts else moved(drawn, value, score(few))
    usable = usable_replicates(drawn)
    if usable is None:
        raise ParameterError("the metric is undefined in most replicates; choose another metric or more data")
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    if method == "bca":
        tails = _bca_tails(usable, value, _acceleration(counts, score, value, resampling=scheme), level)
    lower, upper = np.quantile(usable, tails)
    return Estimate(
        value=value,
        standard_error=spread(usable),
        interval=Interval(
            lower=float(lower), upper=float(upper), level=level, method=f"{BOOTSTRAPS[scheme]}, {method}"
        ),
    )


def usable_replicates(drawn: FloatArray) -> FloatArray | None:
    """Return the replicates in which a metric has a value; None if that is not half of them."""
    usable = drawn[np.isfinite(drawn)]
    return usable if usable.size >= 0.5 * drawn.size else None


def replicate_ranks(
    counts: ScoreCounts, replicates: int, rng: np.random.Generator, *, resampling: Resampling
) -> tuple[FloatArray, FloatArray]:
    """AUC and average precision of bootstrap replicates; NaN in replicates of one class only."""
    check_whole_rows(counts)
    check_replicates(replicates)
    positives, negatives = (int(total) for total in counts.both_classes())
    work = (positives + negatives) * replicates
    if work >= _COMPILED_FROM_WORK and max(positives, negatives) < _LARGEST_COMPILED and compiler_installed():
        from confide.kernels.bootstrap import replicate_auc_ap

        seed = int(rng.integers(2**63))
        return replicate_auc_ap(
            counts.positives, counts.negatives, replicates, seed, within_classes=resampling == "classes"
        )
    both: dict[str, tuple[Metric, dict[str, Any]]] = {name: (get_metric(name), {}) for name in _FAST}
    parts = [replicate_values(part, both) for part in _parts(counts, replicates, rng, resampling=resampling)]
    auc, average_precision = (np.concatenate([part[name] for part in parts]) for name in _FAST)
    return auc, average_precision


def _parts(
    counts: ScoreCounts, replicates: int, rng: np.random.Generator, *, resampling: Resampling
) -> Iterator[Replicates]:
    """Yield the replicates, as many at a time as fit in memory."""
    step = max(1, _CHUNK // max(len(counts), 1))
    for first in range(0, replicates, step):
        yield draw_replicates(counts, min(step, replicates - first), rng, resampling)


def check_replicates(replicates: int) -> None:
    """Refuse fewer replicates than a tail quantile needs."""
    if isinstance(replicates, bool) or not isinstance(replicates, int | np.integer) or replicates < LEAST_REPLICATES:
        raise ParameterError(f"replicates must be a whole number of at least {LEAST_REPLICATES}, got {replicates!r}")


def check_whole_rows(counts: ScoreCounts) -> ScoreCounts:
    """Refuse float weights and data with one class only."""
    counts.both_classes()
    if counts.weighted:
        raise ParameterError(
            "the bootstrap redraws whole rows, and float weights do not say what a row is; "
            "give integer weights (repetitions), or use the DeLong or logit interval"
        )
    return counts


def _warn_if_small(counts: ScoreCounts) -> None:
    if min(counts.total_positives, counts.total_negatives) < BOOTSTRAP_POSITIVES:
        warnings.warn(
            f"a class has fewer than {BOOTSTRAP_POSITIVES} rows, where the bootstrap covers less than it says; "
            "use the logit interval for areas under the PR curve and DeLong's for AUC",
            SmallSampleWarning,
            stacklevel=4,  # past `bootstrap_estimate` and its wrapper, to the caller
        )


def _bca_tails(drawn: FloatArray, value: float, acceleration: float, level: float) -> tuple[float, float]:
    from scipy.special import ndtr, ndtri

    below = (np.sum(drawn < value) + np.sum(drawn == value) / 2.0) / drawn.size
    inside = np.clip(below, 0.5 / drawn.size, 1.0 - 0.5 / drawn.size)
    bias = float(ndtri(inside))
    ends = []
    for tail in ((1.0 - level) / 2.0, (1.0 + level) / 2.0):
        shifted = bias + float(ndtri(tail))
        ends.append(float(ndtr(bias + shifted / (1.0 - acceleration * shifted))))
    return ends[0], ends[1]


def _acceleration(
    counts: ScoreCounts, score: Callable[[ScoreCounts], float], value: float, *, resampling: Resampling
) -> float:
    """A sixth of the influence values' skewness, by leaving out one row of each score and class.

    Rows that are resampled together form one sample, and classes that are resampled apart form two. Of many distinct
    scores neighbours are put together first: the acceleration is a correction of order 1/sqrt(n) and does not need
    each row's influence apart.
    """
    few = counts.coarsen(_JACKKNIFE_CELLS)
    base = value if few is counts else score(few)
    sides = [(few.positives, _changes(few, score, base, positive=True))]
    sides.append((few.negatives, _changes(few, score, base, positive=False)))
    if resampling == "rows":
        weights, changes = zip(*sides, strict=True)
        sides = [(np.concatenate(weights), np.concatenate(changes))]
    cubes = squares = 0.0
    for weight, change in sides:
        total = float(weight.sum())
        if total < 2.0:
            continue
        centred = change - np.average(change, weights=weight)
        # An influence value is the change times (rows - 1); its share of the whole is one over rows.
        influence = centred * (total - 1.0) / total
        squares += float(np.dot(weight, influence**2))
        cubes += float(np.dot(weight, influence**3))
    return cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0


def _changes(counts: ScoreCounts, score: Callable[[ScoreCounts], float], base: float, *, positive: bool) -> FloatArray:
    """Return how much the metric falls when one row of a class is left out, at each score; 0 where there is no row."""
    side: CountArray = counts.positives if positive else counts.negatives
    change = np.zeros(len(counts))
    if side.sum() >= 2:
        where = np.flatnonzero(side > 0)
        change[where] = [base - score(_without_one(counts, int(cell), positive)) for cell in where]
    return np.where(np.isfinite(change), change, 0.0)


def _without_one(counts: ScoreCounts, cell: int, positive: bool) -> ScoreCounts:
    positives, negatives = counts.positives.copy(), counts.negatives.copy()
    (positives if positive else negatives)[cell] -= 1
    seen = positives + negatives > 0
    return ScoreCounts(counts.scores[seen], positives[seen], negatives[seen])


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Lower and upper ends at each `x`: of single points or of the whole curve, as what made it says."""

    x: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float

    def __post_init__(self) -> None:
        for name in ("x", "lower", "upper"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@accepts_predictions
def curve_bands(
    counts: ScoreCounts,
    *,
    level: float = 0.95,
    replicates: int = 1_000,
    points: int = 101,
    rng: np.random.Generator | int | None = None,
) -> tuple[Band, Band]:
    """Bands for the ROC curve over false-positive rates and for the PR curve over recalls, each x at the level alone.

    Rows are resampled within each class for the ROC curve, which does not depend on the prevalence, and from all rows
    for the PR curve, which does. Scores are first put together into at most 1,000 cells, finer than a plot can show.
    Percentiles of replicates: near the ends of a curve, and with few positives, such bands are too narrow.
    Needs whole rows, as every bootstrap does.
    """
    check_level(level)
    check_replicates(replicates)
    if points < 2:
        raise ParameterError(f"points must be at least 2, got {points!r}")
    few = check_whole_rows(counts).coarsen(CELLS)
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    at = np.linspace(0.0, 1.0, points)
    heights = _roc_heights(draw_replicates(few, replicates, generator, "classes"), at)
    precision = _precisions(draw_replicates(few, replicates, generator, "rows"), at)
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    roc_ends, pr_ends = np.quantile(heights, tails, axis=0), np.quantile(precision, tails, axis=0)
    return Band(at, roc_ends[0], roc_ends[1], level), Band(at, pr_ends[0], pr_ends[1], level)


@accepts_predictions
def decision_bands(
    counts: ScoreCounts, thresholds: ArrayLike | None = None, *, level: float = 0.95
) -> tuple[Band, Band]:
    """Bands for the decision curve and for treating everybody, each threshold at the level alone.

    Net benefit is a mean over rows: 1 for a true positive, `-t/(1-t)` for a false positive, 0 for a row that is not
    treated. The band is the mean plus and minus `z` standard errors. Thresholds are those of `decision_curve`.
    A weight counts as so many rows.
    """
    curve = decision_curve(counts, thresholds)
    at, rows = curve.threshold, float(counts.total_positives + counts.total_negatives)
    caught = np.concatenate((np.cumsum(counts.positives[::-1])[::-1], [0])) / rows
    alarmed = np.concatenate((np.cumsum(counts.negatives[::-1])[::-1], [0])) / rows
    first = np.searchsorted(counts.scores, at, side="left")
    squares = (at / (1.0 - at)) ** 2
    bands = []
    for mean, of in ((curve.net_benefit, first), (curve.treat_all, np.zeros_like(first))):
        variance = np.clip(caught[of] + squares * alarmed[of] - mean**2, 0.0, None)
        reach = normal_quantile(level) * np.sqrt(variance / rows)
        bands.append(Band(at, mean - reach, mean + reach, level))
    return bands[0], bands[1]


def _roc_heights(replicates: Replicates, at: FloatArray) -> FloatArray:
    """Return the true-positive rate of each replicate at false-positive rates."""
    recall, alarm = rising_shares(replicates.positives), rising_shares(replicates.negatives)
    return np.array([np.interp(at, x, y) for x, y in zip(alarm, recall, strict=True)])


def _precisions(replicates: Replicates, at: FloatArray) -> FloatArray:
    """Return the precision of each replicate with both classes at recalls."""
    both = replicates.both_classes
    ours, theirs = replicates.positives[both], replicates.negatives[both]
    recall, alarm = rising_shares(ours), rising_shares(theirs) * (theirs.sum(axis=1) / ours.sum(axis=1))[:, None]
    # Just left of a recall that thresholds share precision is that of the first of them, as in the curve.
    left = at * (1.0 - 1e-12)
    per_positive = np.array([np.interp(left, x, y) for x, y in zip(recall, alarm, strict=True)])
    precision: FloatArray = np.divide(at, at + per_positive, out=np.full_like(per_positive, np.nan), where=at > 0.0)
    precision[:, 0] = precision[:, 1]
    return precision
