"""Regions, bands and intervals of private curves hold what they promise, by simulation.

Each test draws data and noise many times from fixed seeds and counts how often everything was held. With the promised
coverage the number held falls below its limit with a probability of at most 1e-4. Power: of regions at level 0.9, one
that holds in 0.75 of all draws is refused by 200 draws with a probability of 0.98, and twins must be refused by the
same limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, norm

import confide
from confide import Grid, ScoreCounts
from confide.counts import FloatArray
from confide.intervals.resample import Band
from confide.privacy import noisy_counts
from confide.privacy.noisy_counts import CurveRegion, NoisyCells, curve_region, sampling_errors
from confide.releases import CurvesRelease, curve_numbers
from confide.releases.curves import draw_curves
from tests.noises import RELATIONS, seeded

pytestmark = pytest.mark.statistical

ERROR = 1e-4
SEPARATION = 1.5
THRESHOLD = 0.35
PREVALENCE = 0.3


def fewest(times: int, coverage: float) -> int:
    return int(binom.ppf(ERROR, times, coverage))


def drawn_rows(rng: np.random.Generator, rows: int, prevalence: float) -> ScoreCounts:
    """Calibrated probabilities of two normal classes."""
    labels = rng.random(rows) < prevalence
    labels[:2] = (True, False)
    z = rng.normal(SEPARATION * labels, 1.0)
    odds = SEPARATION * z - SEPARATION**2 / 2.0 + np.log(prevalence / (1.0 - prevalence))
    return ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-odds)))


def rates(cells: FloatArray) -> FloatArray:
    sums = np.cumsum(cells[:, ::-1], axis=1)
    found: FloatArray = np.concatenate((np.zeros((2, 1)), sums / sums[:, -1:]), axis=1)
    return found


def holds(region: CurveRegion, true: FloatArray) -> bool:
    inside = [
        (ends[0] <= each + 1e-12) & (each <= ends[1] + 1e-12)
        for ends, each in zip((region.recall, region.alarm), true, strict=True)
    ]
    return bool(np.all(inside))


@pytest.fixture
def thousand_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate 1,000 tables instead of 4,000: a standard error of 1 % of coverage, the same in all draws."""
    monkeypatch.setattr(noisy_counts, "DRAWS", 1_000)


def regions_that_hold(times: int, epsilon: float, *, population: bool = False) -> int:
    """How often the region of 20 cells holds all of the curve's points at once."""
    rng = np.random.default_rng(11)
    grid, prevalence = Grid.uniform(20), 0.3
    edges = np.log(grid.edges[1:-1] / (1.0 - grid.edges[1:-1])) - np.log(prevalence / (1.0 - prevalence))
    z = np.concatenate(([-np.inf], (edges + SEPARATION**2 / 2.0) / SEPARATION, [np.inf]))
    expected = np.stack((np.diff(norm.cdf(z - SEPARATION)), np.diff(norm.cdf(z))))
    scale = 1.0 / epsilon
    stop = -np.expm1(-1.0 / scale)
    held = 0
    for _ in range(times):
        counts = drawn_rows(rng, 3_000, prevalence)
        cells = np.zeros((2, 20))
        where = grid.cells(counts.scores)
        np.add.at(cells[0], where, counts.positives)
        np.add.at(cells[1], where, counts.negatives)
        drawn = cells + rng.geometric(stop, cells.shape) - rng.geometric(stop, cells.shape)
        noisy = NoisyCells(cells=drawn, scale=scale)
        noise = noisy.noise(rng)
        table = noisy.adjusted() + 1e-3
        sampling = sampling_errors(table, noise.shape[0], rng) if population else None
        region = curve_region(noisy.agreed(), noise, table, 0.9, sampling=sampling)
        held += holds(region, rates(expected if population else cells))
    return held


