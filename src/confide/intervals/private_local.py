"""Intervals on AUC and average precision that were released with Pareto noise, above all at the local scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from confide.counts import FloatArray
from confide.intervals.pareto_noise import ParetoNoise
from confide.intervals.private import ClassSizes, Probability, Spread


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
