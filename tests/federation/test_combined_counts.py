"""The sum over sites and the sites' own noisy counts, put together: the same table with less noise, and nothing new."""

from __future__ import annotations

import base64
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.federation.coordinator.decode import (
    guarantee_of,
    noise_parts,
    own_release,
    pooled_counts,
    strategy_of,
    summed_release,
)
from confide.federation.coordinator.performance import pooled_private
from confide.federation.question import Question
from confide.intervals.private_counts import NoisePart
from confide.privacy.mechanisms.noise_shares import shared_counts
from confide.privacy.mechanisms.private_counts import private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import Noise
from confide.releases.curves_from_counts import curves_of
from confide.releases.shared_counts import combined_release, weighted_parts
from tests.noises import SILENT, seeded

pytestmark = pytest.mark.slow

SITES = tuple("abcde")
CELLS = np.random.default_rng(5).integers(0, 40, size=(5, 2, 20))


def asked(**given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "s", "model": "m", "mode": "private", "sites": SITES, "epsilon": 1}
    return Question.checked(**{**fixed, "grid": "arcsine:20", **given})


def sent(question: Question, noise: Noise) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What a coordinator is sent: the sum of shares, and each site's own counts."""
    strategy, own = strategy_of(question), {}
    shares = [
        shared_counts(each, question.pooled_epsilon, honest=question.honest, strategy=strategy).draw(noise)
        for each in CELLS
    ]
    for site, each in zip(SITES, CELLS, strict=True):
        if question.own_epsilon:
            query = private_counts(each, question.own_epsilon, Neighbours.ADD_REMOVE_ONE, strategy)
            own[site] = {"noisy_integers": list(query.draw(noise))}
    total = np.sum(shares, axis=0).astype("<i8").tobytes()
    return {"counts": base64.b64encode(total).decode("ascii"), "wide": []}, own


def test_without_noise_it_is_the_sum_of_all_sites() -> None:
    question = asked()
    release = pooled_counts(question, *sent(question, SILENT))
    assert np.allclose(curves_of(release, shape="counts").noisy.agreed(), CELLS.sum(axis=0))
    assert release.guarantee == guarantee_of(question, Fraction(1))


def test_it_is_the_mean_of_both_by_the_inverse_of_their_variances() -> None:
    question = asked()
    total, own = sent(question, seeded(1))
    release = pooled_counts(question, total, own)
    summed = np.array(summed_release(question, total).parts["noisy_integers"])
    sums = np.sum([each["noisy_integers"] for each in own.values()], axis=0)
    assert np.allclose(release.parts["noisy_integers"], 0.75 * summed + 0.25 * sums)
    parts, _ = noise_parts(question)
    assert tuple(NoisePart(**part) for part in release.options["parts"]) == parts


def test_without_own_counts_or_with_some_missing_it_is_the_sum_alone() -> None:
    alone = asked(site_share=0)
    total, _ = sent(alone, seeded(2))
    assert pooled_counts(alone, total, {}) == summed_release(alone, total)
    question = asked()
    total, own = sent(question, seeded(3))
    del own["c"]
    assert pooled_counts(question, total, own) == summed_release(question, total)


def test_tables_on_other_cells_are_refused() -> None:
    question, other = asked(), asked(grid="uniform:20")
    total, own = sent(question, seeded(4))
    with pytest.raises(ParameterError, match="different grids"):
        combined_release(
            summed_release(question, total),
            [own_release(other, own["a"])],
            guarantee_of(question, Fraction(1)),
        )


def test_noise_has_the_variance_that_its_weights_rest_on() -> None:
    """Sample variances of 200,000 draws have a standard error of half a percent; two percent are allowed."""
    rng = np.random.default_rng(6)
    for part in (
        NoisePart(scale=2.0, shares=5 / 3, weight=1.0),
        NoisePart(scale=0.4, shares=5.0, weight=1.0),
        NoisePart(scale=7.0, shares=1.0, weight=1.0),
    ):
        assert part.draw(rng, (200_000,)).var() == pytest.approx(part.variance, rel=0.02)
    first, second = weighted_parts(
        NoisePart(scale=2.0, shares=5 / 3, weight=1.0), NoisePart(scale=2.0, shares=5.0, weight=1.0)
    )
    mean = first.weight * first.draw(rng, (200_000,)) + second.weight * second.draw(rng, (200_000,))
    assert mean.var() == pytest.approx(0.75 * first.variance, rel=0.02)


def test_intervals_know_of_less_noise() -> None:
    question = asked()
    total, own = sent(question, seeded(7))
    both, summed = (
        curves_of(release) for release in (pooled_counts(question, total, own), summed_release(question, total))
    )
    assert both.intervals["auc"].sample.width < 0.95 * summed.intervals["auc"].sample.width
    blind = replace(both.raw, options={**both.raw.options, "parts": []})
    assert curves_of(blind).intervals["rows"].sample.width > 1.1 * both.intervals["rows"].sample.width


def test_the_thresholds_of_the_pooled_curve_are_lower_edges() -> None:
    """Among them those of all cells; there the curve has the rates of the counts."""
    question = asked()
    curves = curves_of(pooled_counts(question, *sent(question, SILENT)), shape="counts")
    pooled = pooled_private(curves)
    assert pooled.roc is not None
    edges = question.public_grid.edges[:-1]
    assert set(edges) <= set(pooled.roc.thresholds)
    above = {edge: CELLS.sum(axis=0)[0, place:].sum() / CELLS.sum(axis=0)[0].sum() for place, edge in enumerate(edges)}
    found = dict(zip(pooled.roc.thresholds, pooled.roc.true_positive_rate, strict=True))
    assert all(found[edge] == pytest.approx(rate) for edge, rate in above.items())
