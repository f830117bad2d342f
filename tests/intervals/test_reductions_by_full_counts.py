"""Cells of a bootstrap keep what a metric needs of the scores."""

from __future__ import annotations

import numpy as np
import pytest

from confide import ScoreCounts
from confide.intervals.replicates import BIN_CELLS, BINS, CELLS, draw_replicates, reduced, reduction, replicate_values
from confide.metrics import calibration_samples
from confide.metrics.calibration_samples import SampledCurves
from confide.metrics.registry import get_metric

ROWS = 40_000


def many() -> ScoreCounts:
    rng = np.random.default_rng(8)
    labels = rng.random(ROWS) < 0.3
    return ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(1.0 - rng.standard_normal(ROWS) - labels)))


@pytest.mark.parametrize("name", ["expected_calibration_error", "youden_threshold", "youden_index"])
def test_few_scores_stay_apart(name: str) -> None:
    counts = many().coarsen(CELLS)
    assert reduced(counts, reduction(get_metric(name), {})) is counts


def test_the_error_in_bins_is_exact_in_its_cells() -> None:
    counts, metric = many(), get_metric("expected_calibration_error")
    few = reduced(counts, reduction(metric, {}))
    assert len(few) <= BIN_CELLS + BINS
    assert metric(few) == pytest.approx(metric(counts), rel=1e-12)


def spread(counts: ScoreCounts, name: str, replicates: int, seed: int) -> np.ndarray:
    metric = get_metric(name)
    drawn = draw_replicates(counts, replicates, np.random.default_rng(seed), metric.resampling)
    return replicate_values(drawn, {0: (metric, {})})[0]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["expected_calibration_error", "youden_threshold", "youden_index"])
def test_replicates_spread_as_those_of_single_scores(name: str) -> None:
    """Quantiles of 600 replicates have a standard error of at most 0.11 standard deviations.

    So two sets differ by 0.5 in one of five quantiles with a probability of about 0.1 %; seeds are fixed. Spreads that
    are off by a half would be seen.
    """
    counts = many()
    few = reduced(counts, reduction(get_metric(name), {}))
    fast, slow = spread(few, name, 600, 1), spread(counts.coarsen(4_000), name, 600, 2)
    quantiles = [np.quantile(each, (0.05, 0.25, 0.5, 0.75, 0.95)) for each in (fast, slow)]
    assert np.abs(quantiles[0] - quantiles[1]).max() < 0.5 * slow.std()


def test_the_best_cell_of_every_replicate_is_kept_apart() -> None:
    counts, metric = many(), get_metric("youden_threshold")
    few = reduced(counts, reduction(metric, {}))
    assert len(few) < CELLS // 2
    thresholds = spread(counts.coarsen(CELLS), "youden_threshold", 400, 3)
    merged = few.scores[[0, -1]]
    assert not np.isin(thresholds, merged).any()
    assert np.isin(np.round(thresholds, 12), np.round(few.scores[1:-1], 12)).all()


@pytest.mark.parametrize("steepness", [0.4, 1.0, 2.5])
def test_cells_of_calibration_curves_change_replicates_by_as_much_as_the_table_says(steepness: float) -> None:
    """The same resamples of 40,000 rows in 512 and in 4,096 cells; replicates of cells are moved to their value."""
    rng = np.random.default_rng(5)
    labels = rng.random(ROWS) < 0.2
    scores = 1.0 / (1.0 + np.exp(-steepness * (rng.standard_normal(ROWS) + 1.5 * labels - 1.8)))
    order, counts = np.argsort(scores), ScoreCounts.from_arrays(labels, scores)
    rows = rng.integers(0, ROWS, (40, ROWS))
    found = []
    for cells in (calibration_samples._MOST_CELLS, 4_096):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(calibration_samples, "_MOST_CELLS", cells)
            curves = SampledCurves.of(counts)
        size = len(curves.cells)
        cell = np.empty(ROWS, np.int64)
        cell[order] = np.repeat(np.arange(size), (curves.cells.positives + curves.cells.negatives).astype(np.int64))
        by_class = [
            np.array([np.bincount(cell[each][labels[each] == label], minlength=size) for each in rows])
            for label in (True, False)
        ]
        errors = curves.errors(*by_class)
        found.append(np.stack((errors.ici, errors.emax, errors.e90, errors.e50)))
    coarse, fine = (each - each.mean(axis=1, keepdims=True) for each in found)
    spread_of = fine.std(axis=1)
    assert ((coarse - fine).std(axis=1) <= np.array([0.03, 0.03, 0.15, 0.5]) * spread_of).all()
    assert (np.abs(coarse.std(axis=1) / spread_of - 1.0) <= np.array([0.01, 0.01, 0.03, 0.1])).all()
