"""Stratified bootstrap: positives and negatives are resampled apart, so the prevalence stays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError, SmallSampleWarning
from confide.intervals.interval import Estimate, Interval, check_level
from confide.metrics.registry import Metric, get_metric
from confide.predictions import accepts_predictions

Method = Literal["percentile", "bca"]

BOOTSTRAP_POSITIVES = 200
"""Below this many rows of the smaller class the bootstrap is known to cover less than it says."""

_FAST = frozenset({"auc", "average_precision"})
_COMPILED_FROM_WORK = 5_000_000  # rows times replicates, from which loading compiled code pays
_LARGEST_COMPILED = 2**24
_JACKKNIFE_CELLS = 1_000


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
    **options: Any,
) -> Estimate:
    """Estimate any metric, with standard error and interval from resampled rows of each class.

    `method` is "percentile" (quantiles of the replicates) or "bca" (Efron 1987: corrected for bias
    and for a standard error that changes with the value). Assumes independent rows, and whole rows:
    float weights do not say what a row is. For areas under the PR curve the dissertation found it to
    cover less than its level with few positives (section 4.4); below `BOOTSTRAP_POSITIVES` it warns.
    Replicates in which the metric has no value are left out; if that is most of them it is refused.
    """
    check_level(level)
    check_replicates(replicates)
    if method not in ("percentile", "bca"):
        raise ParameterError(f"method must be 'percentile' or 'bca', got {method!r}")
    chosen = get_metric(metric) if isinstance(metric, str) else metric
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    check_whole_rows(counts)
    _warn_if_small(counts)

    def score(sample: ScoreCounts) -> float:
        return float(chosen(sample, **options))

    value = score(counts)
    fast = isinstance(chosen, Metric) and chosen.name in _FAST and not options
    name = chosen.name if isinstance(chosen, Metric) else None
    drawn = (
        replicate_ranks(counts, replicates, generator)[name == "average_precision"]
        if fast
        else _replicate(counts, score, replicates, generator)
    )
    usable = drawn[np.isfinite(drawn)]
    if usable.size < 0.5 * replicates:
        raise ParameterError("the metric is undefined in most replicates; choose another metric or more data")
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    if method == "bca":
        tails = _bca_tails(usable, value, _acceleration(counts, score, value), level)
    lower, upper = np.quantile(usable, tails)
    return Estimate(
        value=value,
        standard_error=float(np.std(usable, ddof=1)),
        interval=Interval(
            lower=float(lower), upper=float(upper), level=level, method=f"stratified bootstrap, {method}"
        ),
    )


def replicate_ranks(counts: ScoreCounts, replicates: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """AUC and average precision of stratified bootstrap replicates."""
    check_whole_rows(counts)
    check_replicates(replicates)
    positives, negatives = (int(total) for total in counts.both_classes())
    work = (positives + negatives) * replicates
    if work >= _COMPILED_FROM_WORK and max(positives, negatives) < _LARGEST_COMPILED:
        from confide.kernels.bootstrap import replicate_auc_ap

        return replicate_auc_ap(counts.positives, counts.negatives, replicates, int(rng.integers(2**63)))
    auc, average_precision = np.empty(replicates), np.empty(replicates)
    step = max(1, 4_000_000 // max(len(counts), 1))
    for first in range(0, replicates, step):
        chunk = slice(first, min(first + step, replicates))
        ours, theirs = redraw(counts, chunk.stop - chunk.start, rng)
        through, above = np.cumsum(theirs, axis=1), np.cumsum(ours[:, ::-1], axis=1)[:, ::-1]
        alarms = negatives - through + theirs
        auc[chunk] = np.sum(ours * (2 * through - theirs), axis=1) / (2.0 * positives * negatives)
        share = np.divide(above, above + alarms, out=np.zeros(above.shape), where=above > 0)
        average_precision[chunk] = np.sum(ours * share, axis=1) / positives
    return auc, average_precision


def redraw(
    counts: ScoreCounts, replicates: int, rng: np.random.Generator
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """Counts of each class in stratified replicates, one replicate a row."""
    positives, negatives = (int(total) for total in counts.both_classes())
    return (
        rng.multinomial(positives, counts.positives / positives, size=replicates),
        rng.multinomial(negatives, counts.negatives / negatives, size=replicates),
    )


def check_replicates(replicates: int) -> None:
    """Refuse fewer replicates than a tail quantile needs."""
    if isinstance(replicates, bool) or not isinstance(replicates, int | np.integer) or replicates < 100:
        raise ParameterError(f"replicates must be a whole number of at least 100, got {replicates!r}")


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


def _replicate(
    counts: ScoreCounts,
    score: Callable[[ScoreCounts], float],
    replicates: int,
    rng: np.random.Generator,
) -> FloatArray:
    drawn = np.empty(replicates)
    for i in range(replicates):
        ours, theirs = (drawn_class[0] for drawn_class in redraw(counts, 1, rng))
        seen = ours + theirs > 0
        drawn[i] = score(ScoreCounts(counts.scores[seen], ours[seen], theirs[seen]))
    return drawn


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


def _acceleration(counts: ScoreCounts, score: Callable[[ScoreCounts], float], value: float) -> float:
    """A sixth of the influence values' skewness, by leaving out one row of each score and class.

    Of many distinct scores neighbours are put together first: the acceleration is a correction of
    order 1/sqrt(n) and does not need each row's influence apart.
    """
    few = counts.coarsen(_JACKKNIFE_CELLS)
    base = value if few is counts else score(few)
    cubes = squares = 0.0
    for positive in (True, False):
        side = few.positives if positive else few.negatives
        total = float(side.sum())
        if total < 2.0:
            continue
        where = np.flatnonzero(side > 0)
        change = np.array([base - score(_without_one(few, int(cell), positive)) for cell in where])
        change = np.where(np.isfinite(change), change, 0.0)
        change -= np.average(change, weights=side[where])
        # An influence value is the change times (rows - 1); its share of the whole is one over rows.
        influence = change * (total - 1.0) / total
        squares += float(np.dot(side[where], influence**2))
        cubes += float(np.dot(side[where], influence**3))
    return cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0


def _without_one(counts: ScoreCounts, cell: int, positive: bool) -> ScoreCounts:
    positives, negatives = counts.positives.copy(), counts.negatives.copy()
    (positives if positive else negatives)[cell] -= 1
    seen = positives + negatives > 0
    return ScoreCounts(counts.scores[seen], positives[seen], negatives[seen])
