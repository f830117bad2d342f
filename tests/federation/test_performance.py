"""What a coordinator derives against direct evaluation of all rows: exact, grouped and private."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.counts import ScoreCounts
from confide.curves.reliability import decision_curve, reliability_bins
from confide.curves.roc import roc_curve
from confide.curves.roc_glm import roc_glm
from confide.errors import ConfideError
from confide.federation.coordinator.performance import NoLine, Performance, pooled_exact, pooled_grouped, pooled_private
from confide.federation.tables import SiteTable, disclosed
from confide.grid import Grid
from confide.intervals.delong import delong_interval
from confide.intervals.random_effects import (
    auc_random_effects,
    observed_expected_random_effects,
    ratio_random_effects,
)
from confide.metrics.calibration import (
    brier_score,
    calibration_intercept,
    calibration_slope,
    observed_expected_ratio,
)
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from confide.metrics.threshold import confusion_matrix
from confide.releases.curves import draw_curves
from confide.tasks.evaluate import evaluate
from tests.federation.pooled_sites import gbsg2_sites, heart_sites, known, simulated
from tests.noises import seeded

FINE = Grid.uniform(65536)


@pytest.fixture(scope="module")
def heart(shared_data: Path) -> dict[str, ScoreCounts]:
    return heart_sites(shared_data)


def summed(parts: list[ScoreCounts], grid: Grid = FINE) -> SiteTable:
    total: SiteTable = sum(SiteTable.of(part, grid) for part in parts)  # type: ignore[assignment]
    return total


def check_against_rows(found: Performance, whole: ScoreCounts) -> None:
    """Everything that is exact but for ties within cells, which a fine grid has none of."""
    assert (found.rows, found.positives) == (whole.total_positives + whole.total_negatives, whole.total_positives)
    assert found.auc.value == pytest.approx(auc_score(whole), abs=1e-12)
    direct, ends = delong_interval(whole), known(found.auc.interval)
    assert (ends.lower, ends.upper) == pytest.approx((direct.lower, direct.upper), abs=1e-12)
    numbers: list[tuple[Any, float, float]] = [
        (found.average_precision, average_precision_score(whole), 1e-12),
        (found.brier, brier_score(whole), 1e-14),
        (found.observed_expected, observed_expected_ratio(whole), 1e-12),
        (found.calibration_intercept, calibration_intercept(whole), 1e-4),
        (found.calibration_slope, calibration_slope(whole), 1e-4),
    ]
    for estimate, value, within in numbers:
        assert estimate.value == pytest.approx(value, abs=within)
    curve = roc_curve(whole)
    assert found.roc is not None
    heights = np.interp(found.roc.false_positive_rate, curve.false_positive_rate, curve.true_positive_rate)
    assert found.roc.area == pytest.approx(curve.area, abs=1e-12)
    upright = np.diff(found.roc.false_positive_rate, append=2.0) > 0
    assert found.roc.true_positive_rate[upright] == pytest.approx(heights[upright], abs=1e-12)
    bins, points = reliability_bins(whole, bins=10), found.calibration
    assert points is not None
    assert points.weight.tolist() == bins.weight.tolist()
    assert points.mean_score == pytest.approx(bins.mean_score, abs=1e-12)
    assert points.observed == pytest.approx(bins.observed, abs=1e-12)
    assert found.decision is not None
    by_rows = decision_curve(whole, found.decision.threshold)
    assert found.decision.net_benefit == pytest.approx(by_rows.net_benefit, abs=1e-12)
    assert found.roc_glm is not None
    assert found.roc_glm.auc == pytest.approx(roc_glm(whole).auc, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_sums_give_what_all_rows_give(seed: int) -> None:
    parts = simulated(seed)
    check_against_rows(pooled_exact(summed(parts, Grid.uniform(2**20))), ScoreCounts.total(parts))


def test_gbsg2_to_the_published_digits(shared_data: Path) -> None:
    parts = gbsg2_sites(shared_data)
    found = pooled_exact(summed(parts))
    assert found.auc.value == pytest.approx(0.679393481182796, abs=5e-16)
    assert found.brier is not None
    assert found.brier.value == pytest.approx(0.184339869255296, abs=6e-16)
    ends = known(found.auc.interval)
    assert (round(ends.lower, 6), round(ends.upper, 6)) == (0.598171, 0.751031)
    assert found.roc_glm is not None
    assert round(found.roc_glm.auc, 3) == 0.679
    bins = reliability_bins(ScoreCounts.total(parts), bins=10)
    assert found.calibration is not None
    assert found.calibration.weight.tolist() == bins.weight.tolist()  # with the six rows whose score is exactly 0


def test_heart_disease_at_four_and_at_three_sites(heart: dict[str, ScoreCounts]) -> None:
    for sites in (list(heart), [name for name in heart if name != "cleveland"]):
        parts = [heart[name] for name in sites]
        found = pooled_exact(summed(parts, Grid.uniform(2**20)))
        check_against_rows(found, ScoreCounts.total(parts))


def test_heart_disease_differs_between_sites(heart: dict[str, ScoreCounts]) -> None:
    """Cleveland's model at the other three: risks are too low in Switzerland, too high in Hungary."""
    others = [heart[name] for name in heart if name != "cleveland"]
    each = [pooled_exact(SiteTable.of(part, FINE)) for part in others]
    errors = [site.auc.standard_error for site in each if site.auc.standard_error is not None]
    aucs = auc_random_effects([site.auc.value for site in each], [error**2 for error in errors])
    assert aucs.prediction is not None
    assert aucs.prediction.lower < aucs.interval.lower < aucs.value < aucs.interval.upper < aucs.prediction.upper
    observed = [part.total_positives for part in others]
    expected = [float(np.dot(part.positives + part.negatives, part.scores)) for part in others]
    rows = [part.total_positives + part.total_negatives for part in others]
    ratios = observed_expected_random_effects(observed, expected, rows)
    assert ratios.i_squared is not None
    assert ratios.i_squared > 0.8
    for site, o, e in zip(each, observed, expected, strict=True):
        assert site.observed_expected is not None
        assert site.observed_expected.value == pytest.approx(o / e, rel=1e-12)


