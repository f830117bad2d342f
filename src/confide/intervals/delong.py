"""The interval for one AUC: DeLong's nonparametric variance, and Hanley and McNeil's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.intervals.interval import Interval, all_or_nothing_ends, at_an_end, check_level, logit_ends, plain_ends
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score, placements

Transform = Literal["logit", "none"]


def delong_variance(counts: ScoreCounts) -> float:
    """The variance of AUC from placement values, ties counting half (DeLong et al. 1988).

    Assumes independent rows. Weights count as repetitions.
    """
    positives, negatives = _enough(counts)
    below, above = placements(counts)
    area = auc_score(counts)
    of_positives = np.dot(counts.positives, (below - area) ** 2) / (positives - 1.0) / positives
    of_negatives = np.dot(counts.negatives, (above - area) ** 2) / (negatives - 1.0) / negatives
    return float(of_positives + of_negatives)


def delong_interval(counts: ScoreCounts, *, level: float = 0.95, transform: Transform = "logit") -> Interval:
    """An interval for AUC with DeLong's variance.

    On the log-odds scale (the default) it stays inside (0, 1) and covers better near the ends; with
    `transform="none"` it is `AUC -/+ z se`, cut at 0 and 1. Assumes independent rows and enough of
    each class for a normal approximation. A score that separates the classes has variance 0; its
    interval is then the exact binomial one for `min(n, m)` disjoint pairs, all of which succeeded.

    >>> counts = ScoreCounts.from_arrays([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.7, 0.8])
    >>> delong_interval(counts).method
    'DeLong, logit'
    """
    return auc_interval(
        auc_score(counts), delong_variance(counts), *counts.both_classes(), level=level, transform=transform
    )


def auc_interval(
    auc: float,
    variance: float,
    positives: float,
    negatives: float,
    *,
    level: float = 0.95,
    transform: Transform = "logit",
    name: str = "DeLong",
) -> Interval:
    """Build the interval for an AUC whose variance is known."""
    check_level(level)
    if transform not in ("logit", "none"):
        raise ParameterError(f"transform must be 'logit' or 'none', got {transform!r}")
    if at_an_end(auc):
        lower, upper = all_or_nothing_ends(auc, min(positives, negatives), level)
        return Interval(lower=lower, upper=upper, level=level, method="exact binomial on disjoint pairs")
    error = math.sqrt(variance)
    if transform == "logit":
        lower, upper = logit_ends(auc, error, level)
    else:
        lower, upper = (min(max(end, 0.0), 1.0) for end in plain_ends(auc, error, level))
    suffix = ", logit" if transform == "logit" else ""
    return Interval(lower=lower, upper=upper, level=level, method=f"{name}{suffix}")


def hanley_mcneil_variance(auc: float, positives: float, negatives: float) -> float:
    """The variance of AUC from its value alone, exact for exponential scores (Hanley & McNeil 1982).

    `[A(1-A) + (n-1)(Q1 - A^2) + (m-1)(Q2 - A^2)] / (n m)`, `Q1 = A/(2-A)`, `Q2 = 2A^2/(1+A)`.
    """
    first, second = auc / (2.0 - auc), 2.0 * auc * auc / (1.0 + auc)
    square = auc * auc
    spread = auc * (1.0 - auc) + (positives - 1.0) * (first - square) + (negatives - 1.0) * (second - square)
    return spread / (positives * negatives)


def hanley_mcneil_interval(counts: ScoreCounts, *, level: float = 0.95, transform: Transform = "logit") -> Interval:
    """An interval for AUC that needs only its value and the class sizes.

    Assumes negative exponential scores in both classes; where the spreads differ much it is off.
    """
    positives, negatives = counts.both_classes()
    auc = auc_score(counts)
    variance = hanley_mcneil_variance(auc, positives, negatives)
    return auc_interval(auc, variance, positives, negatives, level=level, transform=transform, name="Hanley-McNeil")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSummary:
    """AUC with its DeLong variance, and average precision, from one pass."""

    positives: float
    negatives: float
    auc: float
    auc_variance: float
    average_precision: float

    def auc_interval(self, *, level: float = 0.95, transform: Transform = "logit") -> Interval:
        """The DeLong interval."""
        return auc_interval(
            self.auc, self.auc_variance, self.positives, self.negatives, level=level, transform=transform
        )


def rank_summary(
    labels: ArrayLike | ScoreCounts,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    positive: object = None,
) -> RankSummary:
    """Compute AUC, its DeLong variance and average precision together, of counts or of rows.

    The numbers equal `auc_score`, `delong_variance` and `average_precision_score`; millions of
    unweighted rows are ranked without keeping their counts, which is several times faster.
    """
    if isinstance(labels, ScoreCounts):
        return _summary_of_counts(labels)
    if scores is None:
        raise ParameterError("scores are needed with labels; or give one ScoreCounts")
    from confide.sources.arrays import COMPILED_FROM_ROWS, checked_rows, count_checked

    label, score, weight = checked_rows(labels, scores, weights, positive=positive)
    if weight is not None or score.size < COMPILED_FROM_ROWS:
        return _summary_of_counts(count_checked(label, score, weight))
    from confide.kernels.rows import summarise_rows

    sums = summarise_rows(label.view(np.uint8), score)
    n, m = sums.positives, sums.negatives
    if n < 2 or m < 2:
        raise DataError(_TOO_FEW)
    return RankSummary(
        positives=n,
        negatives=m,
        auc=sums.twice_wins / (2 * n * m),
        auc_variance=sums.positive_placement_ss / (n - 1) / n + sums.negative_placement_ss / (m - 1) / m,
        average_precision=sums.precision_sum / n,
    )


_TOO_FEW = "a variance needs at least two rows of each class; add rows, or report the value alone"


def _summary_of_counts(counts: ScoreCounts) -> RankSummary:
    positives, negatives = _enough(counts)
    return RankSummary(
        positives=positives,
        negatives=negatives,
        auc=auc_score(counts),
        auc_variance=delong_variance(counts),
        average_precision=average_precision_score(counts),
    )


def _enough(counts: ScoreCounts) -> tuple[float, float]:
    positives, negatives = counts.both_classes()
    if positives <= 1.0 or negatives <= 1.0:
        raise DataError(_TOO_FEW)
    return positives, negatives
