"""Ranks: an entry is ahead of another only if it is significantly better."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from confide.contest.metric import ContestMetric
from confide.contest.ranks import critical_value, difference_variances, goodness_variances, rank_entries
from confide.counts import FloatArray
from confide.errors import ParameterError

goodnesses = st.lists(st.integers(0, 30).map(lambda k: k / 30), min_size=1, max_size=12)


def random_covariance(entries: int, seed: int, scale: float = 0.05) -> FloatArray:
    factors = np.random.default_rng(seed).standard_normal((entries, 3)) * scale
    covariance: FloatArray = factors @ factors.T
    return covariance


@given(values=goodnesses, seed=st.integers(0, 99), level=st.sampled_from([0.5, 0.95, 0.999]))
def test_ranks_lie_between_the_first_and_the_position(values: list[float], seed: int, level: float) -> None:
    goodness = np.array(values)
    variances = difference_variances(random_covariance(goodness.size, seed))
    ranks = rank_entries(goodness, variances, level=level)
    for k, rank in enumerate(ranks):
        best_position = 1 + int((goodness > goodness[k]).sum())
        worst_position = goodness.size - int((goodness < goodness[k]).sum())
        assert 1 <= rank.lowest == rank.rank <= best_position
        assert worst_position <= rank.highest <= goodness.size
    assert min(rank.rank for rank in ranks) == 1


@given(values=goodnesses, seed=st.integers(0, 99))
def test_entries_that_are_alike_tie(values: list[float], seed: int) -> None:
    goodness = np.array([*values, values[0]])
    covariance = random_covariance(len(values), seed)
    twice = np.array([*range(len(values)), 0])
    ranks = rank_entries(goodness, difference_variances(covariance[np.ix_(twice, twice)]))
    assert ranks[0] == ranks[-1]


@given(values=goodnesses, seed=st.integers(0, 99))
def test_the_order_of_entries_does_not_matter(values: list[float], seed: int) -> None:
    goodness = np.array(values)
    variances = difference_variances(random_covariance(goodness.size, seed))
    order = np.random.default_rng(seed).permutation(goodness.size)
    ranks = rank_entries(goodness, variances)
    moved = rank_entries(goodness[order], variances[np.ix_(order, order)])
    assert moved == tuple(ranks[k] for k in order)


@given(values=goodnesses, seed=st.integers(0, 99))
def test_a_higher_level_widens_the_intervals_of_ranks(values: list[float], seed: int) -> None:
    goodness = np.array(values)
    variances = difference_variances(random_covariance(goodness.size, seed))
    for low, high in zip(
        rank_entries(goodness, variances, level=0.8), rank_entries(goodness, variances, level=0.99), strict=True
    ):
        assert high.lowest <= low.lowest
        assert high.highest >= low.highest


def test_the_critical_value_is_corrected_for_both_directions_and_all_others() -> None:
    assert critical_value(2, 0.95) == pytest.approx(1.959964, abs=1e-6)
    assert critical_value(11, 0.95) == pytest.approx(norm.ppf(1 - 0.05 / 20))
    assert critical_value(1, 0.95) == critical_value(2, 0.95)


@pytest.mark.parametrize(("standard_errors", "expected"), [(1.95, (1, 1)), (1.97, (1, 2))])
def test_two_entries_part_at_the_critical_value(standard_errors: float, expected: tuple[int, int]) -> None:
    ranks = rank_entries(np.array([0.01 * standard_errors, 0.0]), np.full((2, 2), 0.01**2))
    assert (ranks[0].rank, ranks[1].rank) == expected


def test_without_any_doubt_ranks_are_positions_and_equals_tie() -> None:
    ranks = rank_entries(np.array([0.5, 0.9, 0.5, 0.1]), np.zeros((4, 4)))
    assert [rank.rank for rank in ranks] == [2, 1, 2, 4]
    assert [rank.highest for rank in ranks] == [3, 1, 3, 4]


def test_no_entries_have_no_ranks() -> None:
    assert rank_entries(np.empty(0), np.empty((0, 0))) == ()


def test_where_zero_is_best_opposite_values_are_compared_by_their_sum() -> None:
    """Two values of opposite sign that always move together differ in distance from zero by twice their error."""
    metric = ContestMetric.checked("calibration_in_the_large")
    covariance = np.full((2, 2), 0.01**2)
    assert difference_variances(covariance)[0, 1] == 0.0
    assert goodness_variances(metric, covariance)[0, 1] == pytest.approx(4 * 0.01**2)
    assert goodness_variances(ContestMetric.checked("brier"), covariance)[0, 1] == 0.0


@pytest.mark.parametrize(
    ("goodness", "variances"),
    [([0.1, 0.2], [[0.0]]), ([0.1, np.nan], np.zeros((2, 2))), ([0.1, 0.2], np.full((2, 2), -1.0))],
)
def test_damaged_input_is_refused(goodness: list[float], variances: FloatArray) -> None:
    with pytest.raises(ParameterError, match="variance"):
        rank_entries(np.array(goodness), np.array(variances))


@pytest.mark.statistical
def test_intervals_of_ranks_hold_the_true_rank_of_each_entry() -> None:
    """2,000 boards of eight entries, seeded. Each entry's interval misses with probability at most 5 %.

    Bonferroni is conservative for correlated tests: misses are rarer. A board whose ranks are positions must fail
    for entries that are equally good.
    """
    generator = np.random.default_rng(9)
    truth = np.array([0.8, 0.8, 0.79, 0.77, 0.75, 0.75, 0.7, 0.6])
    covariance = 0.01**2 * (0.5 + 0.5 * np.eye(8))
    noise = generator.multivariate_normal(np.zeros(8), covariance, size=2_000)
    first = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    last = 8 - (truth[None, :] < truth[:, None]).sum(axis=1)
    held, naive = np.zeros(8), np.zeros(8)
    for row in noise:
        ranks = rank_entries(truth + row, difference_variances(covariance))
        held += [
            rank.lowest <= low and rank.highest >= high for rank, low, high in zip(ranks, first, last, strict=True)
        ]
        positions = rank_entries(truth + row, np.zeros((8, 8)))
        naive += [rank.lowest <= low for rank, low in zip(positions, first, strict=True)]
    assert (held / 2_000 >= 0.95).all()
    assert (naive[[0, 1, 4, 5]] / 2_000 < 0.9).all()