def test_errors_of_the_calibration_line_are_the_robust_ones_of_statsmodels() -> None:
    """With the correction n / (n - k), which statsmodels leaves out of these."""
    import statsmodels.api as sm

    counts = summed(simulated(2)).counts()
    found = pooled_exact(summed(simulated(2)))
    odds = np.log(counts.scores / (1.0 - counts.scores))
    positives, negatives = counts.positives.astype(int), counts.negatives.astype(int)
    rows = np.concatenate([np.repeat(odds, positives), np.repeat(odds, negatives)])
    labels = np.repeat([1.0, 0.0], [positives.sum(), negatives.sum()])
    robust = {"tol": 1e-12, "cov_type": "HC0"}
    line = sm.GLM(labels, sm.add_constant(rows), family=sm.families.Binomial()).fit(**robust)
    shift = sm.GLM(labels, np.ones((len(rows), 1)), family=sm.families.Binomial(), offset=rows).fit(**robust)
    for estimate, value, error in (
        (found.calibration_slope, line.params[1], line.bse[1] * np.sqrt(len(rows) / (len(rows) - 2))),
        (found.calibration_intercept, shift.params[0], shift.bse[0] * np.sqrt(len(rows) / (len(rows) - 1))),
    ):
        assert estimate is not None
        assert (estimate.value, estimate.standard_error) == pytest.approx((value, error), rel=1e-6)


def test_the_error_of_the_brier_score_is_that_of_a_mean() -> None:
    parts = simulated(3)
    whole, found = ScoreCounts.total(parts), pooled_exact(summed(parts))
    squared = np.concatenate(
        (np.repeat((1 - whole.scores) ** 2, whole.positives), np.repeat(whole.scores**2, whole.negatives))
    )
    assert found.brier is not None
    assert found.brier.standard_error == pytest.approx(squared.std() / math.sqrt(squared.size), rel=1e-4)


def test_the_error_of_the_ratio_is_that_of_two_means_of_the_same_rows() -> None:
    (part,) = simulated(3, sites=1)
    found = pooled_exact(SiteTable.of(part, FINE)).observed_expected
    assert found is not None
    assert found.standard_error is not None
    labels = np.repeat(np.array([1.0, 0.0]), [int(part.total_positives), int(part.total_negatives)])
    scores = np.concatenate((np.repeat(part.scores, part.positives), np.repeat(part.scores, part.negatives)))
    means, spread = (labels.mean(), scores.mean()), np.cov(labels, scores, ddof=0) / labels.size
    slopes = np.array([1.0 / means[0], -1.0 / means[1]])  # of the logarithm of the ratio
    error = float(np.sqrt(slopes @ spread @ slopes))
    assert found.standard_error == pytest.approx(found.value * error, rel=1e-4)  # rows lie in the middle of cells
    ends = known(found.interval)
    assert np.log([ends.lower, ends.upper]) == pytest.approx(
        np.log(found.value) + np.array([-1.0, 1.0]) * 1.959963984540054 * error, abs=1e-4
    )
    one = ratio_random_effects([found.value], [(found.standard_error / found.value) ** 2]).interval
    assert (ends.lower, ends.upper) == pytest.approx((one.lower, one.upper), rel=1e-9)


