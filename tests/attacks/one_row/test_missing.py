"""The missing row's label: brute force over every place and class."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from confide import ScoreCounts
from confide.attacks.disclosure import Publication, Window
from confide.attacks.numbers import exact_number
from confide.attacks.one_row.games import Candidates, label_of_score, missing_label
from confide.errors import DataError, ParameterError
from tests.attacks.brute import auc_by_pairs
from tests.attacks.rows import few_rows


def slow_guess(labels: list[int], scores: list[float], window: Window) -> tuple[Fraction, tuple[int, int]]:
    distinct = sorted(set(scores))
    middles = [(a + b) / 2 for a, b in itertools.pairwise(distinct)]
    gaps: list[tuple[Fraction, int]] = []
    for label in (1, 0):
        for place in (distinct[0] - 1, *distinct, *middles, distinct[-1] + 1):
            value = auc_by_pairs([*labels, label], [*scores, place])
            gaps.append((max(window.lower - value, value - window.upper, Fraction(0)), label))
    least = min(gaps)[0]
    return least, (gaps.count((least, 1)), gaps.count((least, 0)))


@pytest.mark.parametrize("digits", [None, 1, 2, 3])
def test_places_and_classes_against_brute_force(digits: int | None) -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        labels, scores = few_rows(rng, int(rng.integers(3, 9)))
        value = Fraction(int(rng.integers(0, 61)), 60)
        half = Fraction(0) if digits is None else Fraction(1, 2 * 10**digits)
        window = Window(lower=value - half, upper=value + half)
        guess = missing_label(ScoreCounts.from_arrays(labels, scores), window)
        least, nearest = slow_guess(labels, scores, window)
        assert guess.nearest == nearest
        assert guess.belief == nearest[0] / sum(nearest)
        assert guess.positive is (None if nearest[0] == nearest[1] else nearest[0] > nearest[1])
        assert guess.certain is (least == 0 and 0 in nearest)


def test_known_rows_of_one_class_leave_one_answer() -> None:
    known = ScoreCounts.from_arrays([1, 1], [0.2, 0.6], one_class=True)
    assert missing_label(known, Window.written("1/2")).to_dict() == {
        "positive": False,
        "belief": 0.0,
        "certain": True,
        "nearest": [0, 1],
    }
    with pytest.raises(DataError, match="at least one known row"):
        missing_label(ScoreCounts.empty(), Window.written("1/2"))


def test_a_window_far_from_every_candidate_still_gives_the_nearest() -> None:
    known = ScoreCounts.from_arrays([0, 1, 1], [0.1, 0.8, 0.4])
    far = Window(lower=Fraction(10**30), upper=Fraction(10**30))
    assert missing_label(known, far).nearest == (5, 3)  # all that have AUC 1: above 0.1, and below 0.4
    assert not missing_label(known, far).certain


def test_a_label_that_the_log_loss_cannot_tell() -> None:
    known = ScoreCounts.from_arrays([0, 1], [0.25, 0.75])
    guess = label_of_score(
        known, 0.5, "log_loss", Publication.parse("log_loss").window(exact_number(known, "log_loss"))
    )
    assert guess.positive is None
    assert guess.belief == 0.5


def test_what_is_refused() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(DataError, match="weights"):
        Candidates(known=ScoreCounts.from_arrays([0, 1], [0.1, 0.2], [0.5, 1.5]))
    with pytest.raises(ParameterError, match="Did you mean 'brier'"):
        label_of_score(counts, 0.5, "brie", Window.written("0.5"))
