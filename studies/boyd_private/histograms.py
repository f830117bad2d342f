"""Distributions of the private values of one test set, released again and again (Figures 4 and 5.6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray
from studies.boyd_private.data import METRICS, Population, exact_values
from studies.boyd_private.mechanisms import LENIENT, OURS
from studies.claims import Mean
from studies.repeatable_noise import generator_for
from studies.store import Arrays

BINS = 40
"""Equal bins of [0, 1]; the papers do not say how many they have."""

SHOWN = (LENIENT, OURS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram:
    """Private values of one test set: shares of the bins, of values that were cut, and the mean absolute error."""

    exact: float
    shares: FloatArray
    draws: int
    cut: Mean
    cut_at_one: Mean
    error: Mean

    def mode_less_rest(self, bins: int) -> Mean:
        """Return the share of the last of so many bins, a divisor of `BINS`, less that of the fullest other one."""
        shares = self.shares.reshape(bins, -1).sum(axis=1)
        last, other = float(shares[-1]), float(shares[:-1].max())
        spread = last + other - (last - other) ** 2
        return Mean(value=last - other, standard_error=math.sqrt(spread / self.draws))


def measure_histograms(population: Population, size: int, epsilon: Fraction, draws: int, seed: int) -> Arrays:
    """Release both metrics of one test set many times, by the papers' Laplace noise and by ours."""
    generator = generator_for(seed, "boyd-private", "histogram", population.key, size)
    counts = population.draw(size, size, generator)
    exact = exact_values(counts)
    found: Arrays = {"exact": np.array([exact[metric] for metric in METRICS])}
    for metric in METRICS:
        for mechanism in SHOWN:
            values = mechanism.prepare(metric, counts, epsilon)(draws, generator)
            found[f"{metric}-{mechanism.key}"] = np.histogram(values, BINS, (0.0, 1.0))[0]
            missed = np.abs(values - exact[metric])
            numbers = (np.mean(values == 0.0), np.mean(values == 1.0), missed.mean(), missed.std(ddof=1))
            found[f"{metric}-{mechanism.key}-numbers"] = np.array(numbers)
    return found


def histogram(arrays: Arrays, metric: str, mechanism: str) -> Histogram:
    """Read what `measure_histograms` returns."""
    counted = arrays[f"{metric}-{mechanism}"]
    draws = int(counted.sum())
    at_zero, at_one, error, spread = arrays[f"{metric}-{mechanism}-numbers"].tolist()
    return Histogram(
        exact=float(arrays["exact"][METRICS.index(metric)]),
        shares=counted / draws,
        draws=draws,
        cut=share(at_zero + at_one, draws),
        cut_at_one=share(at_one, draws),
        error=Mean(value=error, standard_error=spread / math.sqrt(draws)),
    )


def share(value: float, trials: int) -> Mean:
    """Return a share of independent trials with a standard error that is above 0 for shares of 0 and 1 as well."""
    inside = (value * trials + 1.0) / (trials + 2.0)
    return Mean(value=value, standard_error=math.sqrt(inside * (1.0 - inside) / trials))
