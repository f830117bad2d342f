"""Interval for the area under a smooth, binormal ROC curve."""

from __future__ import annotations

from confide.counts import ScoreCounts
from confide.curves.binormal_roc import CATEGORIES, smooth_roc
from confide.errors import DataError
from confide.intervals.interval import Interval, normal_quantile
from confide.predictions import accepts_predictions


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
