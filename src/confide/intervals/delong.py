"""Intervals of AUC: DeLong's, and that of a binormal curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.blocks import dot, scan_blocks
from confide.counts import ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.curves.binormal_roc import CATEGORIES, smooth_roc
from confide.curves.compiled_sums import compiled_sums
from confide.device import on_device
from confide.errors import DataError, ParameterError
from confide.intervals.interval import (
    Interval,
    all_or_nothing_ends,
    at_an_end,
    check_level,
    logit_ends,
    normal_quantile,
    plain_ends,
)
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from confide.sources.device_sums import sums_on_device

if TYPE_CHECKING:
    from confide.kernels.sums import RankSums


Transform = Literal["logit", "none"]


@sums_on_device(lambda sums: summary_of_sums(sums).auc_variance)
@accepts_predictions
def delong_variance(counts: ScoreCounts) -> float:
    """Compute the variance of AUC from placement values, ties counting half (DeLong et al. 1988).

    Assumes independent rows. Weights count as repetitions.
    """
    positives, negatives = _enough(counts)
    sums = compiled_sums(counts)
    if sums is not None:
        return sums.auc_variance
    area = auc_score(counts)

    def squares(part: slice, positives_below: float, negatives_below: float) -> tuple[float, float]:
        ours, theirs = counts.positives[part], counts.negatives[part]
        below = (np.cumsum(theirs) + negatives_below - theirs / 2.0) / negatives - area
        above = (positives - positives_below - np.cumsum(ours) + ours / 2.0) / positives - area
        return dot(ours, below * below), dot(theirs, above * above)

    of_positives, of_negatives = np.sum(scan_blocks(squares, counts.positives, counts.negatives), axis=0)
    return float(of_positives / (positives - 1.0) / positives + of_negatives / (negatives - 1.0) / negatives)


@sums_on_device(lambda sums, **options: summary_of_sums(sums).auc_interval(**options))
@accepts_predictions
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AucTest:
    """Test of the hypothesis that AUC is at most `a0` against the alternative that it is above.

    `p_value` is one-sided. `interval_above` is whether the two-sided interval at the level lies above `a0` as
    a whole: it does if and only if the p-value is below half of 1 less the level.
    """

    auc: float
    a0: float
    z: float | None
    p_value: float
    level: float
    interval_above: bool
    method: str

    def to_dict(self) -> dict[str, float | str | None]:
        """Return the test as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def auc_test(
    auc: float,
    variance: float,
    a0: float,
    *,
    level: float = 0.95,
    positives: float | None = None,
    negatives: float | None = None,
) -> AucTest:
    """Test whether AUC is above `a0`, on the log-odds scale like `auc_interval`.

    `z = (logit A - logit a0) A (1 - A) / se`, and the p-value is the normal tail above it. An AUC of 0 or 1
    has no log-odds: the test is then the exact binomial one for `min(n, m)` disjoint pairs, and the
    class sizes are needed. Assumes independent rows.

    >>> found = auc_test(0.679393481182796, 0.0015401812, 0.6)  # GBSG2, five servers
    >>> round(found.p_value, 3), found.interval_above
    (0.028, False)
    """
    from scipy.special import ndtr

    check_level(level)
    if not 0.0 < a0 < 1.0:
        raise ParameterError(f"a0 must lie strictly between 0 and 1, got {a0!r}")
    if not (0.0 <= auc <= 1.0 and math.isfinite(variance) and variance >= 0.0):
        raise DataError("an AUC lies in [0, 1] and its variance is not negative; check where they come from")
    if at_an_end(auc):
        z, p_value, method = None, _end_tail(auc, a0, positives, negatives), "exact binomial on disjoint pairs"
    elif variance == 0.0:
        raise DataError("an AUC between 0 and 1 without variance cannot be tested: all scores are equal; check them")
    else:
        z = (math.log(auc / (1.0 - auc)) - math.log(a0 / (1.0 - a0))) * auc * (1.0 - auc) / math.sqrt(variance)
        p_value, method = float(ndtr(-z)), "normal, logit"
    above = p_value < (1.0 - level) / 2.0
    return AucTest(auc=auc, a0=a0, z=z, p_value=p_value, level=level, interval_above=above, method=method)


def _end_tail(auc: float, a0: float, positives: float | None, negatives: float | None) -> float:
    """Return the probability that all disjoint pairs are won if all were; 1 if none was."""
    if positives is None or negatives is None:
        raise ParameterError("positives and negatives are needed to test an AUC of 0 or 1; give both class sizes")
    pairs = max(math.floor(min(positives, negatives)), 1)
    return float(a0**pairs) if auc > 0.5 else 1.0


