"""Errors of private AUC and average precision over epsilon (Figures 5, 5.4, 5.5), and over prevalence and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray
from studies.boyd_private.data import METRICS, NormalPopulation, Population, exact_values
from studies.boyd_private.mechanisms import CAUCHY, LENIENT, MECHANISMS, OURS, TRUE_PRICE
from studies.claims import Mean
from studies.repeatable_noise import generator_for
from studies.store import Arrays

SHOWN = (CAUCHY, TRUE_PRICE, LENIENT, OURS)
"""Mechanisms that are compared over prevalence."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeErrors:
    """Errors on test sets of one size from one population.

    `absolute` and `squared` have the mean error of the releases of each test set, by mechanism, epsilon and test set;
    `estimation` has the absolute errors of the exact values; all by metric.
    """

    absolute: dict[str, FloatArray]
    squared: dict[str, FloatArray]
    estimation: dict[str, FloatArray]
    epsilons: tuple[Fraction, ...]

    @classmethod
    def from_arrays(cls, arrays: Arrays, epsilons: tuple[Fraction, ...]) -> SizeErrors:
        """Read what `measure_errors` returns."""
        kinds = ({metric: arrays[f"{kind}-{metric}"] for metric in METRICS} for kind in _KINDS)
        absolute, squared, estimation = kinds
        return cls(absolute=absolute, squared=squared, estimation=estimation, epsilons=epsilons)

    def mean_absolute(self, metric: str, mechanism: str, epsilon: Fraction) -> Mean:
        """Return the mean absolute error, "DP error" in the paper."""
        return Mean.of(self.absolute[metric][_PLACES[mechanism], self.epsilons.index(epsilon)])

    def root_mean_square(self, metric: str, mechanism: str, epsilon: Fraction) -> Mean:
        """Return the root of the mean squared error; its standard error is that of the mean over twice the root."""
        mean = Mean.of(self.squared[metric][_PLACES[mechanism], self.epsilons.index(epsilon)])
        root = math.sqrt(mean.value)
        return Mean(value=root, standard_error=mean.standard_error / (2.0 * root))

    def estimation_error(self, metric: str) -> Mean:
        """Return the mean absolute distance of the exact value from the population's."""
        return Mean.of(self.estimation[metric])


_KINDS = ("absolute", "squared", "estimation")
_PLACES = {mechanism.key: place for place, mechanism in enumerate(MECHANISMS)}


def measure_errors(
    population: Population, size: int, epsilons: Sequence[Fraction], sets: int, draws: int, seed: int
) -> Arrays:
    """Draw test sets of a size, and release both metrics of each by every mechanism at every epsilon."""
    generator = generator_for(seed, "boyd-private", "errors", population.key, size)
    shape = (len(MECHANISMS), len(epsilons), sets)
    found: Arrays = {f"{kind}-{metric}": np.empty(shape) for kind in _KINDS[:2] for metric in METRICS}
    found |= {f"estimation-{metric}": np.empty(sets) for metric in METRICS}
    for number in range(sets):
        counts = population.draw(size, size, generator)
        exact = exact_values(counts)
        for metric in METRICS:
            found[f"estimation-{metric}"][number] = abs(exact[metric] - population.truth[metric])
            for row, mechanism in enumerate(MECHANISMS):
                for column, epsilon in enumerate(epsilons):
                    missed = mechanism.prepare(metric, counts, epsilon)(draws, generator) - exact[metric]
                    found[f"absolute-{metric}"][row, column, number] = np.abs(missed).mean()
                    found[f"squared-{metric}"][row, column, number] = (missed**2).mean()
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrevalenceErrors:
    """Mean absolute errors and their standard errors, by mechanism of `SHOWN` and number of positives, by metric."""

    positives: tuple[int, ...]
    errors: dict[str, tuple[tuple[Mean, ...], ...]]

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PrevalenceErrors:
        """Read what `measure_prevalence` returns."""
        errors = {
            metric: tuple(
                tuple(
                    Mean(value=float(value), standard_error=float(error)) for value, error in zip(*lines, strict=True)
                )
                for lines in zip(arrays[f"mean-{metric}"], arrays[f"error-{metric}"], strict=True)
            )
            for metric in METRICS
        }
        return cls(positives=tuple(arrays["positives"].tolist()), errors=errors)

    def of(self, metric: str, mechanism: str) -> tuple[Mean, ...]:
        """Return the errors of a mechanism, one for each number of positives."""
        return self.errors[metric][[each.key for each in SHOWN].index(mechanism)]


def measure_prevalence(
    population: NormalPopulation, rows: int, prevalences: Sequence[float], epsilon: Fraction, draws: int, seed: int
) -> Arrays:
    """Release both metrics of a typical test set at each prevalence."""
    generator = generator_for(seed, "boyd-private", "prevalence", rows, epsilon)
    positives = sorted({min(max(round(rows * prevalence), 1), rows - 1) for prevalence in prevalences})
    shape = (len(SHOWN), len(positives))
    found = {f"{kind}-{metric}": np.empty(shape) for kind in ("mean", "error") for metric in METRICS}
    for column, size in enumerate(positives):
        counts = population.typical(size, rows - size)
        exact = exact_values(counts)
        for metric in METRICS:
            for row, mechanism in enumerate(SHOWN):
                missed = np.abs(mechanism.prepare(metric, counts, epsilon)(draws, generator) - exact[metric])
                found[f"mean-{metric}"][row, column] = missed.mean()
                found[f"error-{metric}"][row, column] = missed.std(ddof=1) / math.sqrt(draws)
    return {**found, "positives": np.array(positives)}
