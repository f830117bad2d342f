"""Noisycut as published, which does not give its epsilon: noise on the threshold and on each score.

Lee & Clifton (2014), as Lyu, Su & Li (2017) restate it (figure 1, algorithm 4): a quarter of epsilon goes to the
threshold, the rest to the scores, whatever the number of features that are found. Stoddard et al. (2014) answer for
all features, without a cut-off. `studies.stoddard.attacks.refutations` computes what is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import ParameterError
from studies.stoddard.attacks.laplace import (
    Support,
    checked_claim,
    checked_scores,
    checked_support,
    checked_threshold,
    log_density,
    log_shares,
)

THRESHOLD_SHARE = 0.25
"""Part of epsilon that the threshold's noise is claimed to take."""

_FALL = 45.0  # beyond a fall of the log-integrand by so much, nothing is left of an integral
_PANELS, _NODES = 24, 12  # on either side of the peak, but for those at scores; in each


def noisycut_support(
    scores: ArrayLike,
    threshold: float,
    epsilon: object,
    rng: np.random.Generator,
    *,
    sensitivity: float = 1.0,
    cutoff: int | None = None,
) -> Support:
    """Say which noisy scores reach the noisy threshold, up to the first `cutoff` of them. Not epsilon-private.

    >>> noisycut_support([3, 400, 5, 300], 100, 1, np.random.default_rng(1), cutoff=1).tolist()
    [False, True, False, False]
    """
    on_threshold, on_scores = noisycut_scales(epsilon, sensitivity=sensitivity)
    values, limit = checked_scores(scores), _checked_cutoff(cutoff)
    bar = checked_threshold(threshold) + rng.laplace(scale=on_threshold)
    found = np.asarray(values + rng.laplace(scale=on_scores, size=values.size) >= bar)
    return found if limit is None else found & (np.cumsum(found) <= limit)


def noisycut_scales(epsilon: object, *, sensitivity: float = 1.0) -> tuple[float, float]:
    """Return the scales of the noise on the threshold and on each score."""
    claimed = checked_claim(epsilon, sensitivity)
    return sensitivity / (THRESHOLD_SHARE * claimed), sensitivity / ((1.0 - THRESHOLD_SHARE) * claimed)


def noisycut_log_probability(
    support: ArrayLike,
    scores: ArrayLike,
    threshold: float,
    epsilon: object,
    *,
    sensitivity: float = 1.0,
    cutoff: int | None = None,
) -> float:
    """Return the log of the chance of an answer, by integration over the threshold's noise.

    Given the threshold, features are found independently. The integrand is log-concave, being a product of Laplace
    densities and distribution functions, and analytic between the scores: Gauss-Legendre panels around its one peak
    give its integral to about twelve digits. With a cut-off, nothing is asked after the last feature that is found.
    """
    scales = noisycut_scales(epsilon, sensitivity=sensitivity)
    values, middle, limit = checked_scores(scores), checked_threshold(threshold), _checked_cutoff(cutoff)
    found = checked_support(support, values.size)
    if limit is not None:
        if np.count_nonzero(found) > limit:
            return -np.inf
        if np.count_nonzero(found) == limit:
            asked = int(np.flatnonzero(found)[-1]) + 1
            values, found = values[:asked], found[:asked]
    return _Integrand.of(found, values - middle, *scales).log_integral()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Integrand:
    """Chance of an answer as a function of the threshold's noise, in units of the scores' noise.

    `levels` are the distinct scores less the threshold, `above` and `below` how many features at each were found and
    were not; `rate` is the threshold's noise over that of the scores, turned over.
    """

    levels: FloatArray
    above: FloatArray
    below: FloatArray
    rate: float

    @classmethod
    def of(cls, found: Support, centred: FloatArray, on_threshold: float, on_scores: float) -> _Integrand:
        levels, which = np.unique(centred / on_scores, return_inverse=True)
        above = np.bincount(which[found], minlength=levels.size).astype(np.float64)
        below = np.bincount(which[~found], minlength=levels.size).astype(np.float64)
        return cls(levels=levels, above=above, below=below, rate=on_scores / on_threshold)

    def log_value(self, noise: FloatArray) -> FloatArray:
        """At many values of the noise."""
        below, above = log_shares(noise[:, None] - self.levels)
        return np.asarray(above @ self.above + below @ self.below + log_density(self.rate * noise) + np.log(self.rate))

    def log_integral(self) -> float:
        """Integrate panel by panel around the peak."""
        low, peak, high = self._where_it_counts()
        kinks = np.append(self.levels, 0.0)
        sides = [np.linspace(low, peak, _PANELS + 1), np.linspace(peak, high, _PANELS + 1)]
        edges = np.unique(np.concatenate((*sides, kinks[(kinks > low) & (kinks < high)])))
        at, weight = _rule()
        halves = np.diff(edges) / 2.0
        nodes = (edges[:-1] + halves)[:, None] + halves[:, None] * at
        logs = self.log_value(nodes.ravel()).reshape(nodes.shape)
        top = float(logs.max())
        return top + float(np.log((halves[:, None] * weight * np.exp(logs - top)).sum()))

    def _where_it_counts(self) -> tuple[float, float, float]:
        """Return the peak, nearly, between points at which the integrand is below it by a factor of e^45 or so."""
        low, high = self._bracket()
        while high - low > max(1e-3, 1e-12 * (abs(low) + abs(high))):
            tried = np.linspace(low, high, 18)
            best = int(np.argmax(self.log_value(tried)))
            low, high = float(tried[max(best - 1, 0)]), float(tried[min(best + 1, 17)])
        peak = (low + high) / 2.0
        lowest = float(self.log_value(np.array([peak]))[0]) - _FALL
        return self._fallen(peak, -1.0, lowest), peak, self._fallen(peak, 1.0, lowest)

    def _bracket(self) -> tuple[float, float]:
        """Points left and right of the peak: from all scores and 0 outwards until the integrand falls."""
        low, high = min(float(self.levels[0]), 0.0), max(float(self.levels[-1]), 0.0)
        for side in (-1.0, 1.0):
            step, end = 1.0, low if side < 0.0 else high
            while np.diff(self.log_value(np.array([end, end + side * step])))[0] > 0.0:
                end, step = end + side * step, 2.0 * step
            low, high = (end - step, high) if side < 0.0 else (low, end + step)
        return low, high

    def _fallen(self, peak: float, side: float, lowest: float) -> float:
        """Return where the integrand has fallen to its lowest on one side, to within an eighth of the way."""
        tried = 2.0 ** np.arange(-10.0, 30.0, 1.0 / 8.0)
        fallen = self.log_value(peak + side * tried) <= lowest
        return peak + side * float(tried[np.argmax(fallen)])


@lru_cache(maxsize=1)
def _rule() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss and Legendre on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.asarray(nodes), np.asarray(weights)


def _checked_cutoff(cutoff: int | None) -> int | None:
    if cutoff is not None and (isinstance(cutoff, bool) or not isinstance(cutoff, int) or cutoff < 1):
        raise ParameterError(f"cutoff must be a whole number of at least 1, or None to answer all; got {cutoff!r}")
    return cutoff
