"""Plots of private ROC and precision-recall curves with both bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import ScoreCounts
from confide.releases.release import Release
from confide.report.release.cell_plots import draw_calibration, draw_counts
from confide.report.release.curve_data import (
    BLUE,
    EXACT,
    SHADES,
    CurveData,
    band_label,
    curves_to_draw,
    legend_below,
    ordered_bands,
    value_label,
)
from confide.report.shared.curves import finish_pr, finish_roc, pr_joined, pr_line, roc_line
from confide.report.shared.numbers import number
from confide.report.shared.style import Drawing, drawn_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_DOTS = 130

GRID_DOTS = "grid-thresholds"
"""Name of the dots in a figure."""

_INCHES, _WORDS = 4.9, 1.2  # a panel's side, and the room for words under it


def plot_curves(releases: Sequence[Release]) -> Figure:
    """Draw every released curve with its bands, side by side."""
    curves = curves_to_draw(releases)
    extra = max(data.extra for data in curves)
    return drawn_figure([(draw_curve, data) for data in curves], size=(_INCHES, _INCHES + _WORDS + 0.2 * extra))


def draw_curve(ax: Axes, data: CurveData) -> None:
    """Draw one released curve."""
    _DRAWINGS[data.release.metric](ax, data)


def draw_roc(ax: Axes, data: CurveData) -> None:
    """Draw the ROC curve with both bands, and a ring at the chosen threshold."""
    points = data.curve.points
    _bands(ax, data, "false_positive_rate")
    alarm, recall = points["false_positive_rate"], points["true_positive_rate"]
    ax.plot(alarm, recall, label=value_label(data.release, "AUC"), **_line())
    _mark(ax, data.release, "false_positive_rate", "true_positive_rate")
    if data.exact is not None and _both_classes(data.exact):
        roc_line(ax, data.exact, 1, label=EXACT, linewidth=1.3, zorder=4)
    if data.chosen is not None:
        _ring(ax, 1.0 - data.chosen.parts["specificity"], data.chosen.parts["recall"], data.chosen)
    finish_roc(ax)
    legend_below(ax)
    ax.set_title("ROC, private")


def draw_pr(ax: Axes, data: CurveData) -> None:
    """Draw the PR curve with both bands, and the region unachievable at the released prevalence."""
    points, (positives, negatives) = data.curve.points, data.sizes
    _bands(ax, data, "recall")
    recall, precision = np.array(points["recall"]), np.array(points["precision"])
    ax.plot(*pr_joined(recall, precision), label=value_label(data.release, "average precision"), **_line())
    _mark(ax, data.release, "recall", "precision")
    if data.exact is not None and _both_classes(data.exact):
        pr_line(ax, data.exact, 1, label=EXACT, linewidth=1.3, zorder=4)
    if data.chosen is not None:
        true = data.chosen.parts["recall"] * positives
        false = (1.0 - data.chosen.parts["specificity"]) * negatives
        if true + false > 0.0:
            _ring(ax, data.chosen.parts["recall"], true / (true + false), data.chosen)
    finish_pr(ax, positives / (positives + negatives))
    legend_below(ax)
    ax.set_title("Precision–recall, private")


def _both_classes(counts: ScoreCounts) -> bool:
    """Return whether the rows have both classes, without which there is no exact ROC or PR curve."""
    return bool(counts.total_positives and counts.total_negatives)


def _bands(ax: Axes, data: CurveData, x: str) -> None:
    for name, band in ordered_bands(data.curve):
        ax.fill_between(
            band[x], band["lower"], band["upper"], color=SHADES[name], linewidth=0,
            label=band_label(data.release, name),
        )  # fmt: skip


def _line() -> dict[str, Any]:
    return {"color": BLUE, "linewidth": 1.6, "zorder": 3}


def _mark(ax: Axes, release: Release, x: str, y: str) -> None:
    """Draw small dots at the grid's thresholds, unless there are too many to tell apart."""
    assert release.curve is not None  # noqa: S101  # `curves_to_draw` takes only curves
    points, edges = release.curve.points, np.array(release.options.get("edges", ()))[:-1]
    if 0 < edges.size <= _MOST_DOTS:
        # Points fall in their threshold. Rows from an edge upwards are those of the last point that is not below it.
        where = np.unique(np.searchsorted(-np.array(points["threshold"]), -edges, side="right") - 1)
        dots: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": BLUE, "markersize": 3.6, "zorder": 3}
        ax.plot(np.array(points[x])[where], np.array(points[y])[where], gid=GRID_DOTS, **dots)


def _ring(ax: Axes, x: float, y: float, chosen: Release) -> None:
    wanted = f"{chosen.options['target']} of {chosen.options['at_least']:g}"
    label = f"threshold {number(chosen.value)}, for an estimated {wanted}"
    ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": "black", "markeredgewidth": 1.4, "zorder": 5}
    ax.plot([x], [y], "o", markersize=8, linestyle="none", label=label, **ring)


_DRAWINGS: Mapping[str, Drawing] = {
    "roc": draw_roc,
    "pr": draw_pr,
    "calibration": draw_calibration,
    "counts": draw_counts,
}
