"""The Ladder does what Blum and Hardt say, stops boosting, and still gives labels away."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from confide.attacks.contest.ladder import LadderOracle, boost, climb, ladder, parameter_free_ladder
from confide.attacks.contest.oracle import Oracle, OutOfQueries
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.disclosure import Publication
from confide.attacks.numbers import exact_number_of
from confide.errors import ParameterError

LABELS = np.random.default_rng(3).random(200) < 0.5
METRICS = ("accuracy", "auc", "average_precision", "log_loss", "brier")


def improving(rows: int, seed: int) -> list[np.ndarray]:
    """Submissions of which some are better and some worse than those before."""
    rng = np.random.default_rng(seed)
    good = np.clip(0.5 + 0.3 * (LABELS[:rows] - 0.5) + rng.normal(0, 0.2, rows), 0.01, 0.99)
    shares = np.linspace(0.0, 1.0, 40) * rng.random(40)
    return [share * good + (1 - share) * rng.random(rows) for share in shares]


@pytest.mark.parametrize("metric", METRICS)
def test_a_fixed_step_by_the_algorithm(metric: str) -> None:
    board = ladder(LABELS, metric, step="0.02")
    best, moves = math.inf, 0
    for scores in improving(200, 1):
        loss = float(exact_number_of(LABELS, scores, metric)) * (1 if metric in ("log_loss", "brier") else -1)
        if loss < best - 0.02:
            best, moves = round(loss / 0.02) * 0.02, moves + 1
        assert abs(float(board.ask(scores))) == pytest.approx(abs(best))
    assert 2 <= moves < 30


def test_the_parameter_free_ladder_by_the_algorithm() -> None:
    board = parameter_free_ladder(LABELS)
    best, leader, moves = math.inf, np.zeros(200), 0
    for scores in improving(200, 2):
        losses = ((scores >= 0.5) != LABELS).astype(float)
        if losses.mean() < best - (losses - leader).std(ddof=1) / math.sqrt(200):
            best, leader, moves = losses.mean(), losses, moves + 1
        assert 1 - float(board.ask(scores)) == pytest.approx(best)
    assert 2 <= moves < 30


def test_one_row_more_is_just_not_enough_for_the_parameter_free_ladder_and_two_are() -> None:
    guess = np.where(np.arange(200) < 10, ~LABELS, LABELS).astype(float)  # the first ten are wrong
    board = parameter_free_ladder(LABELS)
    for turned, right in ((0, 190), (1, 190), (2, 192)):
        assert float(board.ask(np.where(np.arange(200) < turned, 1.0 - guess, guess))) == right / 200


@pytest.mark.parametrize("metric", METRICS)
def test_windows_hold_the_exact_number(metric: str) -> None:
    boards = [ladder(LABELS, metric, step="0.02")]
    if metric in ("accuracy", "log_loss", "brier"):
        boards.append(parameter_free_ladder(LABELS, metric))
    for board in boards:
        for scores in improving(200, 3):
            window = board.window(board.ask(scores))
            exact = exact_number_of(LABELS, scores, metric)
            assert window.lower - 1e-12 <= exact <= window.upper + 1e-12


def boards(step: str) -> list[LadderOracle]:
    return [ladder(LABELS, "accuracy", step=step), parameter_free_ladder(LABELS)]


def test_boosting_gets_no_further_than_the_luckiest_of_its_coins() -> None:
    exact = boost(Oracle.of_labels(LABELS, Publication.parse("accuracy")), 301, rng=11)
    assert exact.leaderboard[0] > 0.78
    for board in boards("0.05"):
        assert boost(board, 301, rng=11).leaderboard[0] < 0.65  # 0.61 is the mean of the best of 301 coins


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_cannot_be_decoded_from_a_ladder(metric: str) -> None:
    """200 fair guesses: above 130 right with a chance below 2e-5."""
    found = recover_labels(ladder(LABELS, metric, step="0.05", limit=400), rng=1)
    assert found.agreement(LABELS).right <= 130
    assert (found.labels[found.certain] == LABELS[found.certain]).all()


def test_a_step_below_one_row_gives_every_label_away() -> None:
    board = ladder(LABELS, "accuracy", step="0.003")
    found = climb(board, queries=201, rng=1)
    assert (found.labels == LABELS).all()
    assert found.certain.all()
    assert found.queries == board.asked == 201


def test_the_parameter_free_ladder_gives_labels_away_by_pairs() -> None:
    found = climb(parameter_free_ladder(LABELS), queries=400, rng=1)
    assert found.agreement(LABELS).share > 0.85
    assert found.certain.sum() > 50
    assert (found.labels[found.certain] == LABELS[found.certain]).all()


def test_the_step_of_theory_gives_next_to_nothing_away() -> None:
    step = f"{(math.log(400 * 200) / 200) ** (1 / 3):.3f}"
    found = climb(ladder(LABELS, "accuracy", step=step), queries=400, rng=1)
    assert found.agreement(LABELS).right <= 130
    assert not found.certain.any()


def test_limits_hold() -> None:
    board = ladder(LABELS, "accuracy", step="0.003", limit=10)
    assert climb(board, queries=50, rng=1).queries == 10
    with pytest.raises(OutOfQueries):
        board.ask(np.zeros(200))
    assert climb(ladder(LABELS, "accuracy", step="0.003", limit=0), queries=50, rng=1).queries == 0


def test_what_is_no_ladder() -> None:
    with pytest.raises(ParameterError, match="step"):
        ladder(LABELS, "accuracy", step=0)
    with pytest.raises(ParameterError, match="fixed step"):
        parameter_free_ladder(LABELS, "auc")
    with pytest.raises(ParameterError, match="accuracy"):
        climb(ladder(LABELS, "auc", step="0.01"), queries=3)


@pytest.mark.parametrize("board", boards("0.003"))
def test_a_ladder_that_was_asked_before_is_not_climbed(board: LadderOracle) -> None:
    """Its answer to a first guess may be that of a better submission, and what follows would be wrong."""
    board.ask(LABELS.astype(float))
    with pytest.raises(ParameterError, match="asked before"):
        climb(board, queries=50, rng=1)
    assert board.asked == 1


def test_what_climbing_calls_certain_is_right_whatever_the_step() -> None:
    """Steps of half a row to two rows and more, so that groups are of one to four rows; and without a step."""
    rng = np.random.default_rng(12)
    certain = dict.fromkeys((1, 2, 3, 4), 0)
    for seed in range(100):
        hidden = rng.permutation(np.arange(rows := int(rng.integers(12, 41))) < rng.integers(1, rows))
        step = Fraction(int(rng.integers(500, 2_200)), 1_000 * rows)
        for board in (ladder(hidden, "accuracy", step=step), parameter_free_ladder(hidden)):
            found = climb(board, queries=3 * rows, rng=seed)
            np.testing.assert_array_equal(found.labels[found.certain], hidden[found.certain])
            certain[board.group] += int(found.certain.sum())
    assert min(certain[1], certain[2]) > 150
    assert certain[3] == certain[4] == 0
