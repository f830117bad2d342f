"""The overview of an evaluation: nothing covers anything else, and panels line up."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import confide


@pytest.fixture(scope="module")
def overview() -> Figure:
    rng = np.random.default_rng(1)
    labels = rng.random(400) < 0.6
    risk = 1.0 / (1.0 + np.exp(-(rng.standard_normal(400) + 3.0 * labels - 1.5)))
    figure = confide.evaluate(labels, {"risk": risk}, replicates=0).plot()
    figure.draw_without_rendering()
    return figure


def test_the_legend_of_precision_recall_lies_below_its_axes(overview: Figure) -> None:
    pr = overview.axes[1]
    legend = pr.get_legend()
    assert legend is not None
    (word,) = (text for text in pr.findobj(Text) if text.get_text() == "unachievable")
    assert not legend.get_window_extent().overlaps(word.get_window_extent())
    assert legend.get_window_extent().y1 <= pr.get_window_extent().y0


def test_panels_of_a_column_begin_at_the_same_place(overview: Figure) -> None:
    _, pr, _, decision = (ax for ax in overview.axes if ax.get_title(loc="left"))
    assert pr.get_window_extent().x0 == pytest.approx(decision.get_window_extent().x0, abs=1.0)


def test_titles_keep_a_margin_to_the_edge(overview: Figure) -> None:
    top = max(ax.title.get_window_extent().y1 for ax in overview.axes)
    top = max(top, *(ax._left_title.get_window_extent().y1 for ax in overview.axes))  # type: ignore[attr-defined]
    assert overview.bbox.height - top >= 0.05 * overview.dpi
