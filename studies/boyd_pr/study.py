"""What the simulated samples show: bias and error of estimators, and coverage, width and place of intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from confide.counts import FloatArray
from studies.boyd_pr.kernels import ESTIMATORS as RECOMMENDED
from studies.boyd_pr.plan import FOLDS, LEVEL, PREVALENCE_ROWS, Setting, Settings
from studies.boyd_pr.running import ALL_ESTIMATORS
from studies.boyd_pr.scenarios import Scenario
from studies.claims import Mean
from studies.store import Arrays

Method = Literal["binomial", "logit", "bootstrap", "cross-validation", "cross-validation, t"]
METHODS: tuple[Method, ...] = ("binomial", "logit", "bootstrap", "cross-validation")
"""Methods of the dissertation. Its cross-validation has a normal approximation; `t` is confide's, with Student's t."""

ALL_METHODS: tuple[Method, ...] = (*METHODS, "cross-validation, t")

_Z = float(ndtri(0.5 + LEVEL / 2.0))
_T = float(stdtrit(FOLDS - 1, 0.5 + LEVEL / 2.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Samples of one setting."""

    setting: Setting
    arrays: Arrays

    @property
    def truth(self) -> float:
        """Return the true area."""
        return self.setting.scenario.true_area()

    def ratios(self, estimator: str) -> FloatArray:
        """Return the estimate divided by the true area, for each sample."""
        ratios: FloatArray = self.arrays["estimates"][:, ALL_ESTIMATORS.index(estimator)] / self.truth
        return ratios

    def bias(self, estimator: str) -> Mean:
        """Return the mean ratio less 1."""
        return Mean.of(self.ratios(estimator) - 1.0)

    def size_of_bias(self, estimator: str) -> Mean:
        """Return the bias without its sign."""
        bias = self.bias(estimator)
        return Mean(value=abs(bias.value), standard_error=bias.standard_error)

    def squared_error(self, estimator: str) -> Mean:
        """Return the mean squared error of the estimate itself."""
        return Mean.of(np.square(self.truth * (self.ratios(estimator) - 1.0)))

    def more_biased(self, one: str, other: str) -> Mean:
        """Return how much larger one estimator's bias is in size, sample by sample."""
        return more_biased(self.ratios(one), self.ratios(other))

    def ends(self, method: Method, estimator: str) -> FloatArray:
        """Return the lower and upper ends of a method's intervals, a row for each sample that has one."""
        place = RECOMMENDED.index(estimator)
        if method == "bootstrap":
            quantiles: FloatArray = self.arrays["bootstrap"][:, (0, 2), place]
            return quantiles
        if method.startswith("cross-validation"):
            mean, deviation = self.arrays["folds"][:, 0, place], self.arrays["folds"][:, 1, place]
            reach = (_Z if method == "cross-validation" else _T) * deviation / math.sqrt(FOLDS)
            return np.stack((mean - reach, mean + reach), axis=1)
        return self._formula_ends(method, self.ratios(estimator) * self.truth)

    def _formula_ends(self, method: Method, values: FloatArray) -> FloatArray:
        """Return the ends of `binomial_interval_of` and `logit_interval_of` for all samples at once."""
        positives, _ = self.setting.scenario.sizes(self.setting.rows)
        inside = np.clip(values, 1e-12, 1.0 - 1e-12)
        error = np.sqrt(inside * (1.0 - inside) / positives)
        if method == "binomial":
            return np.stack((values - _Z * error, values + _Z * error), axis=1)
        reach = _Z * error / (inside * (1.0 - inside))
        return expit(np.stack((logit(inside) - reach, logit(inside) + reach), axis=1))

    def coverage(self, method: Method, estimator: str) -> Mean:
        """Return the share of intervals that hold the true area."""
        ends = self.ends(method, estimator)
        covered = np.count_nonzero((ends[:, 0] <= self.truth) & (self.truth <= ends[:, 1]))
        return Mean.share(int(covered), len(ends))

    def width(self, method: Method, estimator: str) -> Mean:
        """Return the mean width divided by the ideal one: between the quantiles of the estimates of all samples."""
        ends = self.ends(method, estimator)
        tail = (1.0 - LEVEL) / 2.0
        low, high = np.quantile(self.ratios(estimator) * self.truth, (tail, 1.0 - tail))
        return Mean.of((ends[:, 1] - ends[:, 0]) / (high - low))

    def locations(self, method: Method, estimator: str) -> FloatArray:
        """Return where each interval lies, divided by the true area: its estimate, median replicate or mid-point."""
        place = RECOMMENDED.index(estimator)
        if method == "bootstrap":
            medians: FloatArray = self.arrays["bootstrap"][:, 1, place] / self.truth
            return medians
        if method.startswith("cross-validation"):
            means: FloatArray = self.arrays["folds"][:, 0, place] / self.truth
            return means
        return self.ratios(estimator)

    def location(self, method: Method, estimator: str) -> Mean:
        """Return the mean location less 1."""
        return Mean.of(self.locations(method, estimator) - 1.0)

    def more_displaced(self, one: Method, other: Method, estimator: str) -> Mean:
        """Return how much further off one method's intervals lie, on the samples that both have."""
        first, second = self.locations(one, estimator), self.locations(other, estimator)
        both = min(first.size, second.size)
        return more_biased(first[:both], second[:both])


