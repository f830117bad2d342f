"""Intervals on released numbers: the noise is undone by its own law, also where it is heavy-tailed.

`confide.privacy.noise.pareto` draws this noise exactly and states its density. A sum with a normal error has no closed
form. It is averaged over the normal error where that is the smaller of the two, else over the noise: each time the
function that is averaged is smooth at the distance of the nodes.

A released AUC or average precision comes with a noisy number of positives. Neither the true number
nor, for smooth sensitivity, the noise's scale is known, so a value theta is judged by its mean over
the class sizes that the noisy number leaves plausible: theta is in the interval unless noise (and,
for the population, sampling at theta) would too rarely lead to what was released. Inverting a test
at theta, instead of adding and subtracting standard errors, keeps coverage near 0 and 1.

Everything is computed for many releases at once: arrays have a release in each row, a plausible pair
of class sizes in each column.

The integer tells of the smaller class: `max(n m, n1 (N - n1))` where the number N of rows is public, else
`max(q, n1)` with q the smaller of n and m. Sizes are weighed by the likelihood of all that was released and by a prior,
on points around the noisy size, and represented by quantiles with weights.

The prior is chosen for coverage, not for belief. A flat one covers at the level on average over sizes, but a small
class is often taken for a larger one, with less noise than it has: intervals cover too rarely where epsilon times its
size is about 5. So sizes up to 4 / epsilon count more: with such a class every AUC is plausible, whatever was released.
Beyond, the prior grows with the square of the size, which narrows intervals where such small sizes need not be feared.
A search over priors of this form chose the constants: coverage of at least 94 % at every size, then the least width
where epsilon times the smaller class is 35 to 50.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import gammaincinv, log_ndtr, ndtr, ndtri, owens_t, stdtr

from confide.counts import FloatArray, read_only

SPREAD_RATIO = 1.5
"""Largest ratio of the classes' spreads of normal scores."""

_CORRELATIONS = (SPREAD_RATIO**2 / (1.0 + SPREAD_RATIO**2), 1.0 / (1.0 + SPREAD_RATIO**2))


