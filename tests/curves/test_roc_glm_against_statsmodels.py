"""The ROC-GLM in one round against statsmodels, distributed Fisher scoring and the published demo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ndtri
from studies.schalk.fisher_scoring import SiteStep, distributed_fit, site_step

from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc_glm import (
    RocGlm,
    equidistant_thresholds,
    fit_roc_glm,
    placement_thresholds,
    roc_glm,
    roc_glm_of_cells,
    survivor,
    threshold_counts,
)
from confide.errors import ConfideError, DataError, ParameterError
from confide.grid import Grid

Site = tuple[NDArray[np.int64], FloatArray]


def random_sites(seed: int, sites: int = 4) -> list[Site]:
    """Sites whose model works differently well, some with ties."""
    rng = np.random.default_rng(seed)
    found: list[Site] = []
    for _ in range(sites):
        rows = int(rng.integers(30, 150))
        labels = (rng.random(rows) < rng.uniform(0.3, 0.7)).astype(np.int64)
        labels[:2] = (0, 1)
        scores = rng.normal(size=rows) * np.where(labels, rng.uniform(0.7, 1.5), 1.0) + rng.uniform(0.2, 1.2) * labels
        found.append((labels, np.round(scores, 2).astype(np.float64)))
    return found


def gbsg2(shared_data: Path) -> list[Site]:
    frame = pl.read_csv(shared_data / "gbsg2_federated_scores.csv.gz")
    found = []
    for part in frame.partition_by("server"):
        labels: NDArray[np.int64] = part["label"].to_numpy()
        scores: FloatArray = part["score"].to_numpy()
        found.append((labels, scores))
    return found


def placements(sites: Sequence[Site]) -> list[FloatArray]:
    """The share of all negatives above each positive, site by site, by definition."""
    negatives = np.concatenate([scores[labels == 0] for labels, scores in sites])
    return [
        np.array([np.count_nonzero(negatives > score) / negatives.size for score in scores[labels == 1]])
        for labels, scores in sites
    ]


def asked(sites: Sequence[Site], thresholds: FloatArray) -> list[Callable[[Sequence[float]], SiteStep]]:
    return [partial(site_step, at, thresholds) for at in placements(sites)]


def pooled(sites: Sequence[Site]) -> ScoreCounts:
    return ScoreCounts.total([ScoreCounts.from_arrays(*site) for site in sites])


@pytest.mark.parametrize("seed", range(12))
def test_one_round_equals_distributed_fisher_scoring(seed: int) -> None:
    sites = random_sites(seed)
    counts = pooled(sites)
    above = survivor(counts.negatives)
    for at in (equidistant_thresholds(), placement_thresholds(counts.positives, above)):
        one_round = roc_glm(counts, at)
        iterated = distributed_fit(asked(sites, at), tolerance=1e-15)
        assert one_round.intercept == pytest.approx(iterated.curve.intercept, abs=1e-8)
        assert one_round.slope == pytest.approx(iterated.curve.slope, abs=1e-8)
        assert iterated.aggregations > 3


@pytest.mark.parametrize("seed", range(3))
def test_sites_numbers_add_up(seed: int) -> None:
    """Each site counts with the survivor function of all, on the scores of all; the sum is fitted."""
    sites = random_sites(seed)
    counts = pooled(sites)
    above, at = survivor(counts.negatives), equidistant_thresholds()
    grid = Grid(np.append(counts.scores, counts.scores[-1] + 1.0))
    below = np.zeros(at.size, dtype=np.int64)
    for (labels, scores), by_definition in zip(sites, placements(sites), strict=True):
        positives = np.bincount(grid.cells(scores[labels == 1]), minlength=len(grid))
        mine = threshold_counts(positives, above, at)
        assert mine.tolist() == [np.count_nonzero(by_definition <= t) for t in at]
        below += mine
    assert fit_roc_glm(at, below, counts.total_positives) == roc_glm(counts)


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_are_those_of_statsmodels(seed: int) -> None:
    import statsmodels.api as sm

    counts = pooled(random_sites(seed))
    at = equidistant_thresholds()
    below = threshold_counts(counts.positives, survivor(counts.negatives), at)
    response = np.column_stack((below, counts.total_positives - below))
    family = sm.families.Binomial(sm.families.links.Probit())
    found = sm.GLM(response, sm.add_constant(ndtri(at)), family=family).fit(tol=1e-14)
    fitted = fit_roc_glm(at, below, counts.total_positives)
    assert (fitted.intercept, fitted.slope) == pytest.approx(tuple(found.params), abs=1e-9)


def test_gbsg2_at_thirty_equidistant_points(shared_data: Path) -> None:
    sites = gbsg2(shared_data)
    fitted = roc_glm(pooled(sites))
    assert round(fitted.auc, 3) == 0.679
    iterated = distributed_fit(asked(sites, equidistant_thresholds()))  # R's rule to stop
    assert (fitted.intercept, fitted.slope) == pytest.approx((iterated.curve.intercept, iterated.curve.slope), abs=1e-8)
    assert iterated.aggregations == 6


def test_gbsg2_at_each_sites_positive_scores(shared_data: Path) -> None:
    """The reference packages' choice: a site's own positives' scores are its thresholds, where inside (0, 1)."""
    sites = gbsg2(shared_data)
    chosen = [scores[(labels == 1) & (scores > 0.0) & (scores < 1.0)] for labels, scores in sites]
    values = placements(sites)
    below = [np.count_nonzero(at <= t) for at, own in zip(values, chosen, strict=True) for t in own]
    trials = [at.size for at, own in zip(values, chosen, strict=True) for _ in own]
    fitted = fit_roc_glm(np.concatenate(chosen), below, trials)
    assert round(fitted.auc, 3) == 0.679
    steps = [partial(site_step, at, own) for at, own in zip(values, chosen, strict=True)]
    iterated = distributed_fit(steps, tolerance=1e-14)
    assert (fitted.intercept, fitted.slope) == pytest.approx((iterated.curve.intercept, iterated.curve.slope), abs=1e-8)


