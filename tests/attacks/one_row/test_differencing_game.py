"""The added row's label, found and guessed: round trips and the bound."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts
from confide.attacks import numbers
from confide.attacks.disclosure import NUMBERS, Publication
from confide.attacks.numbers import exact_number
from confide.attacks.one_row.differencing import differenced_rows, differencing_game
from confide.attacks.one_row.games import label_of_score, with_row
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound
from confide.privacy.mechanisms.squared_error import SPREAD_SHARE
from confide.releases.registry import prepare
from tests.noises import seeded


def test_two_exact_aucs_and_the_number_of_rows_give_most_labels() -> None:
    """With which class is rarer, but neither scores nor class sizes."""
    rng = np.random.default_rng(2)
    labels = rng.random(80) < 0.4
    counts = ScoreCounts.from_arrays(labels, rng.normal(labels))
    exact = differenced_rows(counts, Publication.parse("auc"), most=15, rng=rng)
    assert exact.right >= 13
    known = differenced_rows(counts, Publication.parse("auc"), most=15, rng=rng, positives_known=True)
    assert known.certain >= 13
    coarse = differenced_rows(counts, Publication.parse("auc:digits=2"), most=15, rng=rng, positives_known=True)
    assert coarse.certain < known.certain
    assert exact.to_dict()["tried"] == 15


@pytest.mark.parametrize("metric", NUMBERS)
def test_where_the_rows_before_are_known_every_metric_gives_the_label(metric: str) -> None:
    rng = np.random.default_rng(4)
    labels = rng.random(60) < 0.5
    counts = ScoreCounts.from_arrays(labels, rng.uniform(0.02, 0.98, 60))
    right = 0
    for positive in (True, False) * 5:
        score = float(rng.uniform(0.02, 0.98))
        after = Publication(metric=metric).window(exact_number(with_row(counts, score, positive), metric))
        right += label_of_score(counts, score, metric, after).positive is positive
    assert right >= 9
    assert differenced_rows(counts, Publication(metric=metric), most=10, rng=rng).right >= 8


def test_bounds_are_those_of_two_releases_and_of_the_one_with_the_label() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 0, 1, 0, 1, 1, 1], np.arange(1, 9) / 9)
    rng = np.random.default_rng(7)
    for text in ("auc:epsilon=1", "brier:epsilon=1"):
        found = differencing_game(counts, Publication.parse(text), trials=1, rng=rng)
        assert found.game.bound == success_bound(2.0)
        assert found.label_bound == success_bound(1.0)
    exact: Any = differencing_game(counts, Publication.parse("brier"), trials=25, rng=rng)
    assert (exact.game.success, exact.label_bound, exact.to_dict()["bound"]) == (1.0, None, None)


@pytest.mark.statistical
def test_a_released_change_is_read_as_well_as_the_noise_of_both_releases_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Within three standard errors of how often a sum of two Laplace variables stays on its side of the middle."""
    counts = ScoreCounts.from_arrays([0, 0, 0, 1, 0, 1, 1, 1], [0.01, 0.02, 0.03, 0.04, 0.96, 0.97, 0.98, 0.99])
    monkeypatch.setattr(numbers, "prepare", partial(prepare, noise=seeded(1)))
    found = differencing_game(counts, Publication.parse("brier:epsilon=6"), trials=120, rng=np.random.default_rng(3))
    expected, broken = (float(np.mean(stays(counts.scores, 8, epsilon))) for epsilon in (6.0, 12.0))
    error = np.sqrt(expected * (1.0 - expected) / 120)
    assert abs(found.game.success - expected) < 3.0 * error < broken - expected


def stays(scores: FloatArray, rows: int, epsilon: float) -> FloatArray:
    """The chance that the noise of a mean of n - 1 rows and of n adds up to less than half of `|1 - 2 s|/n`."""
    middle = np.abs(1.0 - 2.0 * scores) / rows / 2.0
    spent = float(1 - SPREAD_SHARE) * epsilon
    first, second = 1.0 / ((rows - 1) * spent), 1.0 / (rows * spent)
    tails = first**2 * np.exp(-middle / first) - second**2 * np.exp(-middle / second)
    return np.asarray(1.0 - tails / (2.0 * (first**2 - second**2)))


def test_what_is_refused() -> None:
    counts = ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    published = Publication.parse("auc:epsilon=1,times=3")
    with pytest.raises(ParameterError, match="one release"):
        differencing_game(counts, published, trials=1, rng=np.random.default_rng(0))
