"""The AUC of a private curve whose model ranks nearly perfectly: its population interval is narrow, and covers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from confide import Grid, ScoreCounts
from confide.privacy import noisy_counts as private_counts
from confide.releases.curve_numbers import auc_intervals
from confide.releases.curves import draw_curves, noisy_counts, prepare_curves
from confide.releases.release import PrivateIntervals
from confide.releases.shapes import fitting_shape, shaped
from tests.noises import seeded

ROWS, PREVALENCE, EPSILON = 285, 0.63, 2


def drawn_rows(rng: np.random.Generator, auc: float) -> ScoreCounts:
    """Normal scores of an AUC in both classes, put between 0 and 1."""
    labels = rng.random(ROWS) < PREVALENCE
    apart = 2**0.5 * norm.ppf(auc)
    return ScoreCounts.from_arrays(labels, norm.cdf(rng.normal(apart * (labels - 0.5), 1.0)))


@pytest.mark.usefixtures("few_simulated_tables")
def test_the_population_interval_of_a_nearly_perfect_auc_is_not_everything() -> None:
    counts = drawn_rows(np.random.default_rng(1), 0.998)
    for draw in range(4):
        found = draw_curves(counts, epsilon=EPSILON, noise=seeded(draw)).intervals["auc"]
        assert found.sample.upper == pytest.approx(1.0, abs=0.02)
        assert found.population.lower > 0.8


def intervals_of(counts: ScoreCounts, seed: int) -> PrivateIntervals:
    """Both intervals of the AUC of one release, without the rest of the curve."""
    (raw,) = prepare_curves(counts, epsilon=EPSILON, noise=seeded(seed)).draw()
    noisy = noisy_counts(raw.parts["noisy_integers"], raw.options)
    generator = np.random.default_rng(0)
    agreed, noise = noisy.agreed(), noisy.noise(generator)
    table = shaped(noisy, fitting_shape(noisy, noise))
    grid = Grid(np.array(raw.options["grid"]))
    return auc_intervals(agreed=agreed, noise=noise, table=table, grid=grid, level=0.95, generator=generator)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("auc", [0.98, 0.998])
def test_the_population_interval_covers_a_nearly_perfect_auc(auc: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 releases; coverage of 0.94 fails with probability 1e-4, of 0.8 with 0.99.

    The mean width tells an interval that covers from one that says nothing.
    """
    monkeypatch.setattr(private_counts, "DRAWS", 1_000)
    rng = np.random.default_rng(3)
    found = [intervals_of(drawn_rows(rng, auc), seed) for seed in range(200)]
    assert sum(auc in both.population for both in found) >= binom.ppf(1e-4, 200, 0.94)
    assert np.mean([both.population.width for both in found]) < 0.1
