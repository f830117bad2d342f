"""The interval of a private AUC allows for the noise in the number of positives.

Where positives are few, AUC is high and labels alone are private, that noise matters more than the noise in
the rank sum. The seed is fixed, so there is no false alarm; the twin, which takes the noisy number for the
true one, must fail.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.privacy.mechanisms.rank_sum import rank_sum_scales
from confide.privacy.neighbours import Neighbours
from confide.releases.auc import rank_sum_limits

pytestmark = pytest.mark.statistical

ROWS, POSITIVES, AUC, RELEASES = 2_000, 60, 0.9, 4_000


def released(scales: tuple[Fraction, Fraction]) -> tuple[FloatArray, FloatArray]:
    """Rank sums and numbers of positives with the noise of a release."""
    generator = np.random.default_rng(11)

    def noise(scale: Fraction) -> FloatArray:
        stop = -np.expm1(-1.0 / float(scale))
        return (generator.geometric(stop, RELEASES) - generator.geometric(stop, RELEASES)).astype(np.float64)

    exact = 2.0 * round((AUC - 0.5) * POSITIVES * (ROWS - POSITIVES))
    return exact + noise(scales[0]), POSITIVES + noise(scales[1])


def coverage(scales: tuple[Fraction, Fraction], believed: tuple[Fraction, Fraction]) -> float:
    sums, positives = released(scales)
    lower, upper = rank_sum_limits(sums, positives, ROWS, believed, 0.95, population=False)
    return float(np.mean((lower <= AUC) & (upper >= AUC)))


def test_the_noise_in_the_class_sizes_counts() -> None:
    scales = rank_sum_scales(ROWS, Fraction(1), Neighbours.LABEL_ONLY)
    assert coverage(scales, scales) >= 0.94
    twin = (scales[0], Fraction(1, 10**6))
    assert coverage(scales, twin) < 0.92
