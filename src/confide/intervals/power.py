"""Power of tests about AUC: one against a fixed value, or two against each other; and widths of their intervals.

The power is the chance that a test at a level rejects: `Phi((|difference| - z s0) / s1)`, where `s0` is the standard
error if the hypothesis holds, `s1` the one at the AUCs that are expected, and z the normal quantile of the level. The
other, far tail of a two-sided test is left out, as usual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.errors import ParameterError
from confide.intervals.auc_design import VarianceModel, variance_model
from confide.intervals.interval import check_level, normal_quantile


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
