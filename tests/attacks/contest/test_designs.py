"""Submissions that tell many labels at once do so, by trying everything."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from confide.attacks.contest.designs import (
    Candidates,
    Ranking,
    auc_ranking,
    confusion,
    predict,
    read_stakes,
    stakes,
    weighing,
    weighing_orders,
)
from confide.attacks.numbers import exact_number_of
from tests.attacks.rows import labels_of


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_detecting_matrix_tells_every_set_of_coins(order: int) -> None:
    design = weighing(order)
    assert design.matrix.shape == (2**order - 1, order * 2 ** (order - 1))
    every = np.array(list(product((0, 1), repeat=design.owners.size)))
    sums = every @ design.matrix.T.astype(np.int64)
    assert len(np.unique(sums, axis=0)) == len(every)
    for labels, line in zip(every, sums, strict=True):
        assert (design.read(line) == labels).all()


def test_a_large_detecting_matrix_is_read_back() -> None:
    design = weighing(7)
    labels = np.random.default_rng(1).integers(0, 2, design.owners.size)
    assert (design.read(design.matrix.astype(np.int64) @ labels) == labels).all()


@pytest.mark.parametrize("coins", [1, 4, 5, 13, 17, 33])
def test_detecting_matrices_are_put_together_with_the_fewest_weighings(coins: int) -> None:
    orders = weighing_orders(coins, coins)
    least = min(
        sum(2**k - 1 for k in chosen)
        for size in range(1, 8)
        for chosen in combinations_with_replacement((1, 2, 3, 4), size)
        if sum(k * 2 ** (k - 1) for k in chosen) >= coins
    )
    assert sum(k * 2 ** (k - 1) for k in orders) >= coins
    assert sum(2**k - 1 for k in orders) == least


@pytest.mark.parametrize("metric", ["auc", "average_precision"])
def test_candidates_are_predicted_as_the_oracle_would_answer(metric: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        true = labels_of(12, 0.5, int(rng.integers(1000)))
        rows = rng.permutation(12)
        block, known = rows[:4], rows[4:8]
        ranking = Ranking(block=rng.integers(0, 6, 4), known=rng.integers(0, 6, 4), lump=int(rng.integers(0, 6)))
        candidates = Candidates.every(4, np.arange(13))
        values = predict(metric, ranking, candidates, true[known].astype(np.int8), 4)
        mine = (candidates.labels == true[block]).all(axis=1) & (candidates.positives == true.sum())
        answer = exact_number_of(true, ranking.submission(12, block, known), metric)
        assert values[mine] == pytest.approx([float(answer)], abs=1e-12)
        in_lump = candidates.positives - true[known].sum() - candidates.labels.sum(axis=1)
        assert np.isnan(values[(in_lump < 0) | (in_lump > 4)]).all()


def test_known_rows_make_a_block_of_labels_weigh_powers_of_two() -> None:
    known = np.arange(60) % 2
    candidates = Candidates.every(7, np.array([100]))
    for spacing, share in ((1, 0.0), (50, 1.0)):  # the second has far too few known rows
        ranking = auc_ranking(7, known.astype(np.int8), spacing)
        values = predict("auc", ranking, candidates, known.astype(np.int8), 133)
        width = (spacing - 1) / (100 * 100)
        assert (confusion(values, candidates, width).share > 0.5) == bool(share)


def test_confusion_is_what_comparing_all_pairs_finds() -> None:
    rng = np.random.default_rng(8)
    candidates = Candidates.every(4, np.array([3, 5, 9]))
    for width in (0.0, 0.004, 0.03):
        values = rng.random(len(candidates)).round(2)
        values[:5] = np.nan
        near = np.abs(values[:, None] - values[None, :]) <= width + 1e-12
        other = candidates.names[:, None] != candidates.names[None, :]
        there = ~np.isnan(values)
        assert confusion(values, candidates, width).share == pytest.approx((near & other).any(axis=1)[there].mean())


@pytest.mark.parametrize("metric", ["log_loss", "brier"])
def test_stakes_lie_further_apart_than_the_window_is_wide(metric: str) -> None:
    staked = stakes(metric, 300, 1e-5, 10)
    every = Candidates.every(staked.lost.size, np.array([0])).labels
    sums = every @ staked.lost
    assert staked.lost.size >= 8
    assert np.diff(np.sort(sums)).min() > 1e-5 * 300
    rng = np.random.default_rng(2)
    off = rng.uniform(-0.49, 0.49, len(sums)) * 1e-5 * 300
    assert all(
        (read_stakes(staked.lost, total) == labels).all() for total, labels in zip(sums + off, every, strict=True)
    )


def test_stakes_too_coarse_for_any_row_are_none() -> None:
    assert stakes("brier", 1000, 1e-2, 10).scores.size == 0
