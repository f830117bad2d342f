"""Plots of a release: its numbers with both intervals, its curves and cells, and the names that they show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.metrics.names import metric_title
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.curves_release import CURVES
from confide.releases.release import Release, ReleasedCurve
from confide.report.curves import FURNITURE, finish_pr, finish_roc, pr_joined, pr_line, roc_line
from confide.report.numbers import interval_text, number, percent
from confide.report.style import COLOURS, GREY, Drawing, drawn_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NAMES = {
    "roc": "ROC curve, area",
    "pr": "PR curve, average precision",
    "calibration": "calibration, observed : expected",
    "counts": "rows",
}

SHAPE_NAMES = {"binormal": "binormal", "roc-glm": "ROC-GLM"}
"""Parametric shapes of curves, in words."""

RATIOS_AND_PLACES = ("calibration", "counts", "observed_expected", "threshold")
"""Metrics that are ratios or positions, and so share no axis with proportions."""


def metric_name(release: Release) -> str:
    """Return a metric in words, with its threshold."""
    of_curve = curve_name(release)
    if of_curve is not None:
        return of_curve
    words = metric_title(release.metric)
    return f"{words} at {release.options['threshold']:g}" if at_a_threshold(release) else words


def curve_name(release: Release) -> str | None:
    """Return a curve, or a chosen threshold, in words; None for other numbers."""
    if release.metric == "threshold":
        safe = ", safe" if release.options["safe"] else ""
        return f"threshold for an estimated {release.options['target']} of {release.options['at_least']:g}{safe}"
    return NAMES.get(release.metric)


def at_a_threshold(release: Release) -> bool:
    """Return whether a number belongs to a confusion matrix at a threshold."""
    return release.metric in CONFUSION_METRICS and "threshold" in release.options


def from_cells(release: Release) -> bool:
    """Return whether a number was computed from noisy counts on a grid."""
    return "shape" in release.options


def is_curve(release: Release) -> bool:
    """Return whether there is a curve to draw."""
    return release.metric in CURVES and release.curve is not None


def drawable(release: Release) -> bool:
    """Return whether a number lies in [0, 1] or [-1, 1] by definition, so that one axis fits all of them."""
    if release.metric in RATIOS_AND_PLACES:
        return False
    ends = (release.intervals.population.lower, release.intervals.population.upper)
    return not math.isnan(release.value) and release.intervals.sample.upper <= 1.0 and -1.0 <= ends[0] <= ends[1] <= 1.0


EXACT = "exact: NOT private, not to be published"
"""Label of a curve that was drawn from the rows themselves."""

BLUE, RED = COLOURS[:2]

SHADES = {"population": "#d3e5f1", "sample": "#8fbfdd"}  # solid: bands that overlap do not darken each other

_BAND_NAMES = {"population": "population (noise and sampling)", "sample": "these rows (noise)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveData:
    """A curve to draw, with the threshold chosen on it and, for the data holder alone, the exact rows."""

    release: Release
    chosen: Release | None = None
    exact: ScoreCounts | None = None

    @property
    def curve(self) -> ReleasedCurve:
        """Released curve."""
        assert self.release.curve is not None  # noqa: S101  # `curves_to_draw` takes only curves
        return self.release.curve

    @property
    def extra(self) -> int:
        """Number of legend lines beyond the usual ones."""
        ringed = self.chosen is not None and self.release.metric in ("roc", "pr")
        return ringed + (self.exact is not None)

    @property
    def sizes(self) -> tuple[float, float]:
        """Released numbers of positives and negatives."""
        return float(self.release.parts["positives"]), float(self.release.parts["negatives"])


def curves_to_draw(releases: Sequence[Release], exact: ScoreCounts | None = None) -> list[CurveData]:
    """Return every curve among the releases."""
    chosen = next((release for release in releases if release.metric == "threshold"), None)
    return [CurveData(release=release, chosen=chosen, exact=exact) for release in releases if is_curve(release)]


def ordered_bands(curve: ReleasedCurve) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the bands, the wider one first so that the other is drawn over it."""
    return [(name, curve.bands[name]) for name in SHADES if name in curve.bands]


def band_label(release: Release, name: str) -> str:
    """Return the legend entry of a band."""
    return f"{percent(release.intervals.sample.level)} band, {_BAND_NAMES[name]}"


def value_label(release: Release, name: str) -> str:
    """Return the legend entry of a curve: its value with the interval for these rows."""
    return f"{name} {number(release.value)} (these rows {interval_text(release.intervals.sample)})"


def legend_below(ax: Axes, below: float = -0.13) -> None:
    """Put the legend under the axes: released values first, then bands, then lines that belong to no model."""
    ax.set_anchor("N")  # no empty room above
    handles, labels = ax.get_legend_handles_labels()
    last = [f"band, {_BAND_NAMES['sample']}", f"band, {_BAND_NAMES['population']}", *FURNITURE]

    def place(position: int) -> int:
        return next((place for place, words in enumerate(last, 1) if words in labels[position]), 0)

    order = sorted(range(len(labels)), key=place)
    ax.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="upper left", bbox_to_anchor=(0.0, below),
        borderaxespad=0.0, handlelength=2.2,
    )  # fmt: skip


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


def plot_releases(releases: Sequence[Release]) -> Figure:
    """Draw the curves if there are any, else all proportions, else all numbers."""
    if any(is_curve(release) for release in releases):
        return plot_curves(releases)
    proportions = [release for release in releases if drawable(release)] or releases
    return drawn_figure([(draw_intervals, proportions)], size=intervals_size(proportions))


def draw_intervals(ax: Axes, releases: Sequence[Release]) -> None:
    """Draw one line for each number: thin for the population, thick for the sample, a dot for the value."""
    for position, release in enumerate(releases):
        sample, population = release.intervals.sample, release.intervals.population
        first = position == 0
        ax.plot(
            [population.lower, population.upper], [position] * 2, color=GREY, linewidth=1.6, marker="|", markersize=9,
            label=f"population, {percent(population.level)}" if first else None,
        )  # fmt: skip
        ax.plot(
            [sample.lower, sample.upper], [position] * 2, color=COLOURS[0], linewidth=5.0, solid_capstyle="butt",
            label=f"sample, {percent(sample.level)}" if first else None,
        )  # fmt: skip
        ax.plot(
            release.value, position, "o", color="white", markeredgecolor="black", markersize=6.5, zorder=3,
            label="released value" if first else None,
        )  # fmt: skip
    ax.set_yticks(range(len(releases)), [metric_name(release) for release in releases])
    ax.set_ylim(len(releases) - 0.4, -0.6)
    if all(drawable(release) for release in releases):
        lowest = min(0.0, *(release.intervals.population.lower for release in releases))
        ax.set_xlim(lowest - 0.02, 1.02)
    ax.set_xlabel("value")
    ax.grid(axis="x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def intervals_size(releases: Sequence[Release]) -> tuple[float, float]:
    """Return the size of the plot of intervals in inches."""
    return (7.0, 1.3 + 0.42 * len(releases))
