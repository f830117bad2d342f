"""The convex hull of the ROC curve beside Qhull's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import confide
from confide import ScoreCounts
from tests.random_rows import KINDS, random_rows


@pytest.mark.parametrize("kind", KINDS)
def test_hull(kind: str) -> None:
    counts = random_rows(kind).counts
    curve, hull = confide.roc_curve(counts), confide.curves.roc_hull(counts)
    points = np.column_stack((curve.false_positive_rate, curve.true_positive_rate))
    qhull = ConvexHull(np.vstack((points, [[1.0, 0.0]])))
    assert hull.area == pytest.approx(qhull.volume, abs=1e-9)  # in two dimensions Qhull calls the area volume
    ours = {(round(x, 9), round(y, 9)) for x, y in zip(hull.false_positive_rate, hull.true_positive_rate, strict=True)}
    theirs = {(round(x, 9), round(y, 9)) for x, y in qhull.points[qhull.vertices]}
    assert theirs - {(1.0, 0.0)} <= ours
    offsets = qhull.equations[:, :2] @ np.array(sorted(ours)).T + qhull.equations[:, 2:]
    assert (np.abs(offsets).min(axis=0) < 1e-8).all()  # what we keep beside the vertices lies on an edge


def test_hull_of_very_many_scores() -> None:
    """Where a walk over all scores would take too long, another algorithm takes over."""
    counts = random_rows("distinct", size=30_000).counts
    curve, hull = confide.roc_curve(counts), confide.curves.roc_hull(counts)
    points = np.column_stack((curve.false_positive_rate, curve.true_positive_rate))
    qhull = ConvexHull(np.vstack((points, [[1.0, 0.0]])))
    assert hull.area == pytest.approx(qhull.volume, abs=1e-9)
    assert hull.thresholds.size < 200


def test_hull_keeps_thresholds_of_its_corners() -> None:
    counts = ScoreCounts.from_arrays([1, 0, 1, 0], [0.8, 0.6, 0.4, 0.2])
    hull = confide.curves.roc_hull(counts)
    assert list(zip(hull.false_positive_rate, hull.true_positive_rate, hull.thresholds, strict=True)) == [
        (0.0, 0.0, np.inf),
        (0.0, 0.5, 0.8),
        (0.5, 1.0, 0.4),
        (1.0, 1.0, 0.2),
    ]
    assert hull.area == 0.875


def test_simplifying_a_curve_keeps_its_area() -> None:
    curve = confide.roc_curve(random_rows("distinct").counts)
    simple = curve.simplified()
    assert simple.thresholds.size < curve.thresholds.size
    assert simple.area == pytest.approx(curve.area, abs=1e-12)
