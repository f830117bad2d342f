"""Law of Pareto noise in floats, alone and with a normal error added: for intervals and plans.

`confide.privacy.noise.pareto` draws this noise exactly and states its density. A sum with a normal error has no closed
form. It is averaged over the normal error where that is the smaller of the two, else over the noise: each time the
function that is averaged is smooth at the distance of the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from confide.counts import FloatArray

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