@pytest.mark.parametrize("grid", [Grid.uniform(37), Grid.arcsine(24), Grid(np.array([0.0, 0.4, 1.0]))])
def test_thresholds_give_the_points_of_the_rows(grid: Grid) -> None:
    """On wide cells too: calling positive what is at or above a curve's threshold gives its point."""
    whole = ScoreCounts.total(simulated(6))
    found = pooled_exact(SiteTable.of(whole, grid))
    assert found.roc is not None
    assert found.pr is not None
    assert found.decision is not None
    for x, y, threshold in zip(
        found.roc.false_positive_rate[1:], found.roc.true_positive_rate[1:], found.roc.thresholds[1:], strict=True
    ):
        at = confusion_matrix(whole, float(threshold))
        assert (x, y) == pytest.approx((1.0 - at.specificity, at.recall), abs=1e-12)
    for recall, precision, threshold in zip(found.pr.recall, found.pr.precision, found.pr.thresholds, strict=True):
        at = confusion_matrix(whole, float(threshold))
        assert (recall, precision) == pytest.approx((at.recall, at.precision), abs=1e-12)
    assert set(found.decision.threshold.tolist()) <= set(grid.edges.tolist())
    by_rows = decision_curve(whole, found.decision.threshold)
    assert found.decision.net_benefit == pytest.approx(by_rows.net_benefit, abs=1e-12)


def test_scores_that_are_no_probabilities_have_no_calibration() -> None:
    grid = Grid.uniform(4096, -8.0, 8.0)
    labels, scores = np.repeat([1, 0], 50), np.random.default_rng(0).normal(size=100)
    for found in (
        pooled_exact(SiteTable.of(ScoreCounts.from_arrays(labels, scores), grid)),
        pooled_exact(SiteTable.of(ScoreCounts.from_arrays(labels, np.abs(scores) / 8), grid)),  # the grid decides
        pooled_grouped([disclosed(ScoreCounts.from_arrays(labels, scores), Grid.uniform(50, -8.0, 8.0), 5)]),
    ):
        absent = ("brier", "observed_expected", "calibration_intercept", "calibration_slope", "calibration", "decision")
        assert all(getattr(found, name) is None for name in absent)
        assert found.roc_glm is not None
        json.dumps(found.to_dict(), allow_nan=False)


def test_perfect_ranking_has_no_curve_to_fit_but_an_interval() -> None:
    counts = ScoreCounts.from_arrays([0] * 20 + [1] * 20, np.linspace(0.01, 0.99, 40))
    found = pooled_exact(SiteTable.of(counts, FINE))
    assert (found.auc.value, found.roc_glm, found.calibration_slope) == (1.0, None, None)
    assert known(found.auc.interval).lower > 0.8
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_single_positive_has_no_interval_and_one_class_no_result() -> None:
    found = pooled_exact(SiteTable.of(ScoreCounts.from_arrays([0, 0, 1], [0.1, 0.3, 0.2]), FINE))
    assert (found.auc.value, found.auc.interval) == (0.5, None)
    with pytest.raises(ConfideError, match="one class"):
        pooled_exact(SiteTable.of(ScoreCounts.from_arrays([1, 1], [0.1, 0.3], one_class=True), FINE))


@pytest.mark.usefixtures("few_simulated_tables")
def test_private_counts_give_the_same_kind_of_result() -> None:
    whole = ScoreCounts.total(simulated(1, sites=8, least=2_000, most=3_000))
    curves = draw_curves(whole, epsilon=5, grid="arcsine:24", neighbours="add-remove-one", noise=seeded(1))
    found = pooled_private(curves)
    assert (found.rows, found.positives, found.bounds) == (None, None, None)
    assert found.auc.value == curves.auc == pytest.approx(auc_score(whole), abs=0.01)
    assert known(found.auc.interval) == curves.intervals["auc"].population
    assert found.roc_glm is not None
    assert found.roc_glm.auc == pytest.approx(roc_glm(whole).auc, abs=0.01)
    for estimate, value, within in (
        (found.brier, brier_score(whole), 0.01),
        (found.calibration_slope, calibration_slope(whole), 0.1),
        (found.calibration_intercept, calibration_intercept(whole), 0.1),
        (found.size, whole.total_positives + whole.total_negatives, 60),
    ):
        assert estimate is not None
        assert estimate.value == pytest.approx(value, abs=within)
    assert found.calibration is not None
    assert found.calibration.bins.observed.tolist() == curves.calibration.observed.tolist()
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["roc"]["thresholds"][0] is None
    other = pooled_private(curves, level=0.8)
    assert known(other.auc.interval).width < known(found.auc.interval).width


