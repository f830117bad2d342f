"""Rubin's rules: one estimate from those of several imputed data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.errors import DataError, ParameterError
from confide.intervals.interval import Estimate, Interval, Scale, check_level, student_quantile

_LEAST_LAMBDA = 1e-4  # below it the degrees of freedom are as good as infinite


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """Value pooled over imputed data sets, on the scale on which it was pooled.

    `within` is the mean variance, `between` the variance of the values, `missing_information` the share of the
    information that the missing values took away.
    """

    value: float
    within: float
    between: float
    variance: float
    degrees_of_freedom: float
    missing_information: float


def rubin(values: Sequence[float], variances: Sequence[float], *, complete_degrees: float = math.inf) -> Pooled:
    """Pool values and their variances over imputed data sets.

    The variance is `U + (1 + 1/m) B`, with `U` the mean variance and `B` the variance of the `m` values.
    `complete_degrees` are the degrees of freedom that a complete data set would have; with them the degrees of freedom
    are Barnard and Rubin's, else Rubin's `(m - 1) / lambda^2`, `lambda = (1 + 1/m) B / T`. As in R's mice, lambda is at
    least 1e-4.

    References: Rubin (1987), Multiple Imputation for Nonresponse in Surveys, section 3.1; Barnard & Rubin (1999),
    Biometrika 86:948.

    >>> found = rubin([0.52, 0.48, 0.57], [0.010, 0.011, 0.009])
    >>> round(found.value, 4), round(found.variance, 6)
    (0.5233, 0.012711)
    """
    sets = len(values)
    if sets < 2 or len(variances) != sets:
        raise ParameterError("pooling needs the values and variances of at least two imputed data sets")
    within, between = float(np.mean(variances)), float(np.var(values, ddof=1))
    added = (1.0 + 1.0 / sets) * between
    total = within + added
    if not (math.isfinite(total) and total > 0.0):
        raise DataError("estimates without variance cannot be pooled; use estimates with standard errors, or add rows")
    share = max(added / total, _LEAST_LAMBDA)
    degrees = (sets - 1.0) / share**2
    if math.isfinite(complete_degrees):
        observed = (complete_degrees + 1.0) / (complete_degrees + 3.0) * complete_degrees * (1.0 - share)
        degrees = degrees * observed / (degrees + observed)
    relative = added / within if within > 0.0 else math.inf
    missing = (relative + 2.0 / (degrees + 3.0)) / (relative + 1.0) if math.isfinite(relative) else 1.0
    return Pooled(
        value=float(np.mean(values)),
        within=within,
        between=between,
        variance=total,
        degrees_of_freedom=degrees,
        missing_information=missing,
    )


def pool(estimates: Sequence[Estimate], *, scale: Scale, level: float = 0.95, rows: int | None = None) -> Estimate:
    """Pool estimates of one metric, one from each imputed data set, by Rubin's rules on a scale.

    `scale` is that of `natural_scale`: log-odds for areas and shares, logarithms for ratios, the plain one for others.
    Values and standard errors are brought to the scale, pooled, and brought back. `rows` is the number of rows of one
    data set; with it the interval uses Barnard and Rubin's degrees of freedom. Assumes proper imputations.
    """
    check_level(level)
    values, variances = [], []
    for estimate in estimates:
        if not scale.inside(estimate.value):
            raise DataError(f"an estimate lies at the end of the {scale.name} scale; pool on the plain scale")
        if estimate.standard_error is None:
            raise DataError("an estimate without standard error cannot be pooled; use one that has it, or add rows")
        values.append(scale.forward(estimate.value))
        variances.append((estimate.standard_error * scale.derivative(estimate.value)) ** 2)
    pooled = rubin(values, variances, complete_degrees=math.inf if rows is None else rows - 1.0)
    error = math.sqrt(pooled.variance)
    reach = student_quantile(pooled.degrees_of_freedom, level) * error
    value = scale.backward(pooled.value)
    return Estimate(
        value=value,
        standard_error=error / scale.derivative(value),
        interval=Interval(
            lower=scale.backward(pooled.value - reach),
            upper=scale.backward(pooled.value + reach),
            level=level,
            method=f"Rubin's rules{scale.suffix}",
        ),
    )
