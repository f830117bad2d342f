"""Rows that the external validation of a model needs.

Each criterion asks that the interval of one measure is no wider than stated: observed : expected, calibration slope,
c-statistic (AUC), and, at a threshold, standardised net benefit. The largest number of rows is the answer [1]_.

References
----------
.. [1] R. Riley et al., "Minimum sample size for external validation of a clinical prediction model with a binary
   outcome", Statistics in Medicine 40, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import check_level, normal_quantile
from confide.intervals.power import check_share
from confide.intervals.sample_size import SCHEMA, check_width, checked_rows, least_rows

_PANELS, _NODES = 128, 16
_REACH = 12.0  # standard deviations beyond which a normal density does not count
_DECAY = 45.0  # exponential tails are cut where they have fallen by e^-45

Function = Callable[[FloatArray], FloatArray]


class LinearPredictor(Protocol):
    """A distribution of log-odds. The model is taken to be calibrated: a row with log-odds x is positive at `p(x)`."""

    @property
    def words(self) -> str:
        """Describe the distribution in words."""
        ...

    def expectation(self, function: Function, lower: float = -math.inf, upper: float = math.inf) -> float:
        """Integrate a function of the log-odds over [lower, upper)."""
        ...


@dataclass(frozen=True, slots=True)
class NormalPredictor:
    """Log-odds with a normal distribution."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.mean):
            raise ParameterError(f"`lp_mean` must be a finite number, got {self.mean!r}")
        if not 0.0 < self.deviation < math.inf:
            raise ParameterError(f"`lp_sd` must be a positive number, got {self.deviation!r}")

    @property
    def words(self) -> str:
        """Describe the distribution in words."""
        return f"normal with mean {self.mean:g} and standard deviation {self.deviation:g}"

    def expectation(self, function: Function, lower: float = -math.inf, upper: float = math.inf) -> float:
        """Integrate a function of the log-odds over [lower, upper)."""
        reach = _REACH * self.deviation
        ends = max(lower, self.mean - reach), min(upper, self.mean + reach)
        return _integral(lambda x: function(x) * _normal_density(x, self.mean, self.deviation), *ends)


@dataclass(frozen=True, slots=True)
class BetaRisks:
    """Risks with a beta distribution."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not (0.0 < self.alpha < math.inf and 0.0 < self.beta < math.inf):
            raise ParameterError(f"`risk_beta` must be two positive numbers, got {(self.alpha, self.beta)!r}")

    @property
    def words(self) -> str:
        """Describe the distribution in words."""
        return f"that of risks with a beta distribution ({self.alpha:g}, {self.beta:g})"

    def expectation(self, function: Function, lower: float = -math.inf, upper: float = math.inf) -> float:
        """Integrate a function of the log-odds over [lower, upper)."""
        centre = math.log(self.alpha / self.beta)
        spread = _REACH * math.sqrt(1.0 / self.alpha + 1.0 / self.beta)
        low, high = centre - spread - _DECAY / self.alpha, centre + spread + _DECAY / self.beta
        return _integral(lambda x: function(x) * self._density(x), max(lower, low), min(upper, high))

    def _density(self, x: FloatArray) -> FloatArray:
        """Density of the log-odds, `p^a (1 - p)^b / B(a, b)`."""
        from scipy.special import betaln

        with_log = -self.alpha * np.logaddexp(0.0, -x) - self.beta * np.logaddexp(0.0, x)
        density: FloatArray = np.exp(with_log - betaln(self.alpha, self.beta))
        return density


@dataclass(frozen=True, slots=True)
class NormalClasses:
    """Log-odds that are normal with the same spread in both classes, from AUC and prevalence alone.

    With the variance `v = 2 Phi^-1(AUC)^2` and class means that differ by v, the AUC is the stated one. The model is
    calibrated if the negatives' mean is `logit(prevalence) - v / 2`.
    """

    auc: float
    prevalence: float

    @property
    def words(self) -> str:
        """Describe the distribution in words."""
        return f"normal with equal spread in both classes, as AUC {self.auc:g} and prevalence {self.prevalence:g} imply"

    @property
    def variance(self) -> float:
        """Variance within a class."""
        from scipy.special import ndtri

        return float(2.0 * ndtri(self.auc) ** 2)

    def expectation(self, function: Function, lower: float = -math.inf, upper: float = math.inf) -> float:
        """Integrate a function of the log-odds over [lower, upper)."""
        deviation = math.sqrt(self.variance)
        centre = math.log(self.prevalence / (1.0 - self.prevalence))
        below, above = centre - self.variance / 2.0, centre + self.variance / 2.0
        ends = max(lower, below - _REACH * deviation), min(upper, above + _REACH * deviation)

        def weighted(x: FloatArray) -> FloatArray:
            ours, theirs = (_normal_density(x, mean, deviation) for mean in (above, below))
            return function(x) * (self.prevalence * ours + (1.0 - self.prevalence) * theirs)

        return _integral(weighted, *ends)


class ObservedRisks:
    """Risks of an earlier sample, each as likely as the others."""

    __slots__ = ("_log_odds",)

    def __init__(self, risks: ArrayLike) -> None:
        values = np.asarray(risks, dtype=np.float64)
        if values.ndim != 1 or values.size < 2 or not ((values > 0.0) & (values < 1.0)).all():
            raise ParameterError("`risks` must hold two or more probabilities, strictly between 0 and 1")
        if values.min() == values.max():
            raise ParameterError(
                "`risks` are all equal, so no calibration slope exists; give a sample with different risks"
            )
        self._log_odds = np.log(values) - np.log1p(-values)

    @property
    def words(self) -> str:
        """Describe the distribution in words."""
        return f"that of {self._log_odds.size:,} given risks"

    def expectation(self, function: Function, lower: float = -math.inf, upper: float = math.inf) -> float:
        """Integrate a function of the log-odds over [lower, upper)."""
        x = self._log_odds
        return float(np.sum(function(x), where=(x >= lower) & (x < upper)) / x.size)


def risk(log_odds: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds."""
    from scipy.special import expit

    result: FloatArray = expit(log_odds)
    return result


