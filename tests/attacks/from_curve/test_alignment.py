"""Known rows on a ROC curve: brute force over alignments."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts, roc_curve
from confide.attacks.from_curve.points import RocPoints, RocSteps, align_known, align_part, roc_steps
from confide.errors import DataError
from tests.attacks.rows import tied_rows


def brute_alignments(steps: RocSteps, known: ScoreCounts, every_score: bool) -> list[tuple[int, ...]]:
    """Every way to put the known scores, from the highest down, into steps."""
    ours, theirs, scores = known.positives[::-1], known.negatives[::-1], known.scores[::-1]
    found = []
    for places in itertools.product(range(len(steps)), repeat=len(known)):
        ordered = all(a < b if every_score else a <= b for a, b in itertools.pairwise(places))
        at = np.array(places)
        enough = all(
            ours[at == j].sum() <= steps.positives[j] and theirs[at == j].sum() <= steps.negatives[j]
            for j in range(len(steps))
        )
        seen = steps.lowest is None or all(
            steps.lowest[j] <= score < steps.below[j]  # type: ignore[index]
            for j, score in zip(places, scores, strict=True)
        )
        if ordered and enough and seen:
            found.append(places)
    return found


@pytest.mark.parametrize("every_score", [True, False])
@pytest.mark.parametrize("thresholds", [False, True])
def test_alignments_against_brute_force(every_score: bool, thresholds: bool) -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        labels, scores = tied_rows(rng, int(rng.integers(4, 9)), 6)
        counts = ScoreCounts.from_arrays(labels, scores)
        curve = roc_curve(counts) if every_score else roc_curve(counts).simplified()
        steps = roc_steps(RocPoints.of_curve(curve, thresholds=thresholds), int(labels.sum()), int((~labels).sum()))
        part = rng.permutation(labels.size)[: int(rng.integers(1, 5))]
        known = ScoreCounts.from_arrays(labels[part], scores[part], one_class=True)
        found = align_known(steps, known, every_score=every_score)
        ways = brute_alignments(steps, known, every_score)
        assert found.alignments == len(ways)
        expected = np.array([[sum(way[i] == j for way in ways) for j in range(len(steps))] for i in range(len(known))])
        np.testing.assert_array_equal(found.step_of, expected / len(ways))
        check_unknown(found, steps, known, ways)


def check_unknown(found: Any, steps: RocSteps, known: ScoreCounts, ways: list[tuple[int, ...]]) -> None:
    """Unknown rows between and beside known scores, averaged over alignments."""
    for rows, part, between, beside in (
        (steps.positives, known.positives[::-1], found.positives_between, found.positives_beside),
        (steps.negatives, known.negatives[::-1], found.negatives_between, found.negatives_beside),
    ):
        gaps, ties = np.zeros(len(known) + 1), np.zeros(len(known))
        for way in ways:
            for j in range(len(steps)):
                here = [i for i, place in enumerate(way) if place == j]
                if here:
                    ties[here[0]] += rows[j] - part[here].sum()
                else:
                    gaps[sum(place < j for place in way)] += rows[j]
        np.testing.assert_allclose(between, gaps / len(ways))
        np.testing.assert_allclose(beside, ties / len(ways))
    total = found.positives_between.sum() + found.positives_beside.sum()
    assert round(float(total)) == found.unknown[0] == steps.positives.sum() - known.positives.sum()


def test_all_rows_but_one_leave_its_label_and_place() -> None:
    labels = np.array([0, 1, 0, 1, 1, 0], dtype=bool)
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    steps = roc_steps(RocPoints.of_curve(roc_curve(ScoreCounts.from_arrays(labels, scores))), 3, 3)
    known = ScoreCounts.from_arrays(np.delete(labels, 2), np.delete(scores, 2))
    found = align_known(steps, known)
    assert found.unknown == (0, 1)
    assert (found.alignments, found.located) == (1, 5)
    np.testing.assert_array_equal(found.negatives_between, [0, 0, 0, 1, 0, 0])
    assert found.belief_between[3] == 0.0
    assert found.to_dict()["belief_between"] == [None, None, None, 0.0, None, None]


def test_large_numbers_of_alignments_stay_exact() -> None:
    """Known positives among only positives: `C(n, k)` ways, beyond any machine integer."""
    steps = RocSteps(np.ones(400, dtype=np.int64), np.zeros(400, dtype=np.int64))
    known = ScoreCounts.from_arrays(np.ones(200), np.arange(200.0), one_class=True)
    found = align_known(steps, known)
    assert found.alignments == math.comb(400, 200)
    np.testing.assert_allclose(found.step_of.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.positives_between.sum(), 200.0)


def test_a_step_that_is_all_but_certain_is_not_located() -> None:
    """The known positive is the second one in 1 of C(90, 30) + 1 alignments, which floats cannot tell from none."""
    positives = np.array([1] + [0] * 60 + [1] + [0] * 30)
    known = ScoreCounts.from_arrays([1] + [0] * 30, [100.0, *range(30)])
    found = align_known(RocSteps(positives, 1 - positives), known)
    assert found.alignments == math.comb(90, 30) + 1
    assert found.step_of[0, 0] == 1.0
    assert found.step_of[0, 61] > 0.0
    assert found.located == found.to_dict()["located"] == 0


def test_a_part_of_the_rows_finds_its_place() -> None:
    rng = np.random.default_rng(8)
    labels = rng.random(60) < 0.5
    counts = ScoreCounts.from_arrays(labels, rng.normal(labels))
    few, many = (align_part(counts, known, rng=rng) for known in (10, 50))
    assert few.alignments > many.alignments
    assert sum(many.unknown) == 10
    assert align_part(counts, 30, rng=rng, thresholds=True).located == 30


def test_what_is_refused() -> None:
    points = RocPoints(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1 / 3, 1.0]))
    with pytest.raises(DataError, match="do not fit the curve"):
        align_known(roc_steps(points, 3, 2), ScoreCounts.from_arrays([1] * 4, [1, 2, 3, 4], one_class=True))
