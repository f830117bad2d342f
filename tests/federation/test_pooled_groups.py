"""Pooling groups of cells: near to what all rows give, exact where that is possible, and bounded for sure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.counts import FloatArray, ScoreCounts
from confide.curves.reliability import reliability_bins
from confide.errors import ParameterError
from confide.federation.coordinator import pooling
from confide.federation.coordinator.performance import pooled_grouped
from confide.federation.coordinator.pooling import pooled_from_groups
from confide.federation.tables import DisclosedTable, disclosed
from confide.grid import Grid
from confide.intervals.delong import delong_interval
from confide.metrics.calibration import (
    brier_score,
    calibration_intercept,
    calibration_slope,
)
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from tests.federation.pooled_sites import gbsg2_sites, heart_sites, known, simulated

FINE, COARSE = Grid.uniform(65536), Grid.uniform(100)


@pytest.mark.parametrize("seed", range(6))
def test_groups_come_near_to_what_all_rows_give(seed: int) -> None:
    parts = simulated(seed)
    whole = ScoreCounts.total(parts)
    found = pooled_grouped([disclosed(part, COARSE, 5) for part in parts])
    assert found.bounds is not None
    assert found.bounds.lower <= auc_score(whole) <= found.bounds.upper
    assert found.auc.value == pytest.approx(auc_score(whole), abs=0.01)
    direct, ends = delong_interval(whole), known(found.auc.interval)
    assert (ends.lower, ends.upper) == pytest.approx((direct.lower, direct.upper), abs=0.01)
    assert (found.rows, found.positives) == (whole.total_positives + whole.total_negatives, whole.total_positives)
    for estimate, value, within in (
        (found.brier, brier_score(whole), 0.5 * len(parts) / (found.rows or 1)),
        (found.average_precision, average_precision_score(whole), 0.025),
        (found.calibration_slope, calibration_slope(whole), 0.12),
        (found.calibration_intercept, calibration_intercept(whole), 0.05),
    ):
        assert estimate is not None
        assert estimate.value == pytest.approx(value, abs=within)
    assert found.observed_expected is not None
    expected = np.dot(whole.positives + whole.negatives, whole.scores)
    assert whole.total_positives / found.observed_expected.value == pytest.approx(expected, abs=0.5 * len(parts))
    bins, points = reliability_bins(whole, bins=10), found.calibration
    assert points is not None
    assert points.weight.sum() == pytest.approx(
        bins.weight.sum(), abs=1.0
    )  # bins with less than half a row are left out
    large = bins.weight > 40
    at = (bins.mean_score[large] * 10).astype(int)
    mine = {int(low * 10 + 0.5): share for low, share in zip(points.lower_edge, points.observed, strict=True)}
    assert [mine[place] for place in at.tolist()] == pytest.approx(bins.observed[large].tolist(), abs=0.06)


def evenly(table: DisclosedTable, finer: Grid) -> FloatArray:
    """The simpler way: every finer cell of a group gets as many rows as its width says."""
    sides = (table.positives, table.negatives)
    edges = [table.grid.edges[np.array((*side.starts, len(table.grid)))] for side in sides]
    through = [np.concatenate(([0], np.cumsum(side.counts))) for side in sides]
    return np.stack([np.diff(np.interp(finer.edges, *each)) for each in zip(edges, through, strict=True)])


def test_sums_place_rows_much_better_than_an_even_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    studies = [simulated(seed, sites=3 + seed % 3, least=40) for seed in range(100, 120)]
    exact = np.array([auc_score(ScoreCounts.total(parts)) for parts in studies])
    sent = [[disclosed(part, COARSE, 5) for part in parts] for parts in studies]
    errors = np.array([pooled_from_groups(tables).auc for tables in sent]) - exact
    monkeypatch.setattr(pooling, "_spread", evenly)
    simpler = np.array([pooled_from_groups(tables).auc for tables in sent]) - exact
    assert np.sqrt(np.mean(errors**2)) < 0.004
    assert np.sqrt(np.mean(simpler**2)) > 0.012


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_spread_with_the_least_change_that_the_sums_ask_for(seed: int) -> None:
    """Group totals hold, the sums are met, and with these the relative entropy is least: against a general solver."""
    from scipy.optimize import minimize

    (part,) = simulated(seed, sites=1, least=40, most=60)
    table = disclosed(part, Grid.uniform(6), 5)
    finer = Grid.uniform(6)
    found = pooling._spread(table, finer).ravel()
    middle, starts = finer.representatives, [*table.positives.starts, *(6 + at for at in table.negatives.starts)]
    members = np.repeat(np.eye(len(starts)), np.diff([*starts, 12]), axis=1)
    sums = np.stack((np.tile(middle, 2), np.concatenate(((1 - middle) ** 2, middle**2))))
    fixed, known_sums = np.concatenate((members, sums)), np.concatenate((members @ found, sums @ found))
    assert (members @ found) == pytest.approx([*table.positives.counts, *table.negatives.counts])
    assert (sums @ found) == pytest.approx([table.score_sum, table.squared_error], abs=0.05)
    prior = np.tile(middle * (1 - middle), 2)
    alike = {"type": "eq", "fun": lambda rows: fixed @ rows - known_sums, "jac": lambda rows: fixed}
    solve: Any = minimize
    direct = solve(
        lambda rows: float(np.sum(rows * np.log(rows / prior))),
        np.maximum(found * 0.9 + 0.1, 1e-6),
        jac=lambda rows: np.log(rows / prior) + 1.0,
        bounds=[(1e-9, None)] * 12,
        constraints=alike,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found == pytest.approx(direct.x, abs=0.01)


def test_groups_of_gbsg2_and_heart_disease(shared_data: Path) -> None:
    for parts, within in ((gbsg2_sites(shared_data), 0.002), (list(heart_sites(shared_data).values()), 0.004)):
        found = pooled_grouped([disclosed(part, COARSE, 5) for part in parts])
        assert found.auc.value == pytest.approx(auc_score(ScoreCounts.total(parts)), abs=within)


def test_one_sites_groups_give_nearly_its_own_auc() -> None:
    errors = []
    for seed in range(40):
        (part,) = simulated(seed, sites=1, least=50)
        found, direct = pooled_grouped({"North": disclosed(part, COARSE, 5)}), delong_interval(part)
        assert found.bounds is not None
        assert found.bounds.lower <= auc_score(part) <= found.bounds.upper
        ends = known(found.auc.interval)
        assert (ends.lower, ends.upper) == pytest.approx((direct.lower, direct.upper), abs=0.1)
        errors.append(found.auc.value - auc_score(part))
    assert np.sqrt(np.mean(np.square(errors))) < 0.01


def test_totals_of_estimated_counts_are_exact() -> None:
    parts = simulated(5)
    found = pooled_from_groups([disclosed(part, Grid.uniform(30), 7) for part in parts])
    whole = ScoreCounts.total(parts)
    assert found.cells.sum(axis=1) == pytest.approx([whole.total_positives, whole.total_negatives])
    assert (found.cells >= 0.0).all()
    assert found.expected == pytest.approx(
        np.dot(whole.positives + whole.negatives, whole.scores), abs=0.5 * len(parts)
    )


def test_groups_at_the_ends_of_the_range() -> None:
    """All scores 0 or 1, or all equal: sums that no rows in the cells' middles have, and nothing that is not finite."""
    for scores in ([0.0] * 10 + [1.0] * 10, [0.5] * 20, [0.0] * 20):
        counts = ScoreCounts.from_arrays([0, 1] * 10, scores)
        found = pooled_grouped([disclosed(counts, COARSE, 5)] * 3)
        assert found.bounds is not None
        assert found.bounds.lower <= 0.5 <= found.bounds.upper
        assert np.isnan(found.auc.value) or found.bounds.lower <= found.auc.value <= found.bounds.upper
        assert found.brier is not None
        assert found.brier.value == pytest.approx(brier_score(counts), abs=0.025)
        json.dumps(found.to_dict(), allow_nan=False)


