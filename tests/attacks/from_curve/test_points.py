"""A ROC curve's points as counts: round trips, and class sizes tried one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts, roc_curve
from confide.attacks.from_curve.points import RocPoints, class_sizes, roc_steps
from confide.errors import DataError, ParameterError
from tests.attacks.rows import tied_rows


def steps_of(labels: Any, scores: Any) -> tuple[list[int], list[int]]:
    distinct = sorted(set(scores.tolist()), reverse=True)
    ours = [int((labels & (scores == value)).sum()) for value in distinct]
    return ours, [int((~labels & (scores == value)).sum()) for value in distinct]


@pytest.mark.parametrize("digits", [None, 2, 3])
def test_round_trip_with_our_curve(digits: int | None) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels, scores = tied_rows(rng, int(rng.integers(4, 40)), 30)
        curve = roc_curve(ScoreCounts.from_arrays(labels, scores))
        points = RocPoints.of_curve(curve, digits=digits)
        ours, theirs = int(labels.sum()), int((~labels).sum())
        assert (ours, theirs) in set(class_sizes(points, most=60))
        assert (ours, theirs) in set(class_sizes(points, rows=labels.size))
        steps = roc_steps(points, ours, theirs)
        assert (steps.positives.tolist(), steps.negatives.tolist()) == steps_of(labels, scores)


def test_sizes_against_trying_each() -> None:
    rng = np.random.default_rng(2)
    labels, scores = tied_rows(rng, 24, 300)
    for digits in (1, 2, 3):
        points = RocPoints.of_curve(roc_curve(ScoreCounts.from_arrays(labels, scores)), digits=digits)

        def fits(rates: Any, size: int, digits: int = digits) -> bool:
            near = np.array([[round(k / size, 12) for k in range(size + 1)]])
            return bool((np.abs(near - rates[:, None]).min(axis=1) <= 0.5 * 10.0**-digits + 1e-12).all())

        found = class_sizes(points, most=50)
        assert found.positives == tuple(n for n in range(1, 51) if fits(points.true_positive_rate, n))
        assert found.negatives == tuple(n for n in range(1, 51) if fits(points.false_positive_rate, n))
        assert len(found) == len(list(found)) == found.to_dict()["pairs"]


def test_many_points_are_tried_in_two_rounds() -> None:
    rng = np.random.default_rng(3)
    labels = np.arange(300) < 101
    curve = roc_curve(ScoreCounts.from_arrays(labels, rng.normal(labels)))
    assert class_sizes(RocPoints.of_curve(curve), most=500).positives == (101, 202, 303, 404)
    assert list(class_sizes(RocPoints.of_curve(curve), rows=300)) == [(101, 199)]


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="rise from 0 to 1"):
        RocPoints(np.array([0.1, 1.0]), np.array([0.0, 1.0]))
    with pytest.raises(ParameterError, match="thresholds must fall"):
        RocPoints(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.1, 0.2]))
    points = RocPoints(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1 / 3, 1.0]))
    with pytest.raises(DataError, match="not ratios of counts"):
        roc_steps(points, 4, 2)
    with pytest.raises(DataError, match="give more digits"):
        roc_steps(RocPoints(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.3, 1.0]), digits=1), 90, 2)
