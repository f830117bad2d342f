"""Intervals from k-fold cross-validation; the dissertation found that they cover less than their level."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.counts import CountArray, ScoreCounts, require_counts
from confide.errors import ParameterError, SmallSampleWarning
from confide.intervals.interval import Estimate, Interval, check_level
from confide.metrics.registry import get_metric

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
