"""Random submissions climb a leaderboard as theory says, and stay at one half on rows that it does not answer for."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest

from confide.attacks.contest.ladder import boost, expected_accuracy, orthogonal_signs, pulls
from confide.attacks.contest.oracle import Oracle
from confide.attacks.disclosure import Publication
from confide.errors import ParameterError

LABELS = np.arange(100) % 2


def board(spec: str) -> Oracle:
    return Oracle.of_labels(LABELS, Publication.parse(spec))


@pytest.mark.parametrize(("rows", "members"), [(3, 1), (3, 2), (3, 3), (4, 3), (2, 4)])
def test_expected_accuracy_is_the_mean_over_all_coins(rows: int, members: int) -> None:
    coins = np.array(list(product((-1, 1), repeat=rows)))  # agreement with the labels
    kept = np.where(coins.sum(axis=1, keepdims=True) >= 0, coins, -coins)
    votes = [kept[list(chosen)].sum(axis=0) for chosen in product(range(len(kept)), repeat=members)]
    mean = np.mean([(vote > 0) + (vote == 0) / 2 for vote in votes])
    assert expected_accuracy(rows, members) == pytest.approx(mean)


def test_the_gain_grows_with_the_root_of_submissions_over_rows() -> None:
    for rows, members in ((10_000, 101), (10_000, 401), (2_000, 21)):
        gain = expected_accuracy(rows, members) - 0.5
        assert gain == pytest.approx(math.sqrt(members / rows) / math.pi, rel=0.03)


def test_the_leaderboard_climbs_as_expected_and_the_hidden_rows_do_not() -> None:
    """Means of 60 runs within four standard errors."""
    hidden = np.arange(400) % 2
    runs = [boost(board("accuracy"), (1, 31, 101), hidden=hidden, rng=1000 + seed) for seed in range(60)]
    leaderboard = np.array([run.leaderboard for run in runs])
    honest = np.array([run.honest for run in runs])
    error = leaderboard.std(axis=0) / math.sqrt(60)
    expected = [expected_accuracy(100, members) for members in (1, 31, 101)]
    assert (np.abs(leaderboard.mean(axis=0) - expected) < 4 * error).all()
    assert expected[2] > 0.78
    assert (np.abs(honest.mean(axis=0) - 0.5) < 4 * 0.5 / math.sqrt(400 * 60)).all()


def test_auc_is_climbed_too() -> None:
    boosted = boost(board("auc"), 201, hidden=np.arange(4000) % 2, rng=5)
    assert boosted.leaderboard[0] > 0.8
    assert abs(boosted.honest[0] - 0.5) < 0.05
    assert float(board("auc").ask(boosted.submission)) == boosted.leaderboard[0]


def test_submissions_are_counted_and_the_result_is_plain_data() -> None:
    oracle = board("accuracy:digits=3")
    boosted = boost(oracle, [5, 3, 5], rng=1)
    assert boosted.members == (3, 5)
    assert boosted.queries == oracle.asked == 7
    assert json.loads(json.dumps(boosted.to_dict()))["honest"] == []


def test_what_cannot_be_boosted() -> None:
    with pytest.raises(ParameterError, match="one half"):
        boost(board("log_loss"), 3)
    with pytest.raises(ParameterError, match="members"):
        boost(board("auc"), 0)


def test_signs_of_any_two_rows_agree_half_of_the_time_over_a_turn() -> None:
    signs = orthogonal_signs(13, 32, np.random.default_rng(1)).astype(int)
    assert (signs.T @ signs == 32 * np.eye(13, dtype=int)).all()
    assert orthogonal_signs(13, 0, np.random.default_rng(1)).shape == (0, 13)


def test_pulls_undo_a_sum_of_signs_exactly() -> None:
    signs = orthogonal_signs(13, 16, np.random.default_rng(2))
    weights = np.random.default_rng(3).normal(size=13)
    assert pulls(signs, 0.5 + signs @ weights, 0.5) / 16 == pytest.approx(weights)
    assert (pulls(signs, np.full(16, np.nan), None) == 0.0).all()
