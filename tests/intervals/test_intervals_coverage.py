"""Intervals cover what they say, by simulation from distributions whose true values are known.

Each test draws with a fixed seed, so it either always passes or always fails; the stated false-alarm
rate is the chance that a right implementation would have been refused by the seed, and each has a
broken twin that the same bound refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from confide import ScoreCounts, compare_auc, delong_interval
from confide.intervals import hanley_mcneil_interval, logit_interval
from confide.intervals.comparison import compare_aucs
from confide.intervals.interval import Interval
from confide.intervals.resample import replicate_ranks

pytestmark = pytest.mark.statistical

LEVEL = 0.95
TIMES = 1_500
# Binomial(1500, 0.95) falls below 0.93 or above 0.97 with probability under 1e-3 (three and a half deviations).
LOW, HIGH = 0.93, 0.97


def draw(rng: np.random.Generator, positives: int, negatives: int, shift: float) -> ScoreCounts:
    scores = np.concatenate((rng.standard_normal(positives) + shift, rng.standard_normal(negatives)))
    return ScoreCounts.from_arrays(np.arange(scores.size) < positives, scores)


def coverage(
    make: Callable[[ScoreCounts], Interval],
    positives: int,
    negatives: int,
    shift: float,
    truth: float,
    times: int = TIMES,
) -> float:
    rng = np.random.default_rng(positives)
    return float(np.mean([truth in make(draw(rng, positives, negatives, shift)) for _ in range(times)]))


def normal_auc(shift: float) -> float:
    return float(stats.norm.cdf(shift / math.sqrt(2.0)))


@pytest.mark.parametrize("make", [delong_interval, hanley_mcneil_interval])
def test_auc_intervals_cover(make: Callable[[ScoreCounts], Interval]) -> None:
    assert LOW < coverage(make, 60, 90, 1.0, normal_auc(1.0)) < HIGH


def test_an_interval_a_fifth_too_narrow_is_refused() -> None:
    def narrow(counts: ScoreCounts) -> Interval:
        whole = delong_interval(counts, transform="none")
        centre, reach = (whole.lower + whole.upper) / 2.0, whole.width * 0.4
        return Interval(lower=centre - reach, upper=centre + reach, level=LEVEL, method="broken")

    assert not LOW < coverage(narrow, 60, 90, 1.0, normal_auc(1.0)) < HIGH


@pytest.mark.long
def test_logit_interval_covers_aucpr_and_the_bootstrap_does_not() -> None:
    positives, negatives = 20, 180

    def precision(recall: float) -> float:
        caught = 0.1 * recall
        return float(caught / (caught + 0.9 * stats.norm.sf(stats.norm.isf(recall) + 1.0)))

    truth = float(integrate.quad(precision, 0.0, 1.0, limit=200)[0])
    assert coverage(logit_interval, positives, negatives, 1.0, truth) > 0.95 - 0.02

    rng = np.random.default_rng(0)

    def bootstrap(counts: ScoreCounts) -> Interval:
        lower, upper = np.quantile(replicate_ranks(counts, 400, rng, resampling="classes")[1], (0.025, 0.975))
        return Interval(lower=float(lower), upper=float(upper), level=LEVEL, method="bootstrap")

    assert coverage(bootstrap, positives, negatives, 1.0, truth, times=400) < LOW


def pairs(rng: np.random.Generator, models: int, correlation: float = 0.6) -> tuple[Any, list[Any]]:
    labels = np.arange(150) < 60
    shared = rng.standard_normal(150)
    own = rng.standard_normal((models, 150))
    scores = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own + labels
    return labels, list(scores)


def test_paired_test_holds_its_level() -> None:
    rng = np.random.default_rng(11)
    refused = 0
    for _ in range(TIMES):
        labels, (first, second) = pairs(rng, 2)
        refused += compare_auc(labels, first, second).p_value < 0.05
    # Binomial(1500, 0.05) leaves (0.03, 0.07) with probability under 1e-3.
    assert 0.03 < refused / TIMES < 0.07


@pytest.mark.long
def test_joint_test_and_simultaneous_intervals_hold_their_level() -> None:
    rng = np.random.default_rng(12)
    times = 300
    refused = missed_together = missed_singly = 0
    for _ in range(times):
        labels, scores = pairs(rng, 4)
        joint = compare_aucs(labels, {str(i): column for i, column in enumerate(scores)})
        refused += joint.p_value < 0.05
        together = [entry.simultaneous for entry in joint.differences]
        missed_together += any(interval is None or 0.0 not in interval for interval in together)
        missed_singly += any(0.0 not in entry.interval for entry in joint.differences)
    # Binomial(300, 0.05) leaves (0.015, 0.095) with probability under 2e-3.
    assert 0.015 < refused / times < 0.095
    assert 0.015 < missed_together / times < 0.095
    assert missed_singly / times > 0.1  # the broken twin: six single intervals do not hold together
