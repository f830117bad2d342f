"""Variances of AUC, and covariances of two AUCs, that a study is planned with: no rows, only AUCs and class sizes.

Three models are known. `normal`, the default, is exact for the empirical AUC of normal scores with equal spread in both
classes, and its covariances follow from the correlation of two scores. `hanley-mcneil` is exact for exponential scores.
`obuchowski` is the large-sample variance of the AUC of a fitted binormal curve, which R's pROC uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Protocol

import numpy as np

from confide.counts import FloatArray
from confide.errors import ParameterError, did_you_mean
from confide.intervals.delong import hanley_mcneil_variance

_NODES = 96


class VarianceModel(Protocol):
    """A model of scores that says how precise an AUC is."""

    name: str
    assumption: str

    def variance(self, auc: float, positives: float, negatives: float) -> float:
        """Return the variance of an AUC."""
        ...

    def covariance(
        self, aucs: tuple[float, float], positives: float, negatives: float, correlations: tuple[float, float]
    ) -> float:
        """Return the covariance of two AUCs on the same rows.

        `correlations` are those of the two scores among the positives and among the negatives.
        """
        ...

    def null_variance_of_difference(self, variances: tuple[float, float], covariance: float) -> float:
        """Return the variance of a difference that the test divides by, if the AUCs are equal."""
        ...


class _NormalScores:
    """Empirical AUC of normal scores with the same spread in both classes.

    With `h = Phi^-1(A)` two comparisons that share a row are two standard normals of a known correlation, both of
    which must lie below h. The covariance of two AUCs is `[c(r+ / 2 + r- / 2) + (m - 1) c(r+ / 2) + (n - 1) c(r- / 2)]
    / (n m)`, where `c(r) = Phi2(h1, h2; r) - A1 A2`. The variance is the case of equal scores, `r+ = r- = 1`.
    """

    name = "normal"
    assumption = "Scores are normal with the same spread in both classes; the AUC is the empirical one, as DeLong's."

    def variance(self, auc: float, positives: float, negatives: float) -> float:
        return self.covariance((auc, auc), positives, negatives, (1.0, 1.0))

    def covariance(
        self, aucs: tuple[float, float], positives: float, negatives: float, correlations: tuple[float, float]
    ) -> float:
        ours, theirs = correlations
        both = joint_excess(*aucs, (ours + theirs) / 2.0)
        same_positive, same_negative = joint_excess(*aucs, ours / 2.0), joint_excess(*aucs, theirs / 2.0)
        total = both + (negatives - 1.0) * same_positive + (positives - 1.0) * same_negative
        return total / (positives * negatives)

    def null_variance_of_difference(self, variances: tuple[float, float], covariance: float) -> float:
        """DeLong's test divides by the variance that the rows have, whether or not AUCs are equal."""
        return sum(variances) - 2.0 * covariance


class _ExponentialScores:
    """Hanley and McNeil's variance. It knows no covariance."""

    name = "hanley-mcneil"
    assumption = "Hanley and McNeil's variance: scores are exponential."

    def variance(self, auc: float, positives: float, negatives: float) -> float:
        return hanley_mcneil_variance(auc, positives, negatives)

    def covariance(
        self, aucs: tuple[float, float], positives: float, negatives: float, correlations: tuple[float, float]
    ) -> float:
        raise ParameterError(
            "`variance=hanley-mcneil` does not say how correlated AUCs are if scores are; give `auc_correlation` "
            "instead of `correlation`, or `variance=normal`"
        )

    def null_variance_of_difference(self, variances: tuple[float, float], covariance: float) -> float:
        return sum(variances) - 2.0 * covariance


class _Obuchowski:
    """Area under a binormal curve of slope 1, in large samples, as published [1]_ and as in pROC.

    With `A = Phi^-1(AUC) sqrt(2)` and `k` negatives for each positive, `n V = e^(-A^2 / 2) [5 A^2 + 8 + (A^2 + 8) / k]
    / (32 pi)` and `n C = e^(-(A1^2 + A2^2) / 4) [8 (r+ + r- / k) + A1 A2 (r+^2 + r-^2 / k)] / (32 pi)`. The variance
    leaves out the covariance of the curve's intercept and slope; with it, `4 A^2` fewer, the two would agree at r = 1.
    So it is too large, more so the higher AUC is: studies planned by it have more power than they say.

    References
    ----------
    .. [1] N. Obuchowski and D. McClish, "Sample size determination for diagnostic accuracy studies involving binormal
       ROC curve indices", Statistics in Medicine 16, 1997.

    """

    name = "obuchowski"
    assumption = "Obuchowski's variance, as in R's pROC: a binormal curve of slope 1. It asks for too many rows."

    def variance(self, auc: float, positives: float, negatives: float) -> float:
        square = 2.0 * _quantile(auc) ** 2
        spread = 5.0 * square + 8.0 + (square + 8.0) * positives / negatives
        return math.exp(-square / 2.0) * spread / (32.0 * math.pi * positives)

    def covariance(
        self, aucs: tuple[float, float], positives: float, negatives: float, correlations: tuple[float, float]
    ) -> float:
        first, second = (math.sqrt(2.0) * _quantile(auc) for auc in aucs)
        (ours, theirs), ratio = correlations, positives / negatives
        spread = 8.0 * (ours + theirs * ratio) + first * second * (ours**2 + theirs**2 * ratio)
        return math.exp(-(first**2 + second**2) / 4.0) * spread / (32.0 * math.pi * positives)

    def null_variance_of_difference(self, variances: tuple[float, float], covariance: float) -> float:
        """Take both AUCs to be the first one, as pROC does."""
        return 2.0 * variances[0] - 2.0 * covariance


VARIANCES: Mapping[str, VarianceModel] = MappingProxyType(
    {model.name: model for model in (_NormalScores(), _ExponentialScores(), _Obuchowski())}
)


def variance_model(name: str) -> VarianceModel:
    """Look a model of the variance up by its name."""
    if name not in VARIANCES:
        known = ", ".join(VARIANCES)
        raise ParameterError(
            f"`variance` must be one of {known}; got {name!r}. {did_you_mean(name, VARIANCES)}".strip()
        )
    return VARIANCES[name]


def joint_excess(first: float, second: float, correlation: float) -> float:
    """`P(U < h1, V < h2) - A1 A2` for standard normals of a correlation, where `hi = Phi^-1(Ai)`.

    It is the integral of `exp(-(h1^2 + h2^2 - 2 h1 h2 sin t) / (2 cos^2 t)) / (2 pi)` over t from 0 to the arcsine of
    the correlation (Drezner & Wesolowsky 1990), by Gauss-Legendre quadrature. Nothing cancels.

    >>> round(joint_excess(0.8, 0.8, 1.0), 12)  # A (1 - A)
    0.16
    """
    h1, h2 = _quantile(first), _quantile(second)
    nodes, weights = _legendre()
    reach = math.asin(correlation)
    angles = (nodes + 1.0) * (reach / 2.0)
    # At a correlation of 1 with unequal AUCs the integrand falls to 0 so fast that no node sees the pole.
    exponent = (h1 - h2) ** 2 / (2.0 * np.cos(angles) ** 2) + h1 * h2 / (1.0 + np.sin(angles))
    return float(np.dot(weights, np.exp(-exponent)) * reach / (4.0 * math.pi))


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _quantile(auc: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(auc))