def information(predictor: LinearPredictor) -> tuple[float, float, float]:
    """Return a row's expected information on calibration intercept and slope, at 0 and 1: `E[p (1 - p) x^k]`."""

    def weight(x: FloatArray) -> FloatArray:
        return risk(x) * risk(-x)

    return (
        predictor.expectation(weight),
        predictor.expectation(lambda x: x * weight(x)),
        predictor.expectation(lambda x: x * x * weight(x)),
    )


def implied_prevalence(predictor: LinearPredictor) -> float:
    """Return the prevalence if the model is calibrated, the mean risk."""
    return predictor.expectation(risk)


def implied_rates(predictor: LinearPredictor, threshold: float) -> tuple[float, float]:
    """Return sensitivity and specificity of calling risks of at least `threshold` positive, if it is calibrated."""
    cut = math.log(threshold / (1.0 - threshold))
    prevalence = implied_prevalence(predictor)
    caught = predictor.expectation(risk, lower=cut)
    spared = predictor.expectation(lambda x: risk(-x), upper=cut)
    return caught / prevalence, spared / (1.0 - prevalence)


def _normal_density(x: FloatArray, mean: float, deviation: float) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * math.sqrt(2.0 * math.pi))
    return density


def _integral(function: Function, lower: float, upper: float) -> float:
    """Integrate by Gauss-Legendre quadrature on equal panels; an interval that is empty has no integral."""
    if not upper > lower:
        return 0.0
    nodes, weights = _panels()
    return float(np.dot(weights, function(lower + nodes * (upper - lower))) * (upper - lower))


