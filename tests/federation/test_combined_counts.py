"""The sum over sites and the sites' own noisy counts, put together: the same table with less noise, and nothing new."""

from __future__ import annotations

import base64
from dataclasses import replace
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.federation.coordinator.answers import (
    noise_parts,
    own_release,
    pooled_counts,
    summed_release,
)
from confide.federation.coordinator.performance import pooled_private
from confide.federation.private_noise import GaussianNoise, noise_of
from confide.federation.question import Question
from confide.privacy.mechanisms.private_counts import concentrated_counts, private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import NoisePart
from confide.privacy.queries import Noise
from confide.releases.curves import curves_of
from confide.releases.shared_counts import combined_release, weighted_parts
from tests.noises import SILENT, seeded

GAUSSIAN: dict[str, Any] = {"noise": "gaussian", "delta": "1e-6"}
both = pytest.mark.parametrize("terms", [{}, GAUSSIAN], ids=["laplace", "gaussian"])

SITES = tuple("abcde")
CELLS = np.random.default_rng(5).integers(0, 40, size=(5, 2, 20))


def asked(**given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "s", "model": "m", "mode": "private", "sites": SITES, "epsilon": 1}
    return Question.checked(**{**fixed, "grid": "arcsine:20", **given})


def sent(question: Question, noise: Noise) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What a coordinator is sent: the sum of shares, and each site's own counts."""
    law, strategy, own = noise_of(question), noise_of(question).strategy, {}
    shares = [law.share(each).draw(noise) for each in CELLS]
    for site, each in zip(SITES, CELLS, strict=True):
        if law.has_own:
            query = (
                concentrated_counts(each, law.own_rho, Neighbours.ADD_REMOVE_ONE, strategy)
                if isinstance(law, GaussianNoise)
                else private_counts(each, question.own_epsilon, Neighbours.ADD_REMOVE_ONE, strategy)
            )
            own[site] = {"noisy_integers": list(query.draw(noise))}
    total = np.sum(shares, axis=0).astype("<i8").tobytes()
    return {"counts": base64.b64encode(total).decode("ascii"), "wide": []}, own


@both
def test_without_noise_it_is_the_sum_of_all_sites(terms: dict[str, Any]) -> None:
    question = asked(**terms)
    release = pooled_counts(question, *sent(question, SILENT))
    assert np.allclose(curves_of(release, shape="counts").noisy.agreed(), CELLS.sum(axis=0))
    assert release.guarantee == noise_of(question).guarantee()


@both
def test_it_is_the_mean_of_both_by_the_inverse_of_their_variances(terms: dict[str, Any]) -> None:
    """Three shares make the noise of the sum, which has five; each site's own counts have one as large."""
    question = asked(**terms)
    total, own = sent(question, seeded(1))
    release = pooled_counts(question, total, own)
    summed = np.array(summed_release(question, total).parts["noisy_integers"])
    sums = np.sum([each["noisy_integers"] for each in own.values()], axis=0)
    assert np.allclose(release.parts["noisy_integers"], 0.75 * summed + 0.25 * sums, rtol=1e-4, atol=1e-3)
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
            noise_of(question).guarantee(),
        )


def test_tables_with_other_noise_are_refused() -> None:
    """Also where grid and strategy are the same."""
    question = asked(**GAUSSIAN)
    total, own = sent(question, seeded(4))
    like = own_release(question, own["a"])
    other = replace(like, options={**like.options, "noise": "laplace"})
    summed, guarantee = summed_release(question, total), noise_of(question).guarantee()
    combined_release(summed, [like], guarantee)
    with pytest.raises(ParameterError, match="different noise"):
        combined_release(summed, [other], guarantee)


def test_the_interval_of_gaussian_noise_is_that_of_a_normal_law() -> None:
    """Twelve empty cells make 32, whose integers have an inverse; the number of rows is a sum over 20 of its rows."""
    question = asked(**GAUSSIAN)
    law = noise_of(question)
    assert isinstance(law, GaussianNoise)
    variance = len(SITES) * law.pooled_shares.variance
    inverse = np.linalg.inv(law.strategy.measure(np.eye(32, dtype=np.int64)).T)
    each = 2.0 * (inverse[: CELLS.shape[2]].sum(axis=0) ** 2).sum()
    total, own = sent(question, seeded(8))
    for release, part in ((summed_release(question, total), 1.0), (pooled_counts(question, total, own), 0.75)):
        wanted = 2.0 * NormalDist().inv_cdf(0.975) * sqrt(each * part * variance)
        assert release.intervals.sample is not None
        assert release.intervals.sample.width == pytest.approx(wanted, rel=0.05)


def test_noise_has_the_variance_that_its_weights_rest_on() -> None:
    """Sample variances of 200,000 draws have a standard error of half a percent; two percent are allowed."""
    rng = np.random.default_rng(6)
    for part in (
        NoisePart(scale=2.0, shares=5 / 3, weight=1.0),
        NoisePart(scale=0.4, shares=5.0, weight=1.0),
        NoisePart(scale=7.0, shares=1.0, weight=1.0),
        NoisePart(scale=5.0, shares=2.5, weight=1.0, gaussian=True),
    ):
        assert part.draw(rng, (200_000,)).var() == pytest.approx(part.variance, rel=0.02)
    first, second = weighted_parts(
        NoisePart(scale=2.0, shares=5 / 3, weight=1.0), NoisePart(scale=2.0, shares=5.0, weight=1.0)
    )
    mean = first.weight * first.draw(rng, (200_000,)) + second.weight * second.draw(rng, (200_000,))
    assert mean.var() == pytest.approx(0.75 * first.variance, rel=0.02)


@both
def test_intervals_know_of_less_noise(terms: dict[str, Any]) -> None:
    question = asked(**terms)
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
