"""Intervals on AUC at the local scale cover for a small class, and for scores that are not normal.

Noise has a seed, so each test always passes or always fails. With 3,000 releases the standard error of a coverage of
94 % is 0.4 points. The twins must fail: class sizes with a flat prior, and the standard error of normal scores of equal
spread.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.intervals import joint_sizes
from confide.intervals.auc_spread import auc_spread
from confide.intervals.private import ClassSizes, Spread
from confide.intervals.private_local import local_probability
from confide.privacy.mechanisms.local_auc import LocalParameters
from confide.releases.local_auc import SIZES_SHARE, followed_by, local_terms, plausible_after, scale_of
from confide.releases.terms import Terms

pytestmark = pytest.mark.statistical

RELEASES, ROWS = 3_000, 2_000


def laplace(scale: float, generator: np.random.Generator) -> FloatArray:
    stop = -math.expm1(-1.0 / scale)
    noise: FloatArray = (generator.geometric(stop, RELEASES) - generator.geometric(stop, RELEASES)).astype(np.float64)
    return noise


def coverage(auc: FloatArray, theta: float, positives: int, epsilon: Fraction, spread: Spread | None = None) -> float:
    """Release samples' AUCs and judge theta, or the AUC itself without a spread."""
    terms, generator = Terms.checked(epsilon=epsilon), np.random.default_rng(5)
    parameters = local_terms(terms, ROWS)
    assert isinstance(parameters, LocalParameters)
    local = scale_of(parameters)
    exact = ClassSizes(positives=np.array([float(positives)]), negatives=np.array([float(ROWS - positives)]))
    share, scale = local.at(exact)
    noise = scale * local.noise.quantile(generator.random(RELEASES))
    values = np.clip(local.centre + share * (auc - local.centre) + noise, 0.0, 1.0)
    sizes_scale = 1.0 / float(epsilon * SIZES_SHARE)
    noisy = [positives + laplace(sizes_scale, generator)]
    integers = np.zeros(RELEASES)
    unit = generator.laplace(size=RELEASES)
    for k, free in enumerate(followed_by(values, parameters)):
        if free is not None:
            integers[k] = free.value(positives, ROWS - positives) + round(float(free.scale) * unit[k])
    sizes = plausible_after(values, noisy, integers, parameters, sizes_scale)
    truth = auc if spread is None else np.full(RELEASES, theta)
    chance = local_probability(values, sizes, local, spread)(truth[:, None]).mean(axis=1)
    return float(((chance > 0.025) & (chance < 0.975)).mean())


def test_a_small_class_is_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon times the smaller class is 5, where sizes are least known for what they matter."""
    auc = np.full(RELEASES, 0.55)
    assert coverage(auc, 0.55, 100, Fraction(1, 20)) >= 0.93
    monkeypatch.setattr(joint_sizes, "_TILT", 0.0)
    assert coverage(auc, 0.55, 100, Fraction(1, 20)) < 0.90


def normal_spread(theta: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """The standard error for normal scores of equal spread, 1.38 times below that of exponential ones at 0.9."""
    narrow: FloatArray = auc_spread(theta, positives, negatives) / 1.38
    return narrow


def test_exponential_scores_are_covered() -> None:
    """At AUC 0.9 with a hundred positives and hardly any noise."""
    generator, positives, auc = np.random.default_rng(6), 100, 0.9
    ours = generator.standard_exponential((RELEASES, positives)) * auc / (1.0 - auc)
    areas = -np.expm1(-ours).mean(axis=1)  # with so many negatives that their scores' distribution is known
    assert coverage(areas, auc, positives, Fraction(20), auc_spread) >= 0.94
    assert coverage(areas, auc, positives, Fraction(20), normal_spread) < 0.90
