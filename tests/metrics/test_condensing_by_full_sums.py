"""Condensed counts have the sums of the counts that they stand for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from confide import ScoreCounts
from confide.intervals.calibration import (
    brier_estimate,
    intercept_estimate,
    line_estimates,
    log_loss_estimate,
    observed_expected_estimate,
    scaled_brier_estimate,
)
from confide.intervals.interval import Estimate
from confide.intervals.metric_estimates import RULES, estimate, estimates
from confide.metrics.condensing import CONDENSED_FROM, condense

ROWS = 60_000
KINDS = {
    "plain": lambda z: z - 1.0,
    "rare": lambda z: 1.5 * z - 6.0,
    "extreme": lambda z: 8.0 * z,
    "confident": lambda z: 6.0 * z + 6.0,
    "sinh": lambda z: 0.5 * np.sinh(z),
}


def counts_of(kind: str, rows: int = ROWS) -> ScoreCounts:
    rng = np.random.default_rng(1)
    log_odds = KINDS[kind](rng.standard_normal(rows))
    labels = rng.random(rows) < 1.0 / (1.0 + np.exp(-0.8 * log_odds + 0.3))
    scores = np.clip(1.0 / (1.0 + np.exp(-log_odds)), 1e-200, 1.0 - 1e-14)
    return ScoreCounts.from_arrays(labels, scores)


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_those_of_all_scores(kind: str) -> None:
    counts = counts_of(kind)
    few = condense(counts)
    assert len(few) < len(counts)
    formulas: tuple[Callable[[ScoreCounts], Estimate], ...] = (
        *(brier_estimate, scaled_brier_estimate, log_loss_estimate, observed_expected_estimate, intercept_estimate),
        lambda each: line_estimates(each)[0],
        lambda each: line_estimates(each)[1],
    )
    for formula in formulas:
        exact, fast = formula(counts), formula(few)
        assert fast.value == pytest.approx(exact.value, rel=1e-9, abs=1e-10)
        assert fast.standard_error == pytest.approx(exact.standard_error, rel=1e-9)


def test_a_third_power_is_exact_and_a_wide_cell_is_not() -> None:
    counts = counts_of("plain")
    few = condense(counts)
    for power, tolerance in ((0, 1e-13), (1, 1e-13), (2, 1e-13), (3, 1e-13)):
        for side in ("positives", "negatives"):
            exact, fast = (float(np.sum(getattr(each, side) * each.scores**power)) for each in (counts, few))
            assert fast == pytest.approx(exact, rel=tolerance)
    twin = counts.coarsen(200)  # one score for each cell, and wide ones
    assert abs(log_loss_estimate(twin).value / log_loss_estimate(counts).value - 1.0) > 1e-7


def test_scores_of_0_and_1_are_kept() -> None:
    counts = counts_of("plain")
    rows = ScoreCounts(
        np.concatenate(([0.0], counts.scores, [1.0])),
        np.concatenate(([3], counts.positives, [5])),
        np.concatenate(([7], counts.negatives, [2])),
    )
    few = condense(rows)
    assert (few.positives[0], few.negatives[0], few.positives[-1], few.negatives[-1]) == (3, 7, 5, 2)
    assert log_loss_estimate(few).value == pytest.approx(log_loss_estimate(rows).value, rel=1e-11)


def test_few_and_weighted_counts_stay() -> None:
    few = counts_of("plain", CONDENSED_FROM // 2)
    assert condense(few) is few
    counts = counts_of("plain")
    weighted = ScoreCounts(counts.scores, counts.positives * 0.5, counts.negatives * 0.5)
    assert condense(weighted) is weighted


def test_a_steep_line_is_fitted_on_all_scores() -> None:
    rng = np.random.default_rng(2)
    log_odds = 0.05 * rng.standard_normal(ROWS)
    labels = rng.random(ROWS) < 1.0 / (1.0 + np.exp(-30.0 * log_odds))
    counts = ScoreCounts.from_arrays(labels, 1.0 / (1.0 + np.exp(-log_odds)))
    assert estimate(counts, "calibration_slope") == line_estimates(counts)[1]


def test_every_smooth_metric_has_the_estimate_of_its_formula() -> None:
    counts = counts_of("plain")
    names = [name for name, rule in RULES.items() if rule.smooth is not None]
    assert len(names) == 7
    for name, fast in zip(names, estimates(counts, names), strict=True):
        rule = RULES[name]
        assert rule.closed is not None
        found = rule.closed(counts, level=0.95, method=rule.default)
        exact = found if rule.part is None else found[rule.part]
        assert fast.value == pytest.approx(exact.value, rel=1e-9)
        assert fast.known_interval.lower == pytest.approx(exact.known_interval.lower, rel=1e-9)
