"""Intervals on an AUC that was released with noise at the scale of the smaller class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import FloatArray
from confide.intervals.pareto_noise import ParetoNoise
from confide.intervals.private import ClassSizes, Probability, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalScale:
    """Public parameters of the mechanism in floats: noise, epsilon, least class size and centre."""

    noise: ParetoNoise
    epsilon: float
    least: float
    centre: float

    def at(self, sizes: ClassSizes) -> tuple[FloatArray, FloatArray]:
        """Return the share of the distance from the centre that is left at these sizes, and the noise's scale."""
        smaller = np.minimum(sizes.positives, sizes.negatives)
        size = np.maximum(smaller, self.least)
        return smaller / size, 1.0 / (self.epsilon * size)


def local_probability(
    value: FloatArray, sizes: ClassSizes, local: LocalScale, spread: Spread | None = None
) -> Probability:
    """Return the probability of at most a released value, given the AUC of the sample or, with a spread, of all.

    A value that was cut to an end of [0, 1] is judged by the chance of that end and all beyond it.
    """
    share, scale = local.at(sizes)

    def probability(theta: FloatArray) -> FloatArray:
        missed = value[:, None] - local.centre - share * (theta - local.centre)
        if spread is None:
            return local.noise.cdf(missed / scale)
        deviation = share * spread(theta, sizes.positives, sizes.negatives)
        return local.noise.with_normal_cdf(missed, deviation, scale)

    return probability
