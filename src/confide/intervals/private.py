"""Intervals on private numbers, from what was released alone.

A released AUC or average precision comes with a noisy number of positives. Neither the true number
nor, for smooth sensitivity, the noise's scale is known, so a value theta is judged by its mean over
the class sizes that the noisy number leaves plausible: theta is in the interval unless noise (and,
for the population, sampling at theta) would too rarely lead to what was released. Inverting a test
at theta, instead of adding and subtracting standard errors, keeps coverage near 0 and 1.

Everything is computed for many releases at once: arrays have a release in each row, a plausible pair
of class sizes in each column.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from scipy.special import gammaincinv, log_ndtr, ndtr, stdtr

from confide.counts import FloatArray, read_only

PLAUSIBLE = 61
"""Number of plausible class sizes that represent all."""

_MIXTURE = 64
_STEPS = 45
_ROOT_STEPS, _NEAR = 12, 2.0**-49

Spread: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""The standard deviation of a metric at (theta, positives, negatives) from sampling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSizes:
    """Plausible numbers of positives and negatives; the weight of each column, where they are not all equal."""

    positives: FloatArray
    negatives: FloatArray
    weights: FloatArray | None = None

    def mean(self, values: FloatArray) -> FloatArray:
        """Average over the plausible sizes what was computed for each; the result has one column."""
        if self.weights is None:
            equal: FloatArray = values.mean(axis=1, keepdims=True)
            return equal
        average: FloatArray = (values @ self.weights)[:, None]
        return average


def plausible_sizes(noisy_positives: FloatArray, scale: float, *, rows: int) -> ClassSizes:
    """Sizes in equal steps of probability, given a noisy number of positives among so many rows."""
    positives = _plausible(noisy_positives, scale, float(rows))
    return ClassSizes(positives=positives, negatives=rows - positives)


def plausible_pairs(noisy_positives: FloatArray, noisy_negatives: FloatArray, scale: float) -> ClassSizes:
    """Pairs of sizes, given both noisy numbers."""
    few = math.isqrt(PLAUSIBLE) + 4
    ours, theirs = (_plausible(noisy, scale, math.inf, few) for noisy in (noisy_positives, noisy_negatives))
    return ClassSizes(positives=np.repeat(ours, few, axis=1), negatives=np.tile(theirs, (1, few)))


def plausible_totals(noisy_rows: FloatArray, scale: float) -> FloatArray:
    """Numbers of rows, at least one, given a noisy number of them."""
    return np.maximum(_plausible(noisy_rows, scale, math.inf), 1.0)


def _plausible(noisy: FloatArray, scale: float, most: float, steps: int = PLAUSIBLE) -> FloatArray:
    """Quantiles of the whole numbers from 0 to `most` that are plausible after Laplace noise; a flat prior."""
    low, high = _laplace_cdf((-0.5 - noisy) / scale), _laplace_cdf((most + 0.5 - noisy) / scale)
    share = low[:, None] + (high - low)[:, None] * ((np.arange(steps) + 0.5) / steps)
    with np.errstate(divide="ignore"):
        reach = np.where(share < 0.5, np.log(2.0 * share), -np.log(2.0 * (1.0 - share)))
    return np.clip(np.rint(noisy[:, None] + scale * reach), 0.0, most)


Probability: TypeAlias = Callable[[FloatArray], FloatArray]
"""Probability, for each release and plausible size, that theta gives at most the released value."""


def limits(probability: Probability, releases: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Solve for the lower and upper limit in [0, 1] of so many releases; `probability` falls in theta."""
    tail = (1.0 - level) / 2.0

    def excess(chance: float) -> _Function:
        return lambda theta: probability(theta[:, None]).mean(axis=1) - chance

    return _turn(excess(1.0 - tail), releases)[0], _turn(excess(tail), releases)[1]


def rank_sum_probability(
    rank_sum: FloatArray, scale: float, sizes: ClassSizes, spread: Spread | None = None
) -> Probability:
    """Return the probability of at most a released `W = (AUC - 1/2) n m` with Laplace noise of a public scale.

    Noise may carry W out of reach of any data; it is brought back first, which only widens intervals
    and keeps them from shrinking to a point there.
    """
    pairs = sizes.positives * sizes.negatives
    possible = np.clip(rank_sum[:, None], -pairs / 2.0, pairs / 2.0)

    def probability(theta: FloatArray) -> FloatArray:
        missed = possible - (theta - 0.5) * pairs
        if spread is None:
            return _laplace_cdf(missed / scale)
        deviation = pairs * spread(theta, sizes.positives, sizes.negatives)
        return _normal_laplace_cdf(missed, deviation, scale)

    return probability


def smooth_probability(
    value: FloatArray, scales: FloatArray, sizes: ClassSizes, degrees_of_freedom: int, spread: Spread | None = None
) -> Probability:
    """Return the probability of at most a released value with noise scaled by class sizes: Student-t, or Laplace."""
    mixture = _scale_mixture(degrees_of_freedom) if degrees_of_freedom else None
    possible = np.clip(value[:, None], 0.0, 1.0)

    def probability(theta: FloatArray) -> FloatArray:
        missed = possible - theta
        if spread is None:
            scaled = missed / scales
            noise: FloatArray = stdtr(degrees_of_freedom, scaled) if degrees_of_freedom else _laplace_cdf(scaled)
            return noise
        deviation = spread(theta, sizes.positives, sizes.negatives)
        if mixture is None:
            return _normal_laplace_cdf(missed, deviation, scales)
        multipliers, weights = mixture
        # Student-t is normal with a random variance, so the sum with a normal is normal for each variance.
        combined = np.sqrt(deviation[..., None] ** 2 + (scales[..., None] * multipliers) ** 2)
        averaged: FloatArray = ndtr(missed[..., None] / combined) @ weights
        return averaged

    return probability


