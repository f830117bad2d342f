"""Dots on a released curve are the thresholds of its grid, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from confide import ScoreCounts
from confide.releases import CurvesRelease
from confide.releases.curves import draw_curves
from confide.report.release_plots import GRID_DOTS
from tests.noises import seeded

pytestmark = pytest.mark.usefixtures("few_simulated_tables")


def released(grid: str | None = None) -> CurvesRelease:
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.4
    scores = 1.0 / (1.0 + np.exp(-rng.normal(np.where(labels, 1.0, -1.0), 1.0)))
    return draw_curves(ScoreCounts.from_arrays(labels, scores), epsilon=2, grid=grid, noise=seeded(1))


def dots(ax: Axes) -> set[tuple[float, float]]:
    lines = [np.asarray(line.get_xydata(), dtype=np.float64) for line in ax.lines if line.get_gid() == GRID_DOTS]
    return {(round(float(x), 9), round(float(y), 9)) for line in lines for x, y in line}


def test_each_dot_is_the_point_of_an_edge_of_the_grid() -> None:
    curves = released()
    matrices = [curves.confusion(float(edge)) for edge in curves.grid.edges[:-1]]
    roc, pr = curves.plot().axes[:2]
    assert dots(roc) == {(round(one.false_positive_rate, 9), round(one.recall, 9)) for one in matrices}
    points = curves["pr"].curve
    assert points is not None
    every = zip(*(points.points[name] for name in ("recall", "precision", "threshold")), strict=True)
    edges = {(round(x, 9), round(y, 9)) for x, y, threshold in every if threshold in curves.grid.edges}
    assert edges
    assert {dot for dot in dots(pr) if dot[0] > 0.0} == {point for point in edges if point[0] > 0.0}


def test_dots_that_cannot_be_told_apart_are_left_out() -> None:
    assert not dots(released("uniform:200").plot().axes[0])