def auc_spread(theta: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the largest standard error of AUC at theta among families of scores.

    The families are normal scores whose spreads differ by at most `SPREAD_RATIO`, and exponential ones [1]_. The
    variance is `[A(1-A) + (n-1)(Q1 - A^2) + (m-1)(Q2 - A^2)] / (n m)` with `Q1` the chance that two positives outscore
    one negative and `Q2` that one positive outscores two negatives. Either class may be the one that spreads more: the
    worse of the two counts. An absent class counts as one row.

    AUC and class sizes do not tell the families apart, so an interval that is to cover in each must be wide enough for
    the worst. With the rows known and no noise, 95 % intervals cover 93.5-96 % in the worst family of each setting
    (50 to 5,000 rows, prevalence 0.05 to 0.8, AUC 0.55 to 0.98; normal scores with spreads 1, 1.5 and 0.67,
    exponential scores, normal scores rounded to five levels). Normal scores of equal spread pay for it: where one class
    is small the standard error is 1.2 (AUC 0.8), 1.35 (0.9), 1.5 (0.95) and 1.75 times (0.98) theirs; where classes are
    balanced 1.02, 1.07, 1.14 and 1.3 times.

    References
    ----------
    .. [1] J. Hanley and B. McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
       curve", Radiology 143, 1982.

    """
    n, m = np.maximum(positives, 1.0), np.maximum(negatives, 1.0)
    few, many = np.minimum(n, m) - 1.0, np.maximum(n, m) - 1.0
    wide, narrow = (_normal_excess(theta, share) for share in _CORRELATIONS)
    larger, smaller = _exponential_excess(theta)
    worst = np.maximum(many * wide + few * narrow, many * larger + few * smaller)
    deviation: FloatArray = np.sqrt(np.clip((theta * (1.0 - theta) + worst) / (n * m), 0.0, None))
    return deviation


def _normal_excess(theta: FloatArray, correlation: float) -> FloatArray:
    """`Q - theta^2`, where Q is the chance that two standard normals of a correlation both lie below z(theta)."""
    with np.errstate(invalid="ignore"):
        both = theta - 2.0 * owens_t(ndtri(theta), math.sqrt((1.0 - correlation) / (1.0 + correlation)))
    excess: FloatArray = np.where((theta > 0.0) & (theta < 1.0), both - theta * theta, 0.0)
    return excess


def _exponential_excess(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the larger and the smaller of `Q1 - theta^2` and `Q2 - theta^2` for exponential scores."""
    first, second = theta / (2.0 - theta) - theta**2, 2.0 * theta**2 / (1.0 + theta) - theta**2
    return np.maximum(first, second), np.minimum(first, second)


_NODES = 16
_NORMAL_NODES = 32  # probabilities within 0.0004


@dataclass(frozen=True, kw_only=True)
class NoiseSide:
    """Noise on one side of zero: its core and tail, and the closed forms that follow."""

    core: float
    tail: float

    @cached_property
    def at_one(self) -> float:
        """Density at distance 1, where that at zero is 1."""
        return (1.0 - self.core) ** (1.0 / self.core - 1.0) if self.core else math.exp(-1.0)

    @property
    def mass(self) -> float:
        """Mass of the side, where the density at zero is 1."""
        return 1.0 + self.at_one * (self.core + self.tail)

    def fall(self, x: FloatArray) -> FloatArray:
        """Return minus the logarithm of the density at a distance, where that at zero is 1."""
        inner, outer = np.minimum(x, 1.0), np.maximum(x, 1.0)
        near = (1.0 - 1.0 / self.core) * np.log1p(-self.core * inner) if self.core else inner
        ratio = np.log((1.0 + self.tail * outer) / (1.0 + self.tail))
        far: FloatArray = (1.0 + 1.0 / self.tail) * ratio if self.tail else outer - 1.0
        return near + far

    def beyond(self, x: FloatArray) -> FloatArray:
        """Return the mass beyond a distance."""
        outer, inner = np.maximum(x, 1.0), np.minimum(x, 1.0)
        outside = self.at_one * (1.0 + self.tail)
        ratio = np.log((1.0 + self.tail * outer) / (1.0 + self.tail)) / self.tail if self.tail else outer - 1.0
        power = np.exp(np.log1p(-self.core * inner) / self.core) if self.core else np.exp(-inner)
        mass: FloatArray = np.where(
            x > 1.0, outside * np.exp(-ratio), outside + power - self.at_one * (1.0 - self.core)
        )
        return mass

    def distance(self, beyond: FloatArray) -> FloatArray:
        """Return the distance beyond which there is a given mass."""
        outside = self.at_one * (1.0 + self.tail)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.log(np.minimum(beyond / outside, 1.0))
            outer = np.expm1(np.log1p(self.tail) - self.tail * far) / self.tail if self.tail else 1.0 - far
            near = np.log(np.maximum(beyond - outside, 0.0) + self.at_one * (1.0 - self.core))
            inner = -np.expm1(self.core * near) / self.core if self.core else -near
        x: FloatArray = np.where(beyond < outside, outer, inner)
        return x

    def mean(self) -> float:
        """Integral of distance times density, over `mass` the mean distance."""
        core, tail, at_one = self.core, self.tail, self.at_one
        end = at_one * (1.0 - core)
        inside = 1.0 / (1.0 + core) - end - end * (1.0 - core) / (1.0 + core)
        return inside + 2.0 * at_one * (1.0 + tail) / (1.0 - tail)


@dataclass(frozen=True, kw_only=True)
class ParetoNoise:
    """Noise with a shape on each side of zero, in units of its scale."""

    above: NoiseSide
    below: NoiseSide

    @property
    def mass(self) -> float:
        """Mass of both sides, where the density at zero is 1."""
        return self.above.mass + self.below.mass

    @property
    def mean_absolute(self) -> float:
        """Mean distance from zero."""
        return (self.above.mean() + self.below.mean()) / self.mass

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return the probability of at most x."""
        x = np.asarray(x)
        chance, left = np.empty(x.shape), x < 0.0
        chance[left] = self.below.beyond(-x[left])
        chance[~left] = self.mass - self.above.beyond(x[~left])
        return chance / self.mass

    def quantile(self, share: FloatArray) -> FloatArray:
        """Invert `cdf`."""
        below = share * self.mass
        x: FloatArray = np.where(
            below < self.below.mass,
            -self.below.distance(np.minimum(below, self.below.mass)),
            self.above.distance(np.minimum(self.mass - below, self.above.mass)),
        )
        return x

    def with_normal_cdf(self, x: FloatArray, deviation: FloatArray, scale: FloatArray) -> FloatArray:
        """Return the probability that a normal error of a deviation, plus noise of a scale, is at most x."""
        x, deviation, scale = np.broadcast_arrays(x, deviation, scale)
        result = np.empty(x.shape)
        small = deviation <= scale
        result[small] = self._over_normal(x[small], deviation[small], scale[small])
        result[~small] = self._over_noise(x[~small], deviation[~small], scale[~small])
        return result

    def _over_normal(self, x: FloatArray, deviation: FloatArray, scale: FloatArray) -> FloatArray:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NORMAL_NODES)
        left = (x[..., None] - deviation[..., None] * nodes) / scale[..., None]
        chance: FloatArray = self.cdf(left) @ (weights / weights.sum())
        return chance

    def _over_noise(self, x: FloatArray, deviation: FloatArray, scale: FloatArray) -> FloatArray:
        nodes, weights = self._pieces
        left = (x[..., None] - scale[..., None] * nodes) / deviation[..., None]
        chance: FloatArray = ndtr(left) @ weights
        return chance

    @cached_property
    def _pieces(self) -> tuple[FloatArray, FloatArray]:
        """Nodes of the noise and their weights: Gauss-Legendre in the mass of each of the four pieces.

        In a tail the mass is the fourth power of what the nodes divide evenly, so that they reach far out.
        """
        places, weights = np.polynomial.legendre.leggauss(_NODES)
        places, weights = (places + 1.0) / 2.0, weights / 2.0
        nodes, shares = [], []
        for side, sign in ((self.above, 1.0), (self.below, -1.0)):
            outside = side.at_one * (1.0 + side.tail)
            inside = side.mass - outside
            nodes += [sign * side.distance(outside * places**4), sign * side.distance(outside + inside * places)]
            shares += [outside * 4.0 * places**3 * weights, inside * weights]
        return np.concatenate(nodes), np.concatenate(shares) / self.mass


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


_PLACES = np.linspace(-12.0, 12.0, 961)
"""Points around a noisy size, in units of its noise's scale."""

_SMALL, _NARROW = 30.0, 8.0
"""Weight of a class so small that every AUC is plausible, and how fast it falls with the relative distance beyond.

A class of one scale of noise has weight 1.
"""

_LARGE = 8.0
"""Number of scales of noise from which on larger classes do not count more."""

_FEW = math.isqrt(PLAUSIBLE) + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Integers that followed released AUCs, one for each: value, least size n1 told apart, and loss of one step.

    Where nothing followed, the rate is 0. `small` is the size up to which classes count more in the prior.
    """

    value: FloatArray
    least: FloatArray
    rate: FloatArray
    small: float

    def log_weight(self, smaller: FloatArray, scale: float, rows: float | None) -> FloatArray:
        """Return the logarithm of likelihood times prior for sizes of the smaller class.

        Releases are rows of the arrays. `scale` is that of the noise of class sizes.
        """
        known = np.maximum(smaller, self.least[:, None])
        if rows is not None:
            known = known * (rows - known)
        missed: FloatArray = -np.abs(self.value[:, None] - known) * self.rate[:, None]
        return missed + self._log_prior(np.maximum(smaller, 0.0), scale)

    def _log_prior(self, smaller: FloatArray, scale: float) -> FloatArray:
        near = np.exp(-_NARROW * np.maximum(smaller / self.small - 1.0, 0.0) ** 2)
        logarithm: FloatArray = np.log(np.minimum(smaller / scale, _LARGE) ** 2 + _SMALL * near)
        return logarithm


def joint_sizes(noisy_positives: FloatArray, scale: float, *, rows: int, after: Following) -> ClassSizes:
    """Weigh sizes where the number of rows is public."""
    sizes, weight = _around(noisy_positives, scale, float(rows))
    inside = np.clip(sizes, 0.0, rows)
    log = after.log_weight(np.minimum(inside, rows - inside), scale, float(rows))
    shares, weights = _steps(PLAUSIBLE)
    positives = np.clip(np.rint(_quantiles(sizes, weight * _relative(log), weight, shares)), 0.0, rows)
    return ClassSizes(positives=positives, negatives=rows - positives, weights=weights)


def joint_pairs(noisy_positives: FloatArray, noisy_negatives: FloatArray, scale: float, after: Following) -> ClassSizes:
    """Weigh pairs of sizes: quantiles of the negatives, and for each of them quantiles of the positives."""
    (ours, weight), (theirs, other) = (_around(noisy, scale, math.inf) for noisy in (noisy_positives, noisy_negatives))
    log = _relative(after.log_weight(np.concatenate((ours, theirs), axis=1), scale, None))
    likely, likely_other = log[:, : ours.shape[1]], log[:, ours.shape[1] :]

    # Positives that are not more than the negatives are the smaller class; beyond, the negatives are.
    step = scale * (_PLACES[1] - _PLACES[0])
    up_to = np.clip(np.floor((theirs - ours[:, :1]) / step).astype(int) + 1, 0, ours.shape[1])
    as_smaller = np.take_along_axis(_cumulated(weight * likely), up_to, axis=1)
    beyond = weight.sum(axis=1, keepdims=True) - np.take_along_axis(_cumulated(weight), up_to, axis=1)
    shares, weights = _steps(_FEW)
    negatives = _quantiles(theirs, other * (as_smaller + beyond * likely_other), other, shares)

    columns = []
    for k in range(_FEW):
        given = negatives[:, k : k + 1]
        relative = _relative(after.log_weight(np.minimum(ours, given), scale, None))
        columns.append(_quantiles(ours, weight * relative, weight, shares))
    positives = np.stack(columns, axis=2).reshape(noisy_positives.size, -1)  # as in `plausible_pairs`
    return ClassSizes(
        positives=np.maximum(np.rint(positives), 0.0),
        negatives=np.maximum(np.rint(np.tile(negatives, (1, _FEW))), 0.0),
        weights=np.outer(weights, weights).ravel(),
    )


def _steps(number: int) -> tuple[FloatArray, FloatArray]:
    """Return shares of probability, closer together towards 0 and 1, and the weight of each.

    Steps are equal in the arc cosine of `1 - 2 share`, so that sizes that are hardly plausible, and matter in the tails
    of an interval, are represented too.
    """
    ends = (1.0 - np.cos(np.linspace(0.0, math.pi, number + 1))) / 2.0
    shares = (1.0 - np.cos(math.pi * (np.arange(number) + 0.5) / number)) / 2.0
    return shares, np.diff(ends)


def _around(noisy: FloatArray, scale: float, most: float) -> tuple[FloatArray, FloatArray]:
    """Return points around each noisy size and the likelihood of each.

    Laplace noise has no memory: a noisy size below all sizes tells as much as one at their end.
    """
    centre = np.clip(noisy, -0.5, most + 0.5)
    sizes = centre[:, None] + scale * _PLACES
    weight: FloatArray = np.where((sizes >= -0.5) & (sizes <= most + 0.5), np.exp(-np.abs(_PLACES)), 0.0)
    return sizes, weight


def _relative(log: FloatArray) -> FloatArray:
    relative: FloatArray = np.exp(log - log.max(axis=1, keepdims=True))
    return relative


def _cumulated(weight: FloatArray) -> FloatArray:
    """Return sums of the first 0, 1, ... weights."""
    return np.concatenate((np.zeros((weight.shape[0], 1)), np.cumsum(weight, axis=1)), axis=1)


def _quantiles(sizes: FloatArray, weight: FloatArray, otherwise: FloatArray, shares: FloatArray) -> FloatArray:
    """Quantiles at shares of weight; of other weights where all are 0."""
    weight = np.where(weight.sum(axis=1, keepdims=True) > 1e-300, weight, otherwise)
    below = np.cumsum(weight, axis=1) - weight / 2.0
    below /= weight.sum(axis=1, keepdims=True)
    return np.array([np.interp(shares, chance, row) for chance, row in zip(below, sizes, strict=True)])


class ScaleAtSizes(Protocol):
    """Noise whose scale depends on the class sizes, around a value drawn towards a centre where a class is small."""

    @property
    def noise(self) -> ParetoNoise:
        """Law of the noise, in units of its scale."""

    @property
    def centre(self) -> float:
        """Value towards which small classes are shrunk."""

    def at(self, sizes: ClassSizes) -> tuple[FloatArray, FloatArray]:
        """Return the share of the distance from the centre that is left at these sizes, and the noise's scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalScale:
    """Scale of AUC: noise, epsilon, least size of the smaller class, and centre, in floats."""

    noise: ParetoNoise
    epsilon: float
    least: float
    centre: float

    def at(self, sizes: ClassSizes) -> tuple[FloatArray, FloatArray]:
        """Return what is left of the distance from the centre, and the scale."""
        smaller = np.minimum(sizes.positives, sizes.negatives)
        size = np.maximum(smaller, self.least)
        return smaller / size, 1.0 / (self.epsilon * size)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositivesScale:
    """Scale of average precision: noise, epsilon, least number of positives, and what one row changes, in floats."""

    noise: ParetoNoise
    epsilon: float
    least: float
    bounds: Callable[[FloatArray], FloatArray]
    centre: float = 1.0

    def at(self, sizes: ClassSizes) -> tuple[FloatArray, FloatArray]:
        """Return what is left of the distance from the centre, and the scale."""
        size = np.maximum(sizes.positives, self.least)
        return sizes.positives / size, self.bounds(size) / self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenScale:
    """Scales that are known for each plausible size, around a value that is not shrunk."""

    noise: ParetoNoise
    scales: FloatArray
    centre: float = 0.0

    def at(self, sizes: ClassSizes) -> tuple[FloatArray, FloatArray]:
        """Return the whole distance, and the scales."""
        return np.ones_like(self.scales), self.scales


def local_probability(
    value: FloatArray, sizes: ClassSizes, local: ScaleAtSizes, spread: Spread | None = None
) -> Probability:
    """Return the probability of at most a released value, given the value of the sample or, with a spread, of all.

    It is averaged over the sizes. A value that was cut to an end of [0, 1] is judged by the chance of that end and all
    beyond it. Small classes are drawn to the centre, and noise may carry a value out of reach of any data of their
    sizes. For these sizes it is brought back first, which only widens intervals. A value tells nothing of an empty
    class.
    """
    share, scale = local.at(sizes)
    least = (1.0 - share) * local.centre
    missed_centre = np.clip(value[:, None], least, least + share) - local.centre

    def probability(theta: FloatArray) -> FloatArray:
        missed = missed_centre - share * (theta - local.centre)
        if spread is None:
            return sizes.mean(local.noise.cdf(missed / scale))
        deviation = share * spread(theta, sizes.positives, sizes.negatives)
        return sizes.mean(local.noise.with_normal_cdf(missed, deviation, scale))

    return probability
