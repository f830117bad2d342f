"""Convex hull of many operating points, by leaving points out in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from confide import ScoreCounts
from confide.curves import roc
from confide.curves.roc import hull_corners, operating_points


@pytest.mark.parametrize("size", [3, 500, 200_000])
@pytest.mark.parametrize("strength", [0.0, 1.0, -2.0])
def test_corners_are_those_of_isotonic_regression(size: int, strength: float) -> None:
    rng = np.random.default_rng(size)
    labels = rng.random(size) < 0.4
    labels[:2] = True, False
    counts = ScoreCounts.from_arrays(labels, rng.standard_normal(size) + strength * labels)
    weight = (counts.positives + counts.negatives)[::-1].astype(np.float64)
    blocks = isotonic_regression(counts.positives[::-1] / weight, weights=weight, increasing=False).blocks
    points = operating_points(counts)
    expected, found = np.asarray(blocks[1:]) - 1, hull_corners(counts)
    # Points on an edge of the hull are corners to rounding only.
    x, y = (np.concatenate(([0], each)) for each in (points.false_positives, points.true_positives))
    at = [np.interp(x, np.append(0, x[each + 1]), np.append(0, y[each + 1])) for each in (expected, found)]
    np.testing.assert_allclose(at[0], at[1], rtol=1e-9)
    assert found.size <= expected.size


@pytest.mark.parametrize("passes", [0, 1, 64])
def test_points_left_over_are_walked_through(passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(5_000) < 0.3
    counts = ScoreCounts.from_arrays(labels, rng.standard_normal(5_000) + labels)
    expected = hull_corners(counts)
    monkeypatch.setattr(roc, "_MOST_PASSES", passes)
    np.testing.assert_array_equal(hull_corners(counts), expected)
