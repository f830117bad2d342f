"""The row between two ROC curves: every place tried, and thresholds that give its score."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from confide import ScoreCounts, roc_curve
from confide.attacks.from_curve.curve_report import added_on_roc
from confide.attacks.from_curve.points import RocPoints
from confide.attacks.one_row.games import with_row
from confide.errors import DataError


def brute_places(before: ScoreCounts, after: RocPoints) -> set[tuple[bool, int, int]]:
    """Add a row of either class at every place and keep those that give the same points."""
    middles = [(a + b) / 2 for a, b in itertools.pairwise(before.scores)]
    found = set()
    for score in (before.scores[0] - 1, *before.scores, *middles, before.scores[-1] + 1):
        for positive in (True, False):
            curve = roc_curve(with_row(before, float(score), positive))
            same = curve.true_positive_rate.size == after.true_positive_rate.size
            same = same and np.allclose(curve.true_positive_rate, after.true_positive_rate)
            if same and np.allclose(curve.false_positive_rate, after.false_positive_rate):
                rows = before.positives + before.negatives
                found.add((positive, int(rows[before.scores > score].sum()), int(rows[before.scores == score].sum())))
    return found


def test_two_curves_against_every_place() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        labels = rng.permutation([1, 0, *rng.integers(0, 2, 8)])
        before = ScoreCounts.from_arrays(labels, rng.integers(0, 9, 10) / 8)
        score, positive = float(rng.integers(-1, 20) / 16), bool(rng.integers(2))
        later = with_row(before, score, positive)
        old, new = (RocPoints.of_curve(roc_curve(each)) for each in (before, later))
        sizes = (int(before.total_positives), int(before.total_negatives))
        found = added_on_roc(old, new, sizes=sizes)
        assert {(place.positive, place.above, place.tied) for place in found.places} == brute_places(before, new)
        assert found.positive is positive
        rows = before.positives + before.negatives
        assert int(rows[before.scores > score].sum()) in found.ranks
        free = added_on_roc(old, new, most=12)
        assert set(found.places) <= set(free.places)


def test_curves_that_differ_by_more_than_one_row() -> None:
    """One positive more in the highest step, but two other steps exchanged."""
    before = RocPoints(np.array([0, 0, 0.5, 0.5, 1]), np.array([0, 0.5, 0.5, 1, 1]))
    after = RocPoints(np.array([0, 0, 0, 0.5, 1]), np.array([0, 2 / 3, 1, 1, 1]))
    with pytest.raises(DataError, match="do not differ by one row"):
        added_on_roc(before, after, sizes=(2, 2))


def test_thresholds_give_the_place_and_the_score() -> None:
    rng = np.random.default_rng(6)
    labels = rng.random(40) < 0.5
    before = ScoreCounts.from_arrays(labels, rng.normal(labels))
    for score in (0.3, float(before.scores[7]), 9.0):
        later = with_row(before, score, True)
        old, new = (RocPoints.of_curve(roc_curve(each), thresholds=True) for each in (before, later))
        (place,) = added_on_roc(old, new, sizes=(int(labels.sum()), int((~labels).sum()))).places
        assert place.positive
        assert place.lowest == score
        assert place.tied == (score == before.scores[7])
    assert place.to_dict()["below"] is None  # above all others


def test_what_is_refused() -> None:
    points = RocPoints(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    turned = RocPoints(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(DataError, match="do not differ by one row"):
        added_on_roc(points, turned, sizes=(2, 2))