def more_biased(one: FloatArray, other: FloatArray) -> Mean:
    """Return the size of the mean of `one - 1` less that of `other - 1`, for values of the same samples.

    >>> more_biased(np.array([1.5, 1.7]), np.array([0.9, 0.9])).value
    0.5
    """
    signed = np.sign(one.mean() - 1.0) * (one - 1.0) - np.sign(other.mean() - 1.0) * (other - 1.0)
    found = Mean.of(signed)
    return Mean(value=round(found.value, 15), standard_error=found.standard_error)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Settings and the samples of each."""

    settings: Settings
    found: Mapping[Setting, Arrays]

    def at(self, name: str, rows: int) -> Found:
        """Return the samples of a scenario at prevalence 0.1."""
        return self._one(lambda s: s.scenario == Scenario(name=name) and s.rows == rows)

    def at_prevalence(self, name: str, prevalence: float) -> Found:
        """Return the samples of a scenario at 1,000 rows."""
        return self._one(
            lambda s: s.scenario == Scenario(name=name, prevalence=prevalence) and s.rows == PREVALENCE_ROWS
        )

    @property
    def hard(self) -> tuple[Found, ...]:
        """Return the samples of the scenario that is not the dissertation's."""
        return tuple(Found(setting=setting, arrays=self.found[setting]) for setting in self.settings.hard)

    def _one(self, wanted: Any) -> Found:
        setting = next(setting for setting in self.found if wanted(setting))
        return Found(setting=setting, arrays=self.found[setting])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the figures as plain data."""
        return {"simulations": [_plain(Found(setting=s, arrays=a)) for s, a in self.found.items()]}


def _plain(found: Found) -> dict[str, Any]:
    setting = found.setting
    plain: dict[str, Any] = {
        "scenario": setting.scenario.name,
        "rows": setting.rows,
        "prevalence": setting.scenario.prevalence,
        "true_area": found.truth,
        "estimators": {
            name: {"bias": found.bias(name).to_dict(), "mean_squared_error": found.squared_error(name).to_dict()}
            for name in ALL_ESTIMATORS
        },
    }
    if setting.intervals:
        plain["intervals"] = {
            estimator: {
                method: {
                    "coverage": found.coverage(method, estimator).to_dict(),
                    "width_over_ideal": found.width(method, estimator).to_dict(),
                    "location": found.location(method, estimator).to_dict(),
                }
                for method in ALL_METHODS
            }
            for estimator in RECOMMENDED
        }
    return plain