def hanley_mcneil_variance(auc: float, positives: float, negatives: float) -> float:
    """Compute the variance of AUC from its value alone, exact for exponential scores (Hanley & McNeil 1982).

    `[A(1-A) + (n-1)(Q1 - A^2) + (m-1)(Q2 - A^2)] / (n m)`, `Q1 = A/(2-A)`, `Q2 = 2A^2/(1+A)`.
    """
    first, second = auc / (2.0 - auc), 2.0 * auc * auc / (1.0 + auc)
    square = auc * auc
    spread = auc * (1.0 - auc) + (positives - 1.0) * (first - square) + (negatives - 1.0) * (second - square)
    return spread / (positives * negatives)


@accepts_predictions
def hanley_mcneil_interval(counts: ScoreCounts, *, level: float = 0.95, transform: Transform = "logit") -> Interval:
    """An interval for AUC that needs only its value and the class sizes.

    Assumes negative exponential scores in both classes; where the spreads differ much it is off.
    """
    positives, negatives = counts.both_classes()
    auc = auc_score(counts)
    variance = hanley_mcneil_variance(auc, positives, negatives)
    return auc_interval(auc, variance, positives, negatives, level=level, transform=transform, name="Hanley-McNeil")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankSummary:
    """AUC with its DeLong variance, and average precision, from one pass."""

    positives: float
    negatives: float
    auc: float
    auc_variance: float
    average_precision: float

    def auc_interval(self, *, level: float = 0.95, transform: Transform = "logit") -> Interval:
        """Compute the DeLong interval."""
        return auc_interval(
            self.auc, self.auc_variance, self.positives, self.negatives, level=level, transform=transform
        )


def rank_summary(
    labels: ArrayLike | ScoreCounts | Any,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    positive: object = None,
    label: str | None = None,
    score: str | None = None,
) -> RankSummary:
    """Compute AUC, its DeLong variance and average precision together, of counts, of rows or of a table.

    The numbers equal `auc_score`, `delong_variance` and `average_precision_score`; millions of
    unweighted rows are ranked without keeping their counts, which is several times faster. Unweighted arrays on a GPU
    are ranked there, and only sums come back.

    Or give an Ibis table, or the path of a file, and name the columns `label` and `score`. The engine of the table
    ranks its rows, however many distinct scores there are, and only sums leave it; DuckDB sends one range of scores
    after the other to this process.
    """
    if label is not None or score is not None:
        return _summary_of_table(labels, label, score, positive, beside=scores is not None or weights is not None)
    if isinstance(labels, ScoreCounts):
        return _summary_of_counts(labels)
    if scores is None:
        raise ParameterError("scores are needed with labels; or give one ScoreCounts")
    if on_device(scores) and weights is None:
        from confide.sources.device_rows import device_sums

        return summary_of_sums(device_sums(labels, scores, positive=positive))
    from confide.kernels import compiler_installed
    from confide.sources.arrays import RANKED_FROM_ROWS, checked_rows, count_checked

    checked, ranked, weight = checked_rows(labels, scores, weights, positive=positive)
    if weight is not None or ranked.size < RANKED_FROM_ROWS or not compiler_installed():
        return _summary_of_counts(count_checked(checked, ranked, weight))
    from confide.kernels.rows import summarise_rows

    return summary_of_sums(summarise_rows(checked.view(np.uint8), ranked))


_TOO_FEW = "a variance needs at least two rows of each class; add rows, or report the value alone"


def summary_of_sums(sums: RankSums) -> RankSummary:
    """Compute the summary from rank sums."""
    if sums.positives < 2 or sums.negatives < 2:
        raise DataError(_TOO_FEW)
    return RankSummary(
        positives=sums.positives,
        negatives=sums.negatives,
        auc=sums.auc,
        auc_variance=sums.auc_variance,
        average_precision=sums.average_precision,
    )


def _summary_of_table(
    table: Any, label: str | None, score: str | None, positive: object, *, beside: bool
) -> RankSummary:
    from confide.sources.rank_tables import table_sums

    if label is None or score is None or beside:
        raise ParameterError("a table needs both `label` and `score`, the names of its columns, and no arrays beside")
    return summary_of_sums(table_sums(table, label=label, score=score, positive=positive))


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


@accepts_predictions
def binormal_interval(counts: ScoreCounts, *, level: float = 0.95, categories: int = CATEGORIES) -> Interval:
    """Compute an interval for AUC from the binormal curve of greatest likelihood.

    Its ends are `Phi(index -/+ z se)` with the index `a / sqrt(1 + b^2)`, whose standard error follows by the delta
    method. Assumes independent rows, and scores that some increasing transformation makes normal in both classes.
    """
    from scipy.special import ndtr

    fitted = smooth_roc(counts, categories=categories)
    if fitted.index_error is None:
        raise DataError("the fitted curve has no standard error; use `delong_interval`")
    reach = normal_quantile(level) * fitted.index_error
    lower, upper = (float(ndtr(fitted.index + end)) for end in (-reach, reach))
    return Interval(lower=lower, upper=upper, level=level, method="binormal, maximum likelihood")
