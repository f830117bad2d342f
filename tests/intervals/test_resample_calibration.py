"""Bootstrap of calibration errors: all replicates at once, beside the metric of each replicate."""

from __future__ import annotations

import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.intervals.replicates import draw_replicates, replicate_values
from confide.metrics.calibration_samples import SAMPLED_ERRORS, SampledCurves
from confide.metrics.registry import METRICS

EVERY = tuple(SAMPLED_ERRORS)


def rows(size: int, digits: int = 9) -> ScoreCounts:
    rng = np.random.default_rng(size)
    scores = np.round(rng.random(size), digits)
    return ScoreCounts.from_arrays(rng.random(size) < np.clip(scores + 0.1 * np.sin(2 * np.pi * scores), 0, 1), scores)


def by_hand(counts: ScoreCounts, name: str) -> float:
    return METRICS[name](counts)


@pytest.mark.parametrize("digits", [9, 2])
def test_the_sample_itself_has_the_metrics_values(digits: int) -> None:
    counts = rows(500, digits)
    curves = SampledCurves.of(counts)
    found = curves.errors(curves.cells.positives[None], curves.cells.negatives[None])
    for name, field in SAMPLED_ERRORS.items():
        assert getattr(found, field)[0] == pytest.approx(by_hand(counts, name), abs=1e-5)


def test_replicates_beside_the_metric_of_each() -> None:
    """Only knots differ: those of all rows or those of the replicate. The spread of replicates is 0.01 and more."""
    counts = rows(500)
    curves = SampledCurves.of(counts)
    sample = draw_replicates(curves.cells, 12, np.random.default_rng(1), "classes")
    ours, theirs = sample.positives, sample.negatives
    found = curves.errors(ours, theirs)
    for name, field in SAMPLED_ERRORS.items():
        single = []
        for p, n in zip(ours, theirs, strict=True):
            seen = p + n > 0
            single.append(by_hand(ScoreCounts(curves.cells.scores[seen], p[seen], n[seen]), name))
        difference = getattr(found, field) - single
        assert np.abs(difference).mean() < 0.002
        assert np.std(single) > 4 * np.abs(difference).mean()


def test_cells_change_little() -> None:
    counts = rows(3_000)
    curves = SampledCurves.of(counts)
    assert len(curves.cells) < 512
    found = curves.errors(curves.cells.positives[None], curves.cells.negatives[None])
    for name, field in SAMPLED_ERRORS.items():
        assert getattr(found, field)[0] == pytest.approx(by_hand(counts, name), abs=1e-3)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", EVERY)
def test_intervals_by_name(name: str) -> None:
    counts = rows(600)
    found = confide.intervals.bootstrap_estimate(counts, name, replicates=200, rng=3)
    assert found.value == by_hand(counts, name)
    cells = SampledCurves.of(counts).cells
    sample = draw_replicates(cells, 200, np.random.default_rng(3), "rows")
    drawn = replicate_values(sample, {0: (METRICS[name], {})})[0] + found.value - by_hand(cells, name)
    assert found.standard_error == pytest.approx(np.std(drawn, ddof=1), rel=1e-12)
    ends = found.known_interval.lower, found.known_interval.upper
    assert ends == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=1e-12)


def test_errors_of_one_request_share_their_replicates() -> None:
    counts = rows(600)
    together = confide.intervals.estimates(counts, EVERY, replicates=100)
    for name, found in zip(EVERY, together, strict=True):
        assert found == confide.intervals.estimate(counts, name, replicates=100)


def test_samples_of_one_class_have_no_value() -> None:
    counts = rows(100)
    curves = SampledCurves.of(counts)
    none = np.zeros_like(curves.cells.positives)
    found = curves.errors(np.stack((none, curves.cells.positives)), np.tile(curves.cells.negatives, (2, 1)))
    assert np.isnan(found.ici[0])
    assert np.isfinite(found.ici[1])
