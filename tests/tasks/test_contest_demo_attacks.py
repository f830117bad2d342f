"""Attacks on a server of masked labels stay within the bound; broken servers are caught."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.special import bdtrc

from confide.attacks.contest.ladder import climb
from confide.attacks.contest.rehearsal import Ask, BestSoFar, repeat_question
from confide.contest.estimators import score_entry
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound
from confide.tasks.contest_demo import FALSE_ALARM, attack_server, planned_submissions

ROWS = 400


def masked_once(labels: np.ndarray, epsilon: int, metric: str, rng: np.random.Generator) -> Ask:
    """Return what a sound server answers."""
    flip = Fraction(1 / (1 + exp(epsilon))).limit_denominator(1 << 40)
    masked = MaskedLabels(labels ^ (rng.random(labels.size) < float(flip)), flip)
    return lambda scores: score_entry(ContestMetric.checked(metric), scores, masked).value


def masked_anew(labels: np.ndarray, epsilon: int, metric: str, rng: np.random.Generator) -> Ask:
    """Return what a broken server answers: it draws the mask again for each submission."""
    return lambda scores: masked_once(labels, epsilon, metric, rng)(scores)


def attacked(server: Callable[..., Ask], epsilon: int, metric: str, seed: int) -> tuple[bool, ...]:
    rng = np.random.default_rng(seed)
    labels = rng.random(ROWS) < 0.5
    asked: list[FloatArray] = []
    answers = server(labels, epsilon, metric, rng)

    def ask(scores: FloatArray) -> float:
        asked.append(scores)
        return answers(scores)

    results = attack_server(
        ask, labels, metric=metric, epsilon=Fraction(epsilon), bound=success_bound(epsilon), rng=rng
    )
    assert [one.name for one in results] == ["recover_labels", "climb", "repeat one question"]
    assert len(asked) == sum(one.submissions for one in results) <= planned_submissions(ROWS)
    assert results[0].exact_share == 1.0
    assert results[1].exact_share == 1.0
    if server is masked_once:  # the attack reads every masked label, so the test has all the power that it can have
        assert results[0].share > success_bound(epsilon) - 5 * np.sqrt(0.25 / ROWS)
    return tuple(one.beyond_bound for one in results)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "metric"), [(1, "auc"), (2, "auc"), (1, "accuracy"), (3, "auc")])
def test_no_attack_gets_beyond_the_bound(epsilon: int, metric: str) -> None:
    """False alarms: at most 1e-6 for each of three attacks."""
    assert FALSE_ALARM == 1e-6
    assert not any(attacked(masked_once, epsilon, metric, seed=epsilon))


@pytest.mark.statistical
def test_a_server_that_masks_too_seldom_is_caught() -> None:
    """Power: labels masked for epsilon 4 are read with 98 % right, where epsilon 2 promises at most 88 %."""

    def too_seldom(labels: np.ndarray, epsilon: int, metric: str, rng: np.random.Generator) -> Ask:
        return masked_once(labels, 2 * epsilon, metric, rng)

    assert attacked(too_seldom, 2, "auc", seed=5)[0]


@pytest.mark.statistical
def test_a_server_that_masks_anew_is_caught_by_asking_again() -> None:
    """Power: six fresh masks of a label point to it with a probability of 99 %; 200 labels at 99 % are no luck."""
    rng = np.random.default_rng(6)
    labels = rng.random(ROWS) < 0.5
    for server, caught in ((masked_anew, True), (masked_once, False)):
        ask = server(labels, 2, "auc", rng)
        found = [repeat_question(ask, rows=ROWS, row=row, times=6, rng=rng) for row in range(200)]
        right = sum(one.label == int(labels[one.row]) for one in found)
        assert bool(bdtrc(right - 1, 200, success_bound(2.0)) < FALSE_ALARM) is caught


def test_repeating_a_question_averages_fresh_noise_but_not_a_mask() -> None:
    rng = np.random.default_rng(1)
    labels = np.arange(50) % 2 == 0
    steady = masked_once(labels, 1, "auc", rng)
    noisy = lambda scores: float(rng.normal(scores[3] > scores[4], 5.0))  # noqa: E731  # positive whatever the mask
    for row in range(5):
        found = repeat_question(steady, rows=50, row=row, times=10, rng=rng)
        assert found.answers == 1
        assert found.to_dict()["times"] == 10
    found = repeat_question(noisy, rows=50, row=3, times=2000, rng=rng)
    assert (found.answers, found.label) == (2000, 1)


def test_climbing_a_board_reads_exact_answers() -> None:
    labels = np.arange(60) % 3 == 0
    board = BestSoFar(lambda scores: float(((scores >= 0.5) == labels).mean()), rows=60, limit=61)
    found = climb(board, queries=61, rng=1)
    assert (found.labels == labels).all()
    assert board.left == 0


@pytest.mark.parametrize("wrong", [{"row": 9, "times": 1}, {"row": -1, "times": 1}, {"row": 0, "times": 0}])
def test_wrong_repetitions_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        repeat_question(lambda scores: 0.5, rows=5, rng=np.random.default_rng(1), **wrong)
