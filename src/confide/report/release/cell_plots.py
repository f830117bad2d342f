"""Plots of private calibration and of the private counts, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.report.release.curve_data import (
    BLUE,
    EXACT,
    RED,
    SHADES,
    CurveData,
    band_label,
    legend_below,
    ordered_bands,
    value_label,
)
from confide.report.shared.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_calibration(ax: Axes, data: CurveData) -> None:
    """Draw the observed share of positives in each bin, from edge to edge, with a box for each band."""
    points = {name: np.array(values) for name, values in data.curve.points.items()}
    low, high = points["lower_edge"], points["upper_edge"]
    for name, band in ordered_bands(data.curve):
        bottom, top = np.array(band["lower"]), np.array(band["upper"])
        ax.bar(
            low, top - bottom, bottom=bottom, width=high - low, align="edge", color=SHADES[name], linewidth=0,
            label=band_label(data.release, name),
        )  # fmt: skip
    ax.hlines(points["observed"], low, high, color=BLUE, linewidth=1.5)
    ax.plot(
        points["mean_score"], points["observed"], "o", color=BLUE, markeredgecolor="white", markersize=5.5,
        label=value_label(data.release, "observed : expected"),
    )  # fmt: skip
    if data.exact is not None:
        score, share = exact_shares(data.exact, np.append(low, high[-1]))
        ax.plot(score, share, "D", color=RED, markersize=8, markerfacecolor="none", zorder=4, label=EXACT)
    highest = max(float(points[name].max()) for name in ("mean_score", "observed"))
    _finish_calibration(ax, min(0.0, low[0]), max(1.0, high[-1]), highest)
    ax.set_title("Calibration, private")


def exact_shares(counts: ScoreCounts, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean score and share of positives of the exact rows in each bin. The result is not private."""
    where = Grid(edges).cells(counts.scores)
    rows = counts.positives + counts.negatives
    sums = np.zeros((3, edges.size - 1))
    for row, amounts in zip(sums, (rows, rows * counts.scores, counts.positives), strict=True):
        np.add.at(row, where, amounts)
    used = sums[0] > 0
    return sums[1, used] / sums[0, used], sums[2, used] / sums[0, used]


def _finish_calibration(ax: Axes, low: float, high: float, highest: float) -> None:
    """Set the axes: square and short where all risks are small, without diagonal for scores that are no risks."""
    if (low, high) == (0.0, 1.0):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="perfect")
        end = min(1.0, 1.5 * highest) if highest < 0.5 else 1.0
        ax.set(xlim=(-0.01 * end, 1.01 * end), ylim=(-0.01 * end, 1.01 * end))
        ax.set_aspect("equal", adjustable="box")
    else:
        ax.set(xlim=(low, high), ylim=(-0.01, 1.01))
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Score")
    ax.set_ylabel("Observed share of positives")
    legend_below(ax)


def draw_counts(ax: Axes, data: CurveData) -> None:
    """Draw the counts of each cell: positives up, negatives down."""
    points = {name: np.array(values) for name, values in data.curve.points.items()}
    edges = np.append(points["lower_edge"], points["upper_edge"][-1])
    at = np.arange(edges.size, dtype=np.float64)
    tall = {name: max(float(points[name].max()), 1.0) for name in ("positives", "negatives")}
    for name, sign, colour in (("positives", 1.0, BLUE), ("negatives", -1.0, GREY)):
        height = sign * points[name] / tall[name]
        ax.stairs(height, at, fill=True, color=colour, alpha=0.35, linewidth=0)
        ax.stairs(height, at, color=colour, linewidth=1.2, label=f"{name}, private: {points[name].sum():,.0f}")
    if data.exact is not None:
        for sign, name, amounts in _exact_cells(data.exact, edges):
            ax.stairs(sign * amounts / tall[name], at, color=RED, linewidth=1.0, linestyle="--",
                      label=EXACT if sign > 0 else None)  # fmt: skip
    _finish_counts(ax, edges, tall)
    ax.set_title("Rows in each cell, private")


def _exact_cells(counts: ScoreCounts, edges: FloatArray) -> list[tuple[float, str, FloatArray]]:
    where = Grid(edges).cells(counts.scores)
    found = []
    for sign, name in ((1.0, "positives"), (-1.0, "negatives")):
        amounts = np.zeros(edges.size - 1)
        np.add.at(amounts, where, getattr(counts, name))
        found.append((sign, name, amounts))
    return found


def _finish_counts(ax: Axes, edges: FloatArray, tall: Mapping[str, float]) -> None:
    ax.axhline(0.0, color="#444444", linewidth=0.8)
    nice = {name: _round_down(most) for name, most in tall.items()}
    places = [-nice["negatives"] / tall["negatives"], 0.0, nice["positives"] / tall["positives"]]
    ax.set_yticks(places, [f"{nice['negatives']:,.0f}", "0", f"{nice['positives']:,.0f}"])
    chosen = np.unique(np.linspace(0, edges.size - 1, min(edges.size, 9)).round().astype(int))
    ax.set_xticks(chosen, [f"{edges[i]:.3g}" for i in chosen])
    ax.set_xlim(0, edges.size - 1)
    ax.set_xlabel("Score (edges of cells)")
    ax.set_ylabel("Rows: negatives | positives")
    legend_below(ax, -0.2)


def _round_down(most: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... that is not above `most`."""
    size: float = 10.0 ** np.floor(np.log10(most))
    return max(step * size for step in (1.0, 2.0, 5.0) if step * size <= most)