def test_the_area_is_that_under_the_curve() -> None:
    for intercept, slope in ((0.64, 0.95), (-0.3, 1.7), (2.0, 0.2)):
        curve = RocGlm(intercept=intercept, slope=slope)
        area, _ = quad(lambda t, curve=curve: float(curve.roc(t)), 0.0, 1.0, epsabs=1e-9, limit=200)
        assert curve.auc == pytest.approx(area, abs=1e-6)
    assert RocGlm(intercept=1.0, slope=1.0).roc([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_normal_classes_give_back_their_curve() -> None:
    """Positives N(1.2, 1.5), negatives N(0, 1), at their quantiles: a = 0.8 and b = 2/3."""
    share = (np.arange(4000) + 0.5) / 4000
    scores = np.concatenate((1.2 + 1.5 * ndtri(share), ndtri(share)))
    fitted = roc_glm(ScoreCounts.from_arrays(np.repeat([1, 0], 4000), scores))
    assert (fitted.intercept, fitted.slope) == pytest.approx((0.8, 2.0 / 3.0), abs=2e-3)


def test_wide_cells_are_taken_as_mixed() -> None:
    counts = pooled(random_sites(5, sites=12))
    exact = roc_glm(counts).auc
    on_cells = counts.project(Grid.uniform(20, -4.0, 5.0))
    assert roc_glm_of_cells(on_cells.positives, on_cells.negatives).auc == pytest.approx(exact, abs=0.006)
    assert roc_glm(on_cells).auc > exact + 0.02  # a positive would beat every negative of its cell


@pytest.mark.parametrize(
    "below",
    [
        [0, 0, 0, 0],
        [9, 9, 9, 9],
        [0, 0, 9, 9],
        [0, 4, 9, 9],
        [4, 9, 9, 9],
    ],
)
def test_separated_classes_have_no_curve(below: list[int]) -> None:
    at = [0.2, 0.4, 0.6, 0.8]
    with pytest.raises(DataError, match="separated"):
        fit_roc_glm(at, below, 9)


def test_distributed_scoring_says_so_too() -> None:
    with pytest.raises(DataError, match="separated"):
        distributed_fit([lambda line: site_step([0.0, 0.0, 0.0], equidistant_thresholds(), line)])


@pytest.mark.parametrize("scale", [1, 1_000_000])
def test_steep_and_flat_curves_converge(scale: int) -> None:
    at = equidistant_thresholds()
    for intercept, slope in ((3.0, 0.1), (-2.0, 4.0), (0.0, 0.0), (5.0, 6.0)):
        share = RocGlm(intercept=intercept, slope=slope).roc(at)
        fitted = fit_roc_glm(at, scale * share, scale)
        assert (fitted.intercept, fitted.slope) == pytest.approx((intercept, slope), abs=1e-6)


@pytest.mark.parametrize(
    ("thresholds", "below", "positives"),
    [([0.0, 0.5], [1, 2], 3), ([0.5, 1.0], [1, 2], 3), ([0.2, 0.5], [1], 3), ([0.2, 0.5], [1, 4], 3), ([0.5], [1], 3)],
)
def test_bad_numbers_are_refused(thresholds: list[float], below: list[int], positives: int) -> None:
    with pytest.raises(ConfideError):
        fit_roc_glm(thresholds, below, positives)


def test_bad_choices_are_refused() -> None:
    with pytest.raises(ParameterError, match="points"):
        equidistant_thresholds(2)
    with pytest.raises(ParameterError, match="false_positive_rate"):
        RocGlm(intercept=0.0, slope=1.0).roc([1.5])
    with pytest.raises(ParameterError, match="sites"):
        distributed_fit([])
