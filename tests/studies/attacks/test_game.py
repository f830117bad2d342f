"""The membership game: against the exact chances, and which claims survive it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from studies.stoddard.attacks.game import Candidate, Guesses, game_scores, membership_game, worlds
from studies.stoddard.attacks.refutations import ptt_success

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.privacy.adversary import success_bound
from tests.noises import seeded

LEVELS, EACH = 40, 6


def text_like(each: int) -> FeatureRows:
    """Forty rows: so many words are in k of them, for each k from 0 to 39. Half of the rows are positive."""
    matrix = np.arange(LEVELS)[:, None] < np.repeat(np.arange(LEVELS), each)
    return FeatureRows.from_matrix(matrix.astype(int), np.arange(LEVELS) % 2 == 0)


KNOWN = text_like(EACH)
MESSAGE = Candidate(features=tuple(range(EACH, 21 * EACH, EACH)))
"""Twenty words, of which 1 to 20 other rows have one each."""


def played(
    target: str, candidates: tuple[Candidate | None, Candidate | None] = (None, MESSAGE), **terms: Any
) -> Guesses:
    rng = np.random.default_rng(5)
    options: dict[str, Any] = {"epsilon": 0.1, "threshold": 10, "trials": 3_000, "noise": seeded(6), **terms}
    return membership_game(KNOWN, candidates, target, rng=rng, **options)


@pytest.mark.statistical
@pytest.mark.parametrize("score", ["total-count", "difference-count"])
def test_threshold_testing_is_beaten_as_often_as_computed(score: str) -> None:
    """Within five standard deviations, both of the guesses and of what is certain: a false alarm in a million."""
    game = played("threshold-testing", score=score, threshold=10 if score == "total-count" else 1)
    ours, theirs = (game_scores(rows, score) for rows in worlds(KNOWN, (None, MESSAGE)))
    exact = ptt_success(ours, theirs, 10 if score == "total-count" else 1, 0.1, monotone=score == "total-count")
    assert abs(game.success - exact.right) <= 5.0 * math.sqrt(exact.right * (1.0 - exact.right) / game.trials)
    assert abs(game.certain / game.trials - exact.certain) <= 5.0 * math.sqrt(0.25 / game.trials)


@pytest.mark.statistical
def test_threshold_testing_gives_far_more_away_than_it_claims() -> None:
    """Claimed: a guess is right with 52.5 % at most. The threshold falls among the counts with 63 %."""
    game = played("threshold-testing")
    assert game.bound == success_bound(0.1) < 0.526
    assert game.interval.lower > 0.75
    assert game.certain > 0.5 * game.trials
    assert game.refutes


@pytest.mark.statistical
def test_score_perturbation_of_the_same_epsilon_keeps_its_bound() -> None:
    """It reads all noisy scores. Above the bound by five standard deviations: a false alarm in three million."""
    game = played("score-perturbation")
    assert game.success <= game.bound + 5.0 * math.sqrt(0.25 / game.trials)
    assert game.certain == 0
    assert not game.refutes


@pytest.mark.statistical
def test_score_perturbation_is_read_as_well_as_can_be() -> None:
    """One word, and rows of one word: Laplace noise of 1/epsilon on one count lets a guess come near the bound."""
    game = played("score-perturbation", (None, Candidate(features=(9,))), epsilon=1, most_features=1)
    assert abs(game.success - (1.0 - math.exp(-0.5) / 2.0)) <= 0.05  # of continuous noise; five standard errors


@pytest.mark.statistical
def test_noisycut_gives_more_away_than_it_claims() -> None:
    """An article with half of all words, of which there are thirty of each count: the claim is for any number."""
    article = Candidate(features=tuple(range(0, 30 * LEVELS, 2)))
    rng = np.random.default_rng(7)
    game = membership_game(text_like(30), (None, article), "noisycut", epsilon=0.5, threshold=15, trials=400, rng=rng)
    assert game.bound == success_bound(0.5)
    assert game.interval.lower > game.bound + 0.1
    assert game.certain == 0


def test_another_row_in_its_place_is_two_steps() -> None:
    other = Candidate(features=tuple(range(EACH + 1, 21 * EACH, EACH)), positive=True)
    game = played("threshold-testing", (other, MESSAGE), trials=200)
    assert game.claimed == 0.2
    assert game.bound == success_bound(0.2)
    assert game.refutes


@pytest.mark.parametrize("target", ["threshold-testing", "noisycut"])
def test_a_word_that_nobody_selects_tells_nothing(target: str) -> None:
    """The threshold is out of reach: the answer is empty in both worlds. A false alarm in two million."""
    game = played(target, (None, Candidate(features=(0,))), threshold=1e6, epsilon=1, trials=200)
    assert abs(game.success - 0.5) <= 5.0 * math.sqrt(0.25 / 200)
    assert game.certain == 0


def test_the_outcome_is_plain_data() -> None:
    game = played("threshold-testing", trials=10)
    plain = game.to_dict()
    assert plain["success"] == game.hits / 10
    assert plain["interval"]["level"] == 0.95
    assert set(plain) == {
        "target", "claimed", "trials", "hits", "success", "certain", "interval", "bound", "refutes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"target": "treshold-testing"}, "Did you mean 'threshold-testing'"),
        ({"score": "information-gain"}, "score must be one of total-count, difference-count"),
        ({"trials": 0}, "trials must be a whole number"),
        ({"candidates": (None, None)}, "two candidates that differ"),
        ({"candidates": (MESSAGE, MESSAGE)}, "two candidates that differ"),
        ({"candidates": (None, Candidate(features=(240,)))}, "from 0 to width - 1"),
        ({"epsilon": 0}, "epsilon must be greater than 0"),
    ],
)
def test_what_cannot_be_played_is_refused(terms: dict[str, Any], said: str) -> None:
    given = {"target": "threshold-testing", "candidates": (None, MESSAGE), **terms}
    with pytest.raises(ParameterError, match=said):
        played(given.pop("target"), given.pop("candidates"), **given)