@pytest.mark.usefixtures("few_simulated_tables")
def test_where_noise_dominates_there_is_no_calibration_line() -> None:
    """Without an interval nothing would tell such a number from a finding; plain data hold null, and the reason."""
    whole = ScoreCounts.total(simulated(1, sites=3, least=50, most=60))
    curves = draw_curves(whole, epsilon="0.01", grid="arcsine:24", neighbours="add-remove-one", noise=seeded(2))
    found = pooled_private(curves)
    assert known(found.auc.interval).width >= 0.9
    assert (found.calibration_intercept, found.calibration_slope, found.no_line) == (None, None, NoLine.NOISE)
    plain = found.to_dict()
    assert (plain["calibration_slope"], plain["calibration_intercept"]) == (None, None)
    assert plain["no_line"] == "noise-dominates"


def test_plain_data_are_of_bounded_size() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(20_000)
    found = pooled_exact(SiteTable.of(ScoreCounts.from_arrays((rng.random(20_000) < scores).astype(int), scores), FINE))
    plain = found.to_dict()
    assert len(plain["roc"]["thresholds"]) == len(plain["pr"]["recall"]) == 2_000
    assert (plain["roc"]["true_positive_rate"][0], plain["roc"]["true_positive_rate"][-1]) == (0.0, 1.0)


def with_ends(share: float) -> ScoreCounts:
    """Rows of which some have a score of exactly 0 or 1, and not always the outcome that these call certain."""
    rng = np.random.default_rng(5)
    odds = rng.normal(-0.5, 1.5, 2_000)
    scores, labels = 1.0 / (1.0 + np.exp(-odds)), (rng.random(2_000) < 1.0 / (1.0 + np.exp(-odds))).astype(int)
    low, high = np.quantile(scores, [share, 1.0 - share])
    return ScoreCounts.from_arrays(labels, np.where(scores < low, 0.0, np.where(scores > high, 1.0, scores)))


GRIDS = [Grid.uniform(65536), Grid.uniform(1000), Grid.uniform(100), Grid.arcsine(16), Grid.logit(64)]


@pytest.mark.few(1)
@pytest.mark.parametrize("share", [0.0005, 0.1])
def test_scores_of_exactly_zero_or_one_have_no_calibration_line_on_any_grid(share: float) -> None:
    """Neither have they in `evaluate`, which sees the rows."""
    counts = with_ends(share)
    direct = evaluate(counts).models[0].calibration
    assert direct is not None
    assert (direct.intercept, direct.slope) == (None, None)
    for grid in GRIDS:
        found = pooled_exact(SiteTable.of(counts, grid))
        assert (found.calibration_intercept, found.calibration_slope) == (None, None)
        assert found.no_line is NoLine.ENDS
        assert found.to_dict()["no_line"] == "scores-of-0-or-1"


@pytest.mark.parametrize("minimum", [1, 5])
def test_groups_with_many_scores_of_zero_or_one_have_no_slope(minimum: int) -> None:
    found = pooled_grouped([disclosed(with_ends(0.1), Grid.uniform(100), minimum)])
    assert (found.calibration_slope, found.no_line) == (None, NoLine.END_CELLS)


def test_a_slope_that_is_given_does_not_depend_on_the_grid() -> None:
    """Rows of low risk, of which some lie in the lowest cell of every coarse grid."""
    rng = np.random.default_rng(6)
    given = 0
    for mean in (-5.0, -4.0, -3.0, -2.0, -1.0):
        odds = rng.normal(mean, 1.2, 4_000)
        risk = 1.0 / (1.0 + np.exp(-odds))
        counts = ScoreCounts.from_arrays((rng.random(4_000) < risk).astype(int), risk)
        for grid in GRIDS:
            found = pooled_exact(SiteTable.of(counts, grid))
            if found.calibration_slope is not None:
                given += 1
                assert found.calibration_slope.value == pytest.approx(calibration_slope(counts), abs=0.1)
            else:
                assert found.no_line is NoLine.END_CELLS
    assert 10 < given < 25


def test_scores_near_the_ends_still_have_a_line() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 0, 1] * 50, np.tile([1e-4, 0.4, 0.6, 1 - 1e-4], 50))
    found = pooled_exact(SiteTable.of(counts, FINE))
    assert found.no_line is None
    assert found.calibration_slope is not None
    assert found.calibration_slope.value == pytest.approx(calibration_slope(counts), abs=0.01)


def test_rows_at_the_ends_are_sent_and_added() -> None:
    tables = [SiteTable.of(with_ends(share), FINE) for share in (0.01, 0.1)]
    total = tables[0] + tables[1]
    assert total.ends == tuple(one + two for one, two in zip(tables[0].ends, tables[1].ends, strict=True))
    assert min(tables[0].ends) > 0
    assert SiteTable.from_words(FINE, 10, *total.to_words()) == total
    words, wide = total.to_words()
    for at in (-6, -5):
        wrong = list(wide)
        wrong[at] += 10_000  # more than the cell there holds
        with pytest.raises(ConfideError, match="not a table of counts"):
            SiteTable.from_words(FINE, 10, words, wrong)
