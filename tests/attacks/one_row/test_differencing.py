"""The row between two evaluations: brute force over all data sets, and the terms of means."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from confide import ScoreCounts
from confide.attacks.disclosure import MEANS, Publication, Window
from confide.attacks.numbers import exact_number
from confide.attacks.one_row.differencing import added_row, added_term
from confide.attacks.one_row.games import with_row
from confide.errors import DataError, ParameterError


def weak_orders(size: int) -> list[tuple[int, ...]]:
    """Every ranking with ties: ranks that use 0..k without a gap."""
    every = itertools.product(range(size), repeat=size)
    return [ranks for ranks in every if set(ranks) == set(range(max(ranks) + 1))]


def twice_auc(labels: tuple[int, ...], ranks: tuple[int, ...]) -> int:
    rows = list(zip(labels, ranks, strict=True))
    return sum((a > b) * 2 + (a == b) for x, a in rows if x for y, b in rows if not y)


@pytest.fixture(scope="module")
def all_pairs() -> dict[tuple[int, int, int, bool], set[int]]:
    """By positives before, and twice the wins before and after: every (label, added wins), of four rows and a fifth.

    Five rows in every order with ties and every labeling; the last one is the row that is added.
    """
    found: dict[tuple[int, int, int, bool], set[int]] = {}
    for ranks in weak_orders(5):
        for labels in itertools.product((0, 1), repeat=5):
            ours = sum(labels[:4])
            if 0 < ours < 4:
                before, after = twice_auc(labels[:4], ranks[:4]), twice_auc(labels, ranks)
                found.setdefault((ours, before, after, bool(labels[4])), set()).add(after - before)
    return found


def compatible(
    every: dict[tuple[int, int, int, bool], set[int]], before: Window, after: Window
) -> set[tuple[int, bool, int]]:
    fits = set()
    for (ours, old, new, positive), added in every.items():
        first = Fraction(old, 2 * ours * (4 - ours))
        second = Fraction(new, 2 * (ours + positive) * (4 - ours + (not positive)))
        if before.lower <= first <= before.upper and after.lower <= second <= after.upper:
            fits |= {(ours, positive, wins) for wins in added}
    return fits


@pytest.mark.parametrize("digits", [None, 1, 2])
def test_added_row_against_every_data_set(
    all_pairs: dict[tuple[int, int, int, bool], set[int]], digits: int | None
) -> None:
    rng = np.random.default_rng(1)
    keys = sorted(all_pairs)
    sure = 0
    for ours, old, new, positive in (keys[k] for k in rng.permutation(len(keys))[:60]):
        published = Publication(metric="auc", digits=digits)
        before = published.window(Fraction(old, 2 * ours * (4 - ours)))
        after = published.window(Fraction(new, 2 * (ours + positive) * (4 - ours + (not positive))))
        expected = compatible(all_pairs, before, after)
        found = added_row(before, after, rows=4)
        listed = {(each.positives_before, each.positive, wins) for each in found.places for wins in each}
        assert listed == expected
        assert found.number == len(expected)
        some = added_row(before, after, rows=4, positives=ours)
        listed = {(each.positives_before, each.positive, wins) for each in some.places for wins in each}
        labels = [label for size, label, _ in expected if size == ours]
        assert listed == {each for each in expected if each[0] == ours}
        assert some.certain == (len(set(labels)) == 1)
        likely = [labels.count(kind) / (2 * others + 1) for kind, others in ((True, 4 - ours), (False, ours))]
        assert some.belief == pytest.approx(likely[0] / sum(likely))
        half = added_row(before, after, rows=4, positives=range(ours, 4))
        assert {place.positives_before for place in half.places} == {each[0] for each in expected if each[0] >= ours}
        assert found.belief == 0.5  # exchanging the classes and turning the ranking around changes no AUC
        sure += some.certain
    assert sure > 10 or digits is not None


def test_without_ties_only_even_numbers_fit() -> None:
    window = Window.written("2/3")
    free, distinct = (added_row(window, window, rows=5, positives=2, ties=ties) for ties in (True, False))
    assert {wins % 2 for place in distinct.places for wins in place} == {0}
    assert distinct.number <= free.number


@pytest.mark.parametrize("metric", MEANS)
@pytest.mark.parametrize("digits", [None, 6])
def test_a_mean_gives_the_new_rows_term(metric: str, digits: int | None) -> None:
    rng = np.random.default_rng(3)
    published = Publication(metric=metric, digits=digits)
    for _ in range(20):
        labels = rng.random(50) < 0.5
        counts = ScoreCounts.from_arrays(labels, rng.uniform(0.02, 0.98, 50))
        score, positive = float(rng.uniform(0.02, 0.98)), bool(rng.integers(2))
        later = with_row(counts, score, positive)
        before, after = (published.window(exact_number(each, metric)) for each in (counts, later))
        found = added_term(metric, before, after, rows=50, score=score)
        share = score if positive else 1.0 - score
        term = {"accuracy": float((score >= 0.5) == positive), "log_loss": -np.log(share), "brier": (1 - share) ** 2}
        assert found.lower - 1e-9 <= term[metric] <= found.upper + 1e-9
        assert found.guess is not None
        assert found.guess.positive is positive
        assert found.guess.certain
        assert added_term(metric, before, after, rows=50).guess is None


def test_what_is_refused() -> None:
    half = Window.written("1/2")
    with pytest.raises(ParameterError, match="leave a row of each class"):
        added_row(half, half, rows=4, positives=4)
    with pytest.raises(DataError, match="no row that was added"):
        added_row(Window.written("1/7"), half, rows=4)
    with pytest.raises(ParameterError, match="not a mean over rows"):
        added_term("auc", half, half, rows=4)
