"""Studies with the planned rows have the planned power, by drawing them and testing.

Seeds are fixed. The false-alarm rate is the chance that a right plan would have been refused by the seed: the share of
2,000 rejections has a standard error below 0.007 at power 0.9, so that a band of 0.035 around the power is left with
probability below 1e-6 by a plan that is right, and still below 1e-3 by one whose power is 0.013 off, as normal
approximations are here. A plan with half the rows, whose power is below 0.7, is refused with near certainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from confide.counts import FloatArray
from confide.intervals import auc_sample_size, comparison_sample_size, validation_sample_size
from confide.intervals.delong import auc_test

pytestmark = pytest.mark.statistical

POWER, BAND, TIMES = 0.9, 0.035, 2_000
CRITICAL = float(ndtri(0.975))


def components(positives: FloatArray, negatives: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shares of the other class that each row outranks, from SciPy's ranks."""
    n, m = positives.size, negatives.size
    ranks = rankdata(np.concatenate((positives, negatives)))
    return (ranks[:n] - rankdata(positives)) / m, 1.0 - (ranks[n:] - rankdata(negatives)) / n


def delong(parts: tuple[FloatArray, FloatArray]) -> tuple[float, float]:
    return float(parts[0].mean()), float(sum(part.var(ddof=1) / part.size for part in parts))


def share(rejects: Callable[[np.random.Generator], bool], times: int = TIMES) -> float:
    rng = np.random.default_rng(7)
    return float(np.mean([rejects(rng) for _ in range(times)]))


def one_study(rows: int, auc: float, null: float, prevalence: float) -> Callable[[np.random.Generator], bool]:
    positives = round(rows * prevalence)
    shift = math.sqrt(2.0) * float(ndtri(auc))

    def rejects(rng: np.random.Generator) -> bool:
        found = delong(components(rng.standard_normal(positives) + shift, rng.standard_normal(rows - positives)))
        return auc_test(*found, null).p_value < 0.025

    return rejects


@pytest.mark.few(1)
@pytest.mark.parametrize(("auc", "null", "prevalence"), [(0.8, 0.7, 0.3), (0.9, 0.8, 0.1)])
def test_one_auc_is_tested_with_the_planned_power(auc: float, null: float, prevalence: float) -> None:
    rows = auc_sample_size(auc, null=null, prevalence=prevalence, power=POWER).rows
    assert abs(share(one_study(rows, auc, null, prevalence)) - POWER) < BAND


def test_half_the_rows_are_refused() -> None:
    rows = auc_sample_size(0.8, null=0.7, prevalence=0.3, power=POWER).rows // 2
    assert not abs(share(one_study(rows, 0.8, 0.7, 0.3)) - POWER) < BAND


def two_models(
    rng: np.random.Generator, rows: int, aucs: tuple[float, float], prevalence: float, correlation: float
) -> list[tuple[FloatArray, FloatArray]]:
    positives = round(rows * prevalence)
    shared = rng.standard_normal(rows)
    result = []
    for auc in aucs:
        scores = math.sqrt(correlation) * shared + math.sqrt(1.0 - correlation) * rng.standard_normal(rows)
        scores[:positives] += math.sqrt(2.0) * float(ndtri(auc))
        result.append(components(scores[:positives], scores[positives:]))
    return result


@pytest.mark.few(1)
@pytest.mark.parametrize("unpaired", [False, True])
def test_two_aucs_are_told_apart_with_the_planned_power(unpaired: bool) -> None:
    aucs, prevalence = (0.85, 0.75), 0.3
    correlation = None if unpaired else 0.5
    rows = comparison_sample_size(
        aucs, prevalence=prevalence, power=POWER, correlation=correlation, unpaired=unpaired
    ).rows

    def rejects(rng: np.random.Generator) -> bool:
        first, second = two_models(rng, rows, aucs, prevalence, correlation or 0.0)
        difference, variance = delong((first[0] - second[0], first[1] - second[1]))
        return abs(difference) / math.sqrt(variance) > CRITICAL

    assert abs(share(rejects) - POWER) < BAND


def test_a_validation_has_the_planned_widths() -> None:
    """Widths of 200 drawn validations: the mean of each has a standard error below 1 % of the width."""
    plan = validation_sample_size(prevalence=0.2, auc=0.8)
    variance = 2.0 * float(ndtri(0.8)) ** 2
    rng = np.random.default_rng(11)
    widths = []
    for _ in range(200):
        labels = rng.random(plan.rows) < 0.2
        log_odds = math.log(0.25) - variance / 2.0 + variance * labels
        log_odds = log_odds + math.sqrt(variance) * rng.standard_normal(plan.rows)
        risks = 1.0 / (1.0 + np.exp(-log_odds))
        ratio = labels.sum() / risks.sum()
        error = math.sqrt((1.0 - labels.mean()) / labels.sum())
        weight = risks * (1.0 - risks)
        centred = log_odds - np.average(log_odds, weights=weight)
        slope_error = 1.0 / math.sqrt(float(np.dot(weight, centred**2)))
        auc_error = math.sqrt(delong(components(log_odds[labels], log_odds[~labels]))[1])
        widths.append((2 * ratio * math.sinh(CRITICAL * error), 2 * CRITICAL * slope_error, 2 * CRITICAL * auc_error))
    found = np.mean(widths, axis=0)
    oe, slope, auc = (one.width for one in plan.criteria)
    assert found[:2] == pytest.approx((oe, slope), rel=0.03)
    assert auc * 0.8 < found[2] < auc  # Newcombe's variance errs on the safe side for normal scores
    assert found[1] != pytest.approx(slope * math.sqrt(1.1), rel=0.03)  # a tenth fewer rows would be refused
