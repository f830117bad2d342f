"""Power of tests about AUC, and the variances that a study is planned with.

Three models are known. `normal`, the default, is exact for the empirical AUC of normal scores with equal spread in both
classes, and its covariances follow from the correlation of two scores. `hanley-mcneil` is exact for exponential scores.
`obuchowski` is the large-sample variance of the AUC of a fitted binormal curve, which R's pROC uses.

The power is the chance that a test at a level rejects: `Phi((|difference| - z s0) / s1)`, where `s0` is the standard
error if the hypothesis holds, `s1` the one at the AUCs that are expected, and z the normal quantile of the level. The
other, far tail of a two-sided test is left out, as usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Protocol

import numpy as np

from confide.counts import FloatArray
from confide.errors import ParameterError, did_you_mean
from confide.intervals.delong import hanley_mcneil_variance
from confide.intervals.interval import check_level, normal_quantile

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AucDesign:
    """A study that estimates one AUC, or tests it against `null`.

    With normal scores, the power is that of `auc_test`, and of the question whether `delong_interval` holds `null`.

    >>> design = AucDesign(auc=0.8, null=0.7, prevalence=0.3)
    >>> round(design.power(295), 2)
    0.9
    """

    auc: float
    prevalence: float
    null: float | None = None
    level: float = 0.95
    one_sided: bool = False
    variance: str = "normal"

    def __post_init__(self) -> None:
        check_share("auc", self.auc, 0.8)
        check_share("prevalence", self.prevalence, 0.2)
        check_level(self.level)
        variance_model(self.variance)
        if self.null is not None:
            check_share("null", self.null, 0.5)
            if self.null == self.auc:
                raise ParameterError("`null` must differ from `auc`: no number of rows shows a difference of 0")

    def standard_error(self, rows: float) -> float:
        """Return the expected standard error of AUC."""
        return math.sqrt(self._variance(self.auc, rows))

    def width(self, rows: float) -> float:
        """Return the width of the interval `AUC -/+ z se`; that on the log-odds scale is nearly the same."""
        return 2.0 * normal_quantile(self.level) * self.standard_error(rows)

    def power(self, rows: float) -> float | None:
        """Return the power against `null`; None if there is none."""
        if self.null is None:
            return None
        errors = math.sqrt(self._variance(self.null, rows)), self.standard_error(rows)
        return _power(self.auc - self.null, *errors, self.level, self.one_sided)

    def _variance(self, auc: float, rows: float) -> float:
        return variance_model(self.variance).variance(auc, *class_sizes(rows, self.prevalence))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDesign:
    """A study that compares two AUCs, on the same rows or on two samples of `rows` rows each.

    `correlation` is that of the two scores within each class: one number, or first that of the positives and then that
    of the negatives. `auc_correlation` is that of the two estimated AUCs, from an earlier comparison; it replaces
    `correlation`.

    >>> design = ComparisonDesign(aucs=(0.8, 0.75), prevalence=0.3, correlation=0.5)
    >>> round(design.power(1_000), 2)
    0.86
    """

    aucs: tuple[float, float]
    prevalence: float
    paired: bool = True
    correlation: float | tuple[float, float] | None = None
    auc_correlation: float | None = None
    level: float = 0.95
    one_sided: bool = False
    variance: str = "normal"

    def __post_init__(self) -> None:
        for auc in self.aucs:
            check_share("auc", auc, 0.8)
        check_share("prevalence", self.prevalence, 0.2)
        check_level(self.level)
        variance_model(self.variance)
        self._check_pairing()
        if self.aucs[0] == self.aucs[1]:
            raise ParameterError("the two values of `auc` must differ: no number of rows shows a difference of 0")
        if self._variances(1_000.0)[1] <= 0.0:
            raise ParameterError(
                "these AUCs cannot have so large a correlation: their difference would have no variance; give a "
                f"smaller {'`correlation`' if self.auc_correlation is None else '`auc_correlation`'}"
            )

    def standard_error(self, rows: float) -> float:
        """Return the expected standard error of the difference."""
        return math.sqrt(self._variances(rows)[1])

    def width(self, rows: float) -> float:
        """Return the width of the interval of the difference."""
        return 2.0 * normal_quantile(self.level) * self.standard_error(rows)

    def power(self, rows: float) -> float:
        """Return the power of the test that both AUCs are equal."""
        null, expected = self._variances(rows)
        errors = math.sqrt(max(null, 0.0)), math.sqrt(expected)
        return _power(self.aucs[0] - self.aucs[1], *errors, self.level, self.one_sided)

    def _variances(self, rows: float) -> tuple[float, float]:
        """Return the variances of the difference if AUCs are equal, and as they are expected."""
        model, sizes = variance_model(self.variance), class_sizes(rows, self.prevalence)
        first, second = (model.variance(auc, *sizes) for auc in self.aucs)
        shared = self._covariance(model, sizes, (first, second))
        return model.null_variance_of_difference((first, second), shared), first + second - 2.0 * shared

    def _covariance(self, model: VarianceModel, sizes: tuple[float, float], variances: tuple[float, float]) -> float:
        if not self.paired:
            return 0.0
        if self.auc_correlation is not None:
            return self.auc_correlation * math.sqrt(variances[0] * variances[1])
        return model.covariance(self.aucs, *sizes, self._correlations)

    @property
    def _correlations(self) -> tuple[float, float]:
        given = self.correlation
        if given is None:
            raise ParameterError("give `correlation`, of the two scores within a class, or `auc_correlation`")
        return given if isinstance(given, tuple) else (given, given)

    def _check_pairing(self) -> None:
        given = [name for name in ("correlation", "auc_correlation") if getattr(self, name) is not None]
        if not self.paired and given:
            raise ParameterError(f"`{given[0]}` is for the same rows; leave it out, or leave out `unpaired`")
        if self.paired and len(given) != 1:
            raise ParameterError(
                "a comparison on the same rows needs either `correlation`, of the two scores within a class, or "
                "`auc_correlation`; for two samples of other rows give `unpaired`"
            )
        values = self._correlations if self.correlation is not None else (self.auc_correlation or 0.0,)
        for value in values:
            if not -1.0 < value < 1.0:
                raise ParameterError(f"`{given[0]}` must lie strictly between -1 and 1, for example 0.5; got {value!r}")


def class_sizes(rows: float, prevalence: float) -> tuple[float, float]:
    """Return the expected numbers of positives and negatives; a class has at least one row."""
    return max(rows * prevalence, 1.0), max(rows * (1.0 - prevalence), 1.0)


def check_share(name: str, value: object, example: float) -> float:
    """Refuse a number that does not lie strictly between 0 and 1."""
    if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and 0.0 < value < 1.0):
        raise ParameterError(f"`{name}` must lie strictly between 0 and 1, for example {example:g}; got {value!r}")
    return float(value)


def _power(difference: float, null_error: float, error: float, level: float, one_sided: bool) -> float:
    from scipy.special import ndtr, ndtri

    reach = float(ndtri(level)) if one_sided else normal_quantile(level)
    return float(ndtr((abs(difference) - reach * null_error) / error))
