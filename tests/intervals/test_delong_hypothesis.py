"""The test of AUC at most a0 against its interval, simulation and exact probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from confide.counts import ScoreCounts
from confide.errors import ConfideError
from confide.intervals.delong import auc_interval, auc_test, delong_interval, delong_variance
from confide.metrics.ranking import auc_score


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("auc", [0.0, 0.55, 0.68, 0.9, 1.0])
def test_it_agrees_with_the_interval(auc: float, level: float) -> None:
    ends = auc_interval(auc, 0.0015, 30, 80, level=level)
    for a0 in np.linspace(0.02, 0.98, 97):
        found = auc_test(auc, 0.0015, float(a0), level=level, positives=30, negatives=80)
        assert found.interval_above == (ends.lower > a0)
        assert found.interval_above == (found.p_value < (1.0 - level) / 2.0)


def test_by_formula() -> None:
    found = auc_test(0.75, 0.0016, 0.6)
    z = (math.log(3.0) - math.log(1.5)) / (0.04 / (0.75 * 0.25))
    assert found.z == pytest.approx(z)
    assert found.p_value == pytest.approx(norm.sf(z))


def test_perfect_ranking_has_the_probability_of_disjoint_pairs() -> None:
    found = auc_test(1.0, 0.0, 0.6, positives=4, negatives=9)
    assert found.p_value == pytest.approx(0.6**4)
    assert found.z is None
    assert auc_test(0.0, 0.0, 0.6, positives=4, negatives=9).p_value == 1.0


def test_it_rejects_a_true_hypothesis_no_more_often_than_it_says() -> None:
    """True AUC 0.7, 60 rows of each class, 2,000 studies: at 5 % four standard errors are 2 points."""
    rng = np.random.default_rng(8)
    labels, shift = np.repeat([1, 0], 60), math.sqrt(2.0) * norm.ppf(0.7)
    rejected = 0
    for _ in range(2_000):
        counts = ScoreCounts.from_arrays(labels, rng.normal(size=120) + shift * labels)
        rejected += auc_test(auc_score(counts), delong_variance(counts), 0.7).p_value < 0.05
    assert 0.03 < rejected / 2_000 < 0.07


@pytest.mark.parametrize(
    ("auc", "variance", "a0"),
    [(0.7, 0.01, 0.0), (0.7, 0.01, 1.0), (1.2, 0.01, 0.5), (0.7, -1.0, 0.5), (0.7, 0.0, 0.5), (1.0, 0.0, 0.5)],
)
def test_what_cannot_be_tested_is_refused(auc: float, variance: float, a0: float) -> None:
    with pytest.raises(ConfideError):
        auc_test(auc, variance, a0)


def test_counts_with_their_interval() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 0, 1, 1, 1] * 5, np.linspace(0, 1, 30))
    ends = delong_interval(counts)
    found = auc_test(auc_score(counts), delong_variance(counts), ends.lower)
    assert found.p_value == pytest.approx(0.025)
    assert found.to_dict()["a0"] == ends.lower
