"""Intervals of clustered rows cover what they say; intervals that take rows for independent do not.

Seeds are fixed. The stated false-alarm rate is the chance that a right implementation would have been refused.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide import ScoreCounts, delong_interval
from confide.intervals.clusters import Request, cluster_estimates, compare_aucs_clustered
from confide.intervals.comparison import compare_auc
from confide.intervals.influence import linearise
from tests.intervals.clustered_rows import draw_stays

pytestmark = pytest.mark.statistical

TIMES = 600
# Binomial(600, 0.95) falls below 0.92 with probability under 1e-3. Student's t on the log-odds scale covers a little
# more than its level, so the upper bound is wider: intervals a third too wide exceed it.
LOW, HIGH = 0.92, 0.987
REQUESTS: dict[str, Request] = {
    "auc": ("auc", {}),
    "observed_expected": ("observed_expected", {}),
    "calibration_intercept": ("calibration_intercept", {}),
    "specificity": ("specificity", {"threshold": 0.4}),
}


def test_estimates_cover_and_delong_does_not() -> None:
    population = draw_stays(np.random.default_rng(1), patients=100_000, most=8, likeness=0.9)
    truth = {
        name: linearise(metric, population.labels, population.scores[0], **options).value
        for name, (metric, options) in REQUESTS.items()
    }
    rng = np.random.default_rng(2)
    covered = dict.fromkeys((*REQUESTS, "rows"), 0)
    for _ in range(TIMES):
        stays = draw_stays(rng, patients=40, most=8, likeness=0.9)
        found = cluster_estimates(stays.labels, stays.scores[0], stays.patients, REQUESTS)
        for name, estimate in found.items():
            covered[name] += truth[name] in estimate.known_interval
        covered["rows"] += truth["auc"] in delong_interval(ScoreCounts.from_arrays(stays.labels, stays.scores[0]))
    for name in REQUESTS:
        assert LOW < covered[name] / TIMES < HIGH, name
    assert covered["rows"] / TIMES < LOW


def test_standard_error_is_that_of_repeated_studies() -> None:
    """The mean standard error of 300 studies of 150 patients is known to 4 %; DeLong's is a tenth too small."""
    rng = np.random.default_rng(3)
    aucs: list[float] = []
    errors: list[float] = []
    independent: list[float] = []
    for _ in range(300):
        stays = draw_stays(rng, patients=150, likeness=0.9)
        rows = np.arange(stays.labels.size)
        for codes, found in ((stays.patients, errors), (rows, independent)):
            estimate = cluster_estimates(stays.labels, stays.scores[0], codes, {"auc": ("auc", {})})["auc"]
            found.append(estimate.standard_error or math.nan)
        aucs.append(estimate.value)
    spread = float(np.std(aucs, ddof=1))
    assert np.mean(errors) == pytest.approx(spread, rel=0.12)
    assert np.mean(independent) < 0.88 * spread


def test_paired_test_holds_its_level_and_delong_does_not() -> None:
    """Both models are equally good. Binomial(600, 0.05) leaves (0.022, 0.082) with probability under 2e-3."""
    rng = np.random.default_rng(4)
    refused = [0, 0]
    for _ in range(TIMES):
        stays = draw_stays(rng, patients=60, most=8, models=2, likeness=0.95)
        scores = dict(zip("ab", stays.scores, strict=True))
        refused[0] += compare_aucs_clustered(stays.labels, scores, stays.patients).p_value < 0.05
        refused[1] += compare_auc(stays.labels, *stays.scores).p_value < 0.05
    assert 0.022 < refused[0] / TIMES < 0.082
    assert refused[1] / TIMES > 0.082
