"""Standard error of AUC from sampling, for intervals that know AUC and the class sizes alone."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri, owens_t

from confide.counts import FloatArray

SPREAD_RATIO = 1.5
"""Largest ratio of the classes' spreads of normal scores."""

_CORRELATIONS = (SPREAD_RATIO**2 / (1.0 + SPREAD_RATIO**2), 1.0 / (1.0 + SPREAD_RATIO**2))


def auc_spread(theta: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the largest standard error of AUC at theta among families of scores.

    The families are normal scores whose spreads differ by at most `SPREAD_RATIO`, and exponential ones [1]_. The
    variance is `[A(1-A) + (n-1)(Q1 - A^2) + (m-1)(Q2 - A^2)] / (n m)` with `Q1` the chance that two positives outscore
    one negative and `Q2` that one positive outscores two negatives. Either class may be the one that spreads more: the
    worse of the two counts. An absent class counts as one row.

    AUC and class sizes do not tell the families apart, so an interval that is to cover in each must be wide enough for
    the worst. With the rows known and no noise, 95 % intervals cover 93.5-96 % in the worst family of each setting
    (50 to 5,000 rows, prevalence 0.05 to 0.8, AUC 0.55 to 0.98; normal scores with spreads 1, 1.5 and 0.67,
    exponential scores, normal scores rounded to five levels). Normal scores of equal spread pay for it: where one class
    is small the standard error is 1.2 (AUC 0.8), 1.35 (0.9), 1.5 (0.95) and 1.75 times (0.98) theirs; where classes are
    balanced 1.02, 1.07, 1.14 and 1.3 times.

    References
    ----------
    .. [1] J. Hanley and B. McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
       curve", Radiology 143, 1982.

    """
    n, m = np.maximum(positives, 1.0), np.maximum(negatives, 1.0)
    few, many = np.minimum(n, m) - 1.0, np.maximum(n, m) - 1.0
    wide, narrow = (_normal_excess(theta, share) for share in _CORRELATIONS)
    larger, smaller = _exponential_excess(theta)
    worst = np.maximum(many * wide + few * narrow, many * larger + few * smaller)
    deviation: FloatArray = np.sqrt(np.clip((theta * (1.0 - theta) + worst) / (n * m), 0.0, None))
    return deviation


def _normal_excess(theta: FloatArray, correlation: float) -> FloatArray:
    """`Q - theta^2`, where Q is the chance that two standard normals of a correlation both lie below z(theta)."""
    with np.errstate(invalid="ignore"):
        both = theta - 2.0 * owens_t(ndtri(theta), math.sqrt((1.0 - correlation) / (1.0 + correlation)))
    excess: FloatArray = np.where((theta > 0.0) & (theta < 1.0), both - theta * theta, 0.0)
    return excess


def _exponential_excess(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the larger and the smaller of `Q1 - theta^2` and `Q2 - theta^2` for exponential scores."""
    first, second = theta / (2.0 - theta) - theta**2, 2.0 * theta**2 / (1.0 + theta) - theta**2
    return np.maximum(first, second), np.minimum(first, second)
