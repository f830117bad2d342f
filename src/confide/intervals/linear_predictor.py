"""Distributions of a model's linear predictor (log-odds of its risks) that a validation is planned with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import ParameterError

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