@pytest.mark.few(1)
@pytest.mark.usefixtures("thousand_tables")
@pytest.mark.parametrize("population", [False, True], ids=["sample", "population"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_all_points_lie_in_the_region_at_once(epsilon: float, population: bool) -> None:
    times = 200
    assert regions_that_hold(times, epsilon, population=population) >= fewest(times, 0.9)


@pytest.mark.usefixtures("thousand_tables")
def test_a_region_for_single_points_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_alone(shift: FloatArray, variance: FloatArray) -> FloatArray:
        middle = shift.shape[1] // 4
        return np.asarray(shift[:, middle] / np.sqrt(variance[middle]))

    monkeypatch.setattr(noisy_counts, "_largest", one_alone)
    assert regions_that_hold(200, 1.0) < fewest(200, 0.9)


@pytest.mark.usefixtures("thousand_tables")
def test_a_region_that_forgets_sampling_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = noisy_counts.curve_region

    def forgetful(agreed: FloatArray, noise: FloatArray, table: FloatArray, level: float, **_: object) -> CurveRegion:
        return original(agreed, noise, table, level)

    monkeypatch.setitem(globals(), "curve_region", forgetful)
    assert regions_that_hold(100, 1.0, population=True) < fewest(100, 0.9)


def band_holds(band: Band, x: FloatArray, y: FloatArray) -> bool:
    low, high = np.interp(x, band.x, band.lower), np.interp(x, band.x, band.upper)
    return bool(((y >= low - 1e-9) & (y <= high + 1e-9)).all())


def holds_roc(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    exact = confide.roc_curve(counts)
    return band_holds(curves.bands["roc"].sample, exact.false_positive_rate, exact.true_positive_rate)


def holds_pr(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    exact = confide.pr_curve(counts)
    some = exact.recall > 0.0
    return band_holds(curves.bands["pr"].sample, exact.recall[some], exact.precision[some])


def holds_number(name: str, exact: Callable[[ScoreCounts], float]) -> Callable[[CurvesRelease, ScoreCounts], bool]:
    return lambda curves, counts: exact(counts) in curves.intervals[name].sample


def holds_chosen_point(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    point = curves.threshold_for(recall=0.8)
    matrix = confide.confusion_matrix(counts, point.threshold)
    return (
        point.recall_intervals.sample.lower - 1e-12 <= matrix.recall <= point.recall_intervals.sample.upper + 1e-12
        and point.specificity_intervals.sample.lower - 1e-12
        <= matrix.specificity
        <= point.specificity_intervals.sample.upper + 1e-12
    )


def holds_measures(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    """Recall and precision at a threshold that was named before: each at the level, so both at twice the error."""
    exact = confide.confusion_matrix(counts, THRESHOLD)
    found = {release.metric: release.intervals.sample for release in curves.releases(threshold=THRESHOLD)}
    return exact.recall in found["recall"] and exact.specificity in found["specificity"]


def holds_calibration(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    edges = curves.calibration_edges
    where = np.clip(np.searchsorted(edges, counts.scores, side="right") - 1, 0, edges.size - 2)
    ours = np.bincount(where, counts.positives, edges.size - 1)
    rows = np.bincount(where, counts.positives + counts.negatives, edges.size - 1)
    some = rows > 0
    low, high = curves.calibration_ends[0]
    share = ours[some] / rows[some]
    return bool(((share >= low[some] - 1e-9) & (share <= high[some] + 1e-9)).all())


def holds_population_roc(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    x = np.linspace(0.0, 1.0, 501)
    return band_holds(curves.bands["roc"].population, x, norm.cdf(SEPARATION + norm.ppf(x)))


def holds_population_pr(curves: CurvesRelease, counts: ScoreCounts) -> bool:
    alarm = np.linspace(0.0, 1.0, 501)[1:]
    recall = norm.cdf(SEPARATION + norm.ppf(alarm))
    precision = PREVALENCE * recall / (PREVALENCE * recall + (1.0 - PREVALENCE) * alarm)
    return band_holds(curves.bands["pr"].population, recall, precision)


HELD: dict[str, Callable[[CurvesRelease, ScoreCounts], bool]] = {
    "roc band": holds_roc,
    "pr band": holds_pr,
    "population's roc band": holds_population_roc,
    "population's pr band": holds_population_pr,
    "population's auc": lambda curves, _: norm.cdf(SEPARATION / 2**0.5) in curves.intervals["auc"].population,
    "population's prevalence": lambda curves, _: PREVALENCE in curves.intervals["prevalence"].population,
    "auc": holds_number("auc", confide.auc_score),
    "average precision": holds_number("average_precision", confide.average_precision_score),
    "brier": holds_number("brier", confide.brier_score),
    "observed : expected": holds_number("observed_expected", confide.metrics.observed_expected_ratio),
    "prevalence": holds_number("prevalence", lambda counts: counts.prevalence),
    "chosen threshold": holds_chosen_point,
    "measures at a threshold": holds_measures,
    "calibration bins": holds_calibration,
}


@pytest.mark.long
@pytest.mark.usefixtures("thousand_tables")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("rows", "epsilon"), [(400, 0.5), (3_000, 1.0)])
def test_whole_curves_and_numbers_are_held(
    relation: str, rows: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At level 0.9; what is held in at least 0.89 of all draws passes.

    From 200 simulated tables for average precision: a standard error of 2 % of coverage in the quantiles, the same in
    all draws.
    """
    monkeypatch.setattr(curve_numbers, "RISEN_DRAWS", 200)
    times, rng = 80, np.random.default_rng(5)
    held = dict.fromkeys(HELD, 0)
    for draw in range(times):
        counts = drawn_rows(rng, rows, PREVALENCE)
        curves = draw_curves(
            counts, epsilon=epsilon, neighbours=relation, level=0.9, threshold=THRESHOLD, noise=seeded(draw)
        )
        for name, check in HELD.items():
            held[name] += check(curves, counts)
    limits = dict.fromkeys(HELD, fewest(times, 0.89)) | {"measures at a threshold": fewest(times, 0.79)}
    assert {name: count for name, count in held.items() if count < limits[name]} == {}