def test_groups_on_other_grids_do_not_pool() -> None:
    (part,) = simulated(1, sites=1)
    for tables in (
        [],
        [disclosed(part, COARSE, 5), disclosed(part, COARSE, 6)],
        [disclosed(part, COARSE), disclosed(part, FINE)],
    ):
        with pytest.raises(ParameterError):
            pooled_grouped(tables)


def site_of(law: str, positives: int, negatives: int, rng: np.random.Generator) -> ScoreCounts:
    """A site's rows, of which groups hide the order."""
    means = {"low risks": (-2.0, -3.2), "worthless": (-0.5, -0.5)}.get(law, (0.5, -1.0))
    odds = np.concatenate(
        [rng.normal(mean, 1.0, size) for mean, size in zip(means, (positives, negatives), strict=True)]
    )
    scores = 1.0 / (1.0 + np.exp(-odds))
    return ScoreCounts.from_arrays(
        np.arange(scores.size) < positives, scores.round(1) if law == "tenths" else scores, one_class=True
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("law", ["smooth", "low risks", "worthless", "tenths"])
@pytest.mark.parametrize("sizes", [(12, 30), (20, 40), (50, 150)])
def test_the_error_of_a_sites_auc_has_what_groups_hide_in_it(law: str, sizes: tuple[int, int]) -> None:
    """With DeLong's variance alone it would be too small; of 60 sites at least 51 lie within 1.96 of the rest."""
    rng, errors, shares = np.random.default_rng([*sizes]), [], []
    for _ in range(60):
        rows = site_of(law, *sizes, rng)
        found = pooled_from_groups([disclosed(rows, COARSE, 5)])
        errors.append(found.auc - auc_score(rows))
        shares.append(found.auc_group_error)
        auc = pooled_grouped([disclosed(rows, COARSE, 5)]).auc
        if not np.isnan(auc.value):
            assert auc.standard_error == pytest.approx(np.hypot(np.sqrt(found.auc_variance), found.auc_group_error))
    assert np.sqrt(np.mean(np.square(errors))) < 1.2 * np.mean(shares)
    assert np.count_nonzero(np.abs(errors) <= 1.96 * np.array(shares)) >= 51


@pytest.mark.parametrize("law", ["smooth", "low risks", "tenths"])
def test_the_error_over_sites_has_what_groups_hide_in_it(law: str) -> None:
    rng, within = np.random.default_rng(7), 0
    for _ in range(20):
        parts = [site_of(law, 30, 70, rng) for _ in range(4)]
        found = pooled_from_groups([disclosed(part, COARSE, 5) for part in parts])
        within += abs(found.auc - auc_score(ScoreCounts.total(parts))) <= 1.96 * found.auc_group_error
        assert 0.0 < found.auc_group_error < 1.2 * np.sqrt(found.auc_variance)
    assert within >= 17


@pytest.mark.parametrize("sizes", [(6, 40), (8, 8), (100, 9), (5, 5)])
def test_one_group_of_a_class_says_nothing_about_auc(sizes: tuple[int, int]) -> None:
    """All of a class in one group: an estimate would be off by 0.03 to 0.18 (root mean square), and up to 0.37."""
    rows = site_of("low risks", *sizes, np.random.default_rng(1))
    found = pooled_grouped([disclosed(rows, COARSE, 5)])
    assert np.isnan(found.auc.value)
    assert (found.auc.interval, found.auc.standard_error) == (None, None)
    assert found.bounds is not None
    assert (found.bounds.lower, found.bounds.upper) == (0.0, 1.0)
    assert (found.roc, found.pr, found.average_precision, found.calibration_slope, found.roc_glm) == (None,) * 5
    assert found.observed_expected is not None
    assert (found.rows, found.positives) == (sum(sizes), sizes[0])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["auc"]["value"] is None
