"""Axis of ratios in a forest: ticks, labels and arrows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from confide.intervals.interval import Estimate, Interval
from confide.report import style
from confide.report.validation.forest import axis_ends, draw_forest, forest_caption, forest_of, ratio_ticks
from tests.report.validations import axes_of, made, overhang, renamed


@pytest.mark.few(1)
@pytest.mark.parametrize("ends", [(0.0, math.inf), (1e-9, 1e9), (0.0, 1.4), (0.7, math.inf), (0.0, 0.0)])
def test_endless_ratios_leave_the_axis_as_arrows(ends: tuple[float, float]) -> None:
    forest = forest_of(made("disclosure-control"), "observed_expected")
    assert forest is not None
    wide = Interval(lower=ends[0], upper=ends[1], level=0.95, method="made up")
    value = 0.0 if ends == (0.0, 0.0) else 1.1
    odd = replace(forest.sites[0], estimate=Estimate(value=value, interval=wide), weight=None)
    drawn = replace(forest, sites=(odd, *forest.sites[1:]))
    low, high = axis_ends(drawn)
    assert 0.05 < low < 0.75
    assert 1.4 < high < 20.0
    (ax,) = axes_of(draw_forest, drawn, drawn.size)
    arrows = {str(line.get_marker()) for line in ax.lines if list(line.get_ydata()) == [0]} & {"<", ">"}
    assert arrows == {mark for mark, out in (("<", ends[0] < low), (">", ends[1] > high)) if out}
    assert ("Arrows: " in forest_caption(drawn)) is bool(arrows)
    (line,) = (line for line in ax.lines if list(line.get_ydata()) == [0, 0])
    np.testing.assert_allclose(line.get_xdata(), np.clip(ends, low, high))
    assert overhang(draw_forest, drawn, drawn.size) <= 0.02


@pytest.mark.parametrize("others", [(0.99, 1.02), (0.5, 1.8), (0.2, 7.0), (0.02, 60.0), (1e-4, 1e4)])
def test_labels_of_ratios_do_not_run_together(others: tuple[float, float]) -> None:
    forest = forest_of(renamed(made("disclosure-control")), "observed_expected")
    assert forest is not None
    ends = Interval(lower=others[0], upper=others[1], level=0.95, method="made up")
    rows = tuple(
        replace(row, estimate=Estimate(value=value, interval=ends))
        for row, value in zip(forest.sites, (1.0, math.sqrt(math.prod(others)), *others), strict=True)
    )
    with style.house_style():
        figure = Figure(figsize=forest.size, layout="constrained")
        FigureCanvasAgg(figure)
        draw_forest(figure.subplots(), replace(forest, sites=rows, pooled=None, summary=None))
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert len(boxes) >= 3
    assert all(right.x0 - left.x1 > 3.0 for left, right in pairwise(boxes))


@given(st.floats(0.01, 1.0), st.floats(1.02, 100.0))
def test_ratios_have_ticks_inside_their_axis(low: float, wide: float) -> None:
    ticks = ratio_ticks(low, low * wide)
    assert all(low <= tick <= low * wide for tick in ticks)
    assert len(ticks) <= 10
    gaps = [math.log(right / left) / math.log(wide) for left, right in pairwise(ticks)]
    assert min(gaps, default=1.0) >= 0.109
    assert ticks == sorted(set(ticks))
    if wide > 1.6:
        assert len(ticks) >= 2