def mean_probability(
    total: FloatArray, scale: float, rows: FloatArray, deviation: FloatArray | None = None
) -> Probability:
    """Return the probability of at most a released sum of numbers in [0, 1], as a function of their mean.

    `deviation` is that of one row.
    """
    possible = np.clip(total[:, None], 0.0, rows)

    def probability(theta: FloatArray) -> FloatArray:
        missed = possible - theta * rows
        if deviation is None:
            return _laplace_cdf(missed / scale)
        return _normal_laplace_cdf(missed, deviation * np.sqrt(rows), scale)

    return probability


def binomial_spread(theta: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """`sqrt(theta (1 - theta) / n)`: average precision as a proportion of n positives."""
    deviation: FloatArray = np.sqrt(np.clip(theta * (1.0 - theta), 0.0, None) / np.maximum(positives, 1.0))
    return deviation


_Function: TypeAlias = Callable[[FloatArray], FloatArray]
"""Function of theta for each release, which falls in theta."""


def _turn(excess: _Function, size: int) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the cell of width 2^-45 in [0, 1] in which `excess` stops being above 0.

    A root finder proposes cells, and values at their ends confirm them. Bisection finds the cells if one of them is not
    confirmed. So the ends are those of bisection in either case.
    """
    cells = 2.0**_STEPS
    low = np.clip(np.floor(_root(excess, size) * cells), 0.0, cells - 1.0) / cells
    high = low + 1.0 / cells
    begins = (low == 0.0) | (excess(np.where(low == 0.0, high, low)) > 0.0)  # never at 0 or 1, where spreads vanish
    ends = (high == 1.0) | (excess(np.where(high == 1.0, low, high)) <= 0.0)
    return (low, high) if np.all(begins & ends) else _bisect(excess, size)


def _root(excess: _Function, size: int) -> FloatArray:
    """Approximate the root in [0, 1] by Ridders' method; return 0 or 1 where there is none."""
    edge = 2.0**-_STEPS
    low, high = np.full(size, edge), np.full(size, 1.0 - edge)
    at_low, at_high = excess(low), excess(high)
    none_above, none_below = at_low <= 0.0, at_high > 0.0
    root = np.full(size, np.inf)
    for _ in range(_ROOT_STEPS):
        middle = (low + high) / 2.0
        at_middle = excess(middle)
        scale = np.sqrt(np.maximum(at_middle**2 - at_low * at_high, 0.0))
        shift = np.divide((middle - low) * at_middle, scale, out=np.zeros(size), where=scale > 0.0)
        before, root = root, np.clip(middle + shift, low, high)
        if np.all((np.abs(root - before) < _NEAR) | none_above | none_below):
            break
        for theta, value in ((middle, at_middle), (root, excess(root))):
            left = (value > 0.0) & (theta >= low)
            right = (value <= 0.0) & (theta <= high)
            low, at_low = np.where(left, theta, low), np.where(left, value, at_low)
            high, at_high = np.where(right, theta, high), np.where(right, value, at_high)
    return np.where(none_above, 0.0, np.where(none_below, 1.0, root))


def _bisect(excess: _Function, size: int) -> tuple[FloatArray, FloatArray]:
    """Halve [0, 1] around the point where `excess` stops being above 0; return both ends, to err outwards."""
    low, high = np.zeros(size), np.ones(size)
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        above = excess(middle) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return low, high


def _laplace_cdf(x: FloatArray) -> FloatArray:
    return np.where(x < 0.0, 0.5 * np.exp(np.minimum(x, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(x, 0.0)))


def _normal_laplace_cdf(x: FloatArray, deviation: FloatArray, scale: FloatArray | float) -> FloatArray:
    """Return the distribution of a normal plus a Laplace variable (Reed & Jorgensen 2004)."""
    safe = np.maximum(deviation, 1e-300)
    ratio, z = safe / scale, x / safe
    with np.errstate(over="ignore", invalid="ignore"):
        rising = np.exp(np.minimum(ratio * ratio / 2.0 + x / scale + log_ndtr(-z - ratio), 0.0))
        falling = np.exp(np.minimum(ratio * ratio / 2.0 - x / scale + log_ndtr(z - ratio), 0.0))
    both = ndtr(z) + (rising - falling) / 2.0
    result: FloatArray = np.where(deviation > 0.0, np.clip(both, 0.0, 1.0), _laplace_cdf(x / scale))
    return result


@cache
def _scale_mixture(degrees_of_freedom: int) -> tuple[FloatArray, FloatArray]:
    """Student-t as normals: their deviations, and the weight of each.

    The deviation is `sqrt(d / chi-square)`. Gauss-Legendre nodes in the fourth root of the chi-square's
    probability reach far into the tail of small ones, where the heavy tails come from.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_MIXTURE)
    root = (nodes + 1.0) / 2.0
    chi_square = 2.0 * gammaincinv(degrees_of_freedom / 2.0, root**4)
    return read_only(np.sqrt(degrees_of_freedom / chi_square)), read_only(weights / 2.0 * 4.0 * root**3)