@cache
def _panels() -> tuple[FloatArray, FloatArray]:
    """Return nodes in [0, 1] and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    inner = (nodes + 1.0) / 2.0
    return (np.arange(_PANELS)[:, None] + inner).ravel() / _PANELS, np.tile(weights / 2.0, _PANELS) / _PANELS


_AGREES = 0.1  # relative difference of prevalences that is not worth a note


class Measure(Protocol):
    """A measure whose precision follows from the number of rows."""

    @property
    def name(self) -> str:
        """Name of the measure, as in the registry of metrics."""
        ...

    @property
    def value(self) -> float:
        """Expected value."""
        ...

    def standard_error(self, rows: float) -> float:
        """Return the expected standard error."""
        ...

    def width(self, rows: float, z: float) -> float:
        """Return the width of an interval that reaches z standard errors to each side."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObservedExpected:
    """O:E, on the log scale: `se = sqrt((1 - prevalence) / (rows prevalence))`."""

    value: float
    prevalence: float
    name: str = "observed_expected"

    def standard_error(self, rows: float) -> float:
        """Standard error of the logarithm."""
        return math.sqrt((1.0 - self.prevalence) / (self.prevalence * rows))

    def width(self, rows: float, z: float) -> float:
        return 2.0 * self.value * math.sinh(z * self.standard_error(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slope:
    """Calibration slope of a calibrated model, from the expected information of a row."""

    information: tuple[float, float, float]
    value: float = 1.0
    name: str = "calibration_slope"

    def standard_error(self, rows: float) -> float:
        of_intercept, mixed, of_slope = self.information
        return math.sqrt(of_intercept / (of_intercept * of_slope - mixed * mixed) / rows)

    def width(self, rows: float, z: float) -> float:
        return 2.0 * z * self.standard_error(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CStatistic:
    """AUC, by Newcombe's variance: Hanley and McNeil's, with the mean class size for both of theirs."""

    value: float
    prevalence: float
    name: str = "auc"

    def standard_error(self, rows: float) -> float:
        c, others = self.value, rows / 2.0 - 1.0
        spread = 1.0 + others * (1.0 - c) / (2.0 - c) + others * c / (1.0 + c)
        return math.sqrt(c * (1.0 - c) * spread / (self.prevalence * (1.0 - self.prevalence))) / rows

    def width(self, rows: float, z: float) -> float:
        return 2.0 * z * self.standard_error(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NetBenefit:
    """Standardised net benefit, `sensitivity - w (1 - specificity)`: net benefit over its maximum, the prevalence.

    `w` is the odds of the threshold over those of the prevalence.
    """

    sensitivity: float
    specificity: float
    threshold: float
    prevalence: float
    name: str = "standardised_net_benefit"

    @property
    def weight(self) -> float:
        """Odds of the threshold over the odds of the prevalence."""
        return (1.0 - self.prevalence) / self.prevalence * self.threshold / (1.0 - self.threshold)

    @property
    def value(self) -> float:
        return self.sensitivity - self.weight * (1.0 - self.specificity)

    def standard_error(self, rows: float) -> float:
        false, share = 1.0 - self.specificity, self.prevalence
        of_positives = self.sensitivity * (1.0 - self.sensitivity) / share
        of_negatives = self.specificity * false / (1.0 - share) + false * false / (share * (1.0 - share))
        return math.sqrt((of_positives + self.weight**2 * of_negatives) / rows)

    def width(self, rows: float, z: float) -> float:
        return 2.0 * z * self.standard_error(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One measure of a validation: its expected value, the width that is wanted, and the rows that it needs.

    `standard_error` and `width` are those with the rows of the whole plan.
    """

    measure: str
    value: float
    wanted_width: float
    rows: int
    standard_error: float
    width: float

    def to_dict(self) -> dict[str, Any]:
        """Return the criterion as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPlan:
    """Rows of an external validation, criterion by criterion.

    `rows` is the largest number that a criterion needs, or the number that was given; `enough` is whether it meets all.
    """

    prevalence: float
    auc: float
    level: float
    rows: int
    given: bool
    criteria: tuple[Criterion, ...]
    predictor: str
    notes: tuple[str, ...]

    @property
    def needed(self) -> int:
        """Rows that meet all criteria."""
        return max(one.rows for one in self.criteria)

    @property
    def enough(self) -> bool:
        """Return whether the rows meet all criteria."""
        return self.rows >= self.needed

    @property
    def positives(self) -> int:
        """Expected positives, rounded up."""
        return math.ceil(self.rows * self.prevalence)

    @property
    def decisive(self) -> Criterion:
        """Criterion that needs most rows."""
        return max(self.criteria, key=lambda one: one.rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the plan."""
        return (
            f"The linear predictor is {self.predictor}; the model is calibrated (slope 1) where it is validated.",
            "Rows are independent. Intervals: O:E on the log scale, the others value -/+ z standard errors.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "schema": SCHEMA,
            "question": "validation",
            "prevalence": self.prevalence,
            "auc": self.auc,
            "level": self.level,
            "rows": self.rows,
            "positives": self.positives,
            "rows_needed": self.needed,
            "enough": self.enough,
            "criteria": [one.to_dict() for one in self.criteria],
            "linear_predictor": self.predictor,
            "notes": list(self.notes),
            "assumptions": list(self.assumptions),
        }


def validation_sample_size(
    *,
    prevalence: float,
    auc: float,
    lp_mean: float | None = None,
    lp_sd: float | None = None,
    risk_beta: tuple[float, float] | None = None,
    risks: ArrayLike | None = None,
    oe: float = 1.0,
    oe_width: float = 0.2,
    slope_width: float = 0.2,
    auc_width: float = 0.1,
    threshold: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    net_benefit_width: float = 0.2,
    level: float = 0.95,
    rows: int | None = None,
) -> ValidationPlan:
    """Find the rows that an external validation needs, or what a number of `rows` gives.

    Parameters
    ----------
    prevalence, auc
        The share of positives and the AUC that are expected where the model is validated.
    lp_mean, lp_sd, risk_beta, risks
        The distribution of the linear predictor: normal; or risks with a beta distribution; or risks of an earlier
        sample. Without them, scores are normal with equal spread in both classes, as `auc` and `prevalence` imply.
    oe, oe_width, slope_width, auc_width
        The expected O:E, and the widths that the intervals of O:E, calibration slope and AUC should have.
    threshold, sensitivity, specificity, net_benefit_width
        With a threshold, the width that the interval of standardised net benefit should have. The rates follow from the
        linear predictor unless they are given.

    >>> plan = validation_sample_size(prevalence=0.018, auc=0.8, lp_mean=-5, lp_sd=2.5, oe_width=1)
    >>> [one.rows for one in plan.criteria], plan.rows
    ([906, 4554, 4252], 4554)
    """
    check_share("prevalence", prevalence, 0.2)
    check_share("auc", auc, 0.8)
    check_width("oe", oe)
    z = normal_quantile(check_level(level))
    predictor = _predictor(prevalence, auc, lp_mean, lp_sd, risk_beta, risks)
    rates = _rates(predictor, threshold, sensitivity, specificity)
    wanted: list[tuple[Measure, str, float]] = [
        (_ObservedExpected(value=float(oe), prevalence=prevalence), "oe_width", oe_width),
        (_Slope(information=information(predictor)), "slope_width", slope_width),
        (_CStatistic(value=auc, prevalence=prevalence), "auc_width", auc_width),
    ]
    if threshold is not None and rates is not None:
        benefit = _NetBenefit(sensitivity=rates[0], specificity=rates[1], threshold=threshold, prevalence=prevalence)
        wanted.append((benefit, "net_benefit_width", net_benefit_width))
    needs = [_needed_rows(measure, check_width(name, width), prevalence, z) for measure, name, width in wanted]
    planned = max(needs) if rows is None else checked_rows(rows)
    return ValidationPlan(
        prevalence=prevalence,
        auc=auc,
        level=level,
        rows=planned,
        given=rows is not None,
        criteria=tuple(
            Criterion(
                measure=measure.name,
                value=measure.value,
                wanted_width=float(width),
                rows=need,
                standard_error=measure.standard_error(planned),
                width=measure.width(planned, z),
            )
            for (measure, _, width), need in zip(wanted, needs, strict=True)
        ),
        predictor=predictor.words,
        notes=tuple(_notes(predictor, prevalence)),
    )


def _needed_rows(measure: Measure, width: float, prevalence: float, z: float) -> int:
    return least_rows(lambda rows: measure.width(rows, z) <= width, prevalence=prevalence)


def _predictor(
    prevalence: float,
    auc: float,
    mean: float | None,
    deviation: float | None,
    beta: tuple[float, float] | None,
    risks: ArrayLike | None,
) -> LinearPredictor:
    normal = mean is not None or deviation is not None
    if normal + (beta is not None) + (risks is not None) > 1:
        raise ParameterError("give one distribution: `lp_mean` with `lp_sd`, or `risk_beta`, or `risks`")
    if beta is not None:
        return BetaRisks(*beta)
    if risks is not None:
        return ObservedRisks(risks)
    if mean is not None and deviation is not None:
        return NormalPredictor(mean, deviation)
    if normal:
        raise ParameterError("`lp_mean` and `lp_sd` belong together; give both, or neither")
    if auc <= 0.5:
        raise ParameterError(
            "`auc` must be above 0.5 to imply a linear predictor; give `lp_mean` and `lp_sd`, or `risk_beta`"
        )
    return NormalClasses(auc, prevalence)


def _rates(
    predictor: LinearPredictor, threshold: float | None, sensitivity: float | None, specificity: float | None
) -> tuple[float, float] | None:
    given = [name for name, rate in (("sensitivity", sensitivity), ("specificity", specificity)) if rate is not None]
    if threshold is None:
        if given:
            raise ParameterError(
                f"`{given[0]}` is for net benefit, which needs a `threshold`; give it, for example 0.1"
            )
        return None
    check_share("threshold", threshold, 0.1)
    if len(given) == 1:
        raise ParameterError("`sensitivity` and `specificity` belong together; give both, or neither")
    if sensitivity is None or specificity is None:
        return implied_rates(predictor, threshold)
    return check_share("sensitivity", sensitivity, 0.8), check_share("specificity", specificity, 0.8)


def _notes(predictor: LinearPredictor, prevalence: float) -> Iterator[str]:
    implied = implied_prevalence(predictor)
    if abs(implied - prevalence) > _AGREES * prevalence:
        yield (
            f"A calibrated model with this linear predictor would have prevalence {implied:.3g}, not the stated "
            f"{prevalence:g}. Check its mean and spread."
        )
