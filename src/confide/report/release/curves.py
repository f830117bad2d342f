"""Private curves for people: pictures with both bands, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.releases.release import Release, ReleasedCurve
from confide.report.release.curve_text import achieved_table, curve_caption, is_curve
from confide.report.release.tables import ends, release_table
from confide.report.shared import plots
from confide.report.shared.page import figure, figures, html_table
from confide.report.shared.plots import COLOURS, GREY, Drawing
from confide.report.shared.tables import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXACT = "exact: NOT private, not to be published"
"""How a curve is labelled that was drawn from the rows themselves."""

_BLUE, _RED = COLOURS[:2]
_SHADES = {"population": "#d3e5f1", "sample": "#8fbfdd"}  # solid: bands that overlap do not darken each other
_BAND_NAMES = {"population": "population (noise and sampling)", "sample": "these rows (noise)"}
_FEW_POINTS = 130
_INCHES, _WORDS = 4.9, 1.2  # a panel's side, and the room for words under it


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A curve to draw, with a threshold that was chosen on it and, for the data holder's eyes, the exact one."""

    release: Release
    chosen: Release | None = None
    exact: ScoreCounts | None = None

    @property
    def curve(self) -> ReleasedCurve:
        """The released curve."""
        assert self.release.curve is not None  # noqa: S101  # only curves are shown
        return self.release.curve

    @property
    def extra(self) -> int:
        """How many more lines its legend has than usual."""
        ringed = self.chosen is not None and self.release.metric in ("roc", "pr")
        return ringed + (self.exact is not None)

    @property
    def sizes(self) -> tuple[float, float]:
        """The released numbers of positives and negatives."""
        return float(self.release.parts["positives"]), float(self.release.parts["negatives"])


def shown_curves(releases: Sequence[Release], exact: ScoreCounts | None = None) -> list[Shown]:
    """Every curve among releases."""
    chosen = next((release for release in releases if release.metric == "threshold"), None)
    return [Shown(release=release, chosen=chosen, exact=exact) for release in releases if is_curve(release)]


def picture(releases: Sequence[Release]) -> Figure:
    """Draw every released curve with its bands, side by side."""
    import matplotlib.pyplot as plt

    shown = shown_curves(releases)
    extra = max(one.extra for one in shown)
    with plots.house_style():
        fig, axes = plt.subplots(
            1,
            len(shown),
            figsize=(_INCHES * len(shown), _INCHES + _WORDS + 0.2 * extra),
            layout="constrained",
            squeeze=False,
        )
        for ax, one in zip(axes.flat, shown, strict=True):
            _DRAWINGS[one.release.metric](ax, one)
    return fig


def fragment(releases: Sequence[Release]) -> str:
    """The table, the guarantee and the curves, as a notebook shows them."""
    words = " ".join(dict.fromkeys(release.guarantee.in_words() for release in releases))
    achieved = achieved_table(releases)
    return (
        f"<div>{html_table(release_table(releases))}{'' if achieved is None else html_table(achieved)}"
        f"<p>{escape(words)}</p>{curve_figures(releases)}</div>"
    )


def curve_figures(releases: Sequence[Release], exact: ScoreCounts | None = None) -> str:
    """The curves as pictures with captions; nothing, if there are none."""
    shown = shown_curves(releases, exact)
    return figures(_figure(one) for one in shown) if shown else ""


def _figure(shown: Shown) -> str:
    metric = shown.release.metric
    svg = plots.as_svg(_DRAWINGS[metric], shown, size=(5.4, (4.0 if metric == "counts" else 6.55) + 0.2 * shown.extra))
    said = f" Orange is {EXACT}." if shown.exact is not None else ""
    return figure(svg, f"private-{metric}", curve_caption(shown.release) + said)


def draw_roc(ax: Axes, shown: Shown) -> None:
    """The ROC curve with both bands; a chosen threshold is ringed."""
    points = shown.curve.points
    _bands(ax, shown, "false_positive_rate")
    alarm, recall = points["false_positive_rate"], points["true_positive_rate"]
    ax.plot(alarm, recall, label=_label(shown.release, "AUC"), **_line())
    _mark(ax, alarm, recall, "threshold" in points)
    if shown.exact is not None and _both_classes(shown.exact):
        plots.roc_line(ax, shown.exact, 1, label=EXACT, linewidth=1.3, zorder=4)
    if shown.chosen is not None:
        _ring(ax, 1.0 - shown.chosen.parts["specificity"], shown.chosen.parts["recall"], shown.chosen)
    plots.finish_roc(ax)
    _legend_below(ax)
    ax.set_title("ROC, private")


def draw_pr(ax: Axes, shown: Shown) -> None:
    """The PR curve with both bands, over the region that no model can reach at the released prevalence."""
    points, (positives, negatives) = shown.curve.points, shown.sizes
    _bands(ax, shown, "recall")
    recall, precision = np.array(points["recall"]), np.array(points["precision"])
    ax.plot(*pr_joined(recall, precision), label=_label(shown.release, "average precision"), **_line())
    _mark(ax, recall, precision)
    if shown.exact is not None and _both_classes(shown.exact):
        plots.pr_line(ax, shown.exact, 1, label=EXACT, linewidth=1.3, zorder=4)
    if shown.chosen is not None:
        true = shown.chosen.parts["recall"] * positives
        false = (1.0 - shown.chosen.parts["specificity"]) * negatives
        if true + false > 0.0:
            _ring(ax, shown.chosen.parts["recall"], true / (true + false), shown.chosen)
    plots.finish_pr(ax, positives / (positives + negatives))
    _legend_below(ax)
    ax.set_title("Precision–recall, private")


def pr_joined(recall: FloatArray, precision: FloatArray, steps: int = 16) -> tuple[FloatArray, FloatArray]:
    """Points between those of a PR curve: false positives grow evenly with recall, which is no straight line.

    From recall 0 the precision of the first point with positives is kept, and a precision of 0 is joined straight.
    """
    xs, ys = [recall[:1]], [precision[:1]]
    for left, right in zip(range(recall.size - 1), range(1, recall.size), strict=True):
        share = np.arange(1, steps + 1) / steps
        x = recall[left] + share * (recall[right] - recall[left])
        if precision[left] > 0.0 and precision[right] > 0.0 and recall[right] > recall[left]:
            false = [recall[i] * (1.0 - precision[i]) / precision[i] for i in (left, right)]
            y = x / (x + false[0] + share * (false[1] - false[0]))
        else:
            y = precision[left] + share * (precision[right] - precision[left])
        xs.append(x)
        ys.append(y)
    return np.concatenate(xs), np.concatenate(ys)


def draw_calibration(ax: Axes, shown: Shown) -> None:
    """The share of positives in each bin, from edge to edge, with a box for each band."""
    points = {name: np.array(values) for name, values in shown.curve.points.items()}
    low, high = points["lower_edge"], points["upper_edge"]
    for name, band in _ordered(shown.curve):
        bottom, top = np.array(band["lower"]), np.array(band["upper"])
        ax.bar(
            low, top - bottom, bottom=bottom, width=high - low, align="edge", color=_SHADES[name], linewidth=0,
            label=_band_label(shown.release, name),
        )  # fmt: skip
    ax.hlines(points["observed"], low, high, color=_BLUE, linewidth=1.5)
    ax.plot(
        points["mean_score"], points["observed"], "o", color=_BLUE, markeredgecolor="white", markersize=5.5,
        label=_label(shown.release, "observed : expected"),
    )  # fmt: skip
    if shown.exact is not None:
        score, share = exact_shares(shown.exact, np.append(low, high[-1]))
        ax.plot(score, share, "D", color=_RED, markersize=8, markerfacecolor="none", zorder=4, label=EXACT)
    highest = max(float(points[name].max()) for name in ("mean_score", "observed"))
    _finish_calibration(ax, min(0.0, low[0]), max(1.0, high[-1]), highest)
    ax.set_title("Calibration, private")


def exact_shares(counts: ScoreCounts, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean score and share of positives of the rows themselves in bins: not private."""
    where = Grid(edges).cells(counts.scores)
    rows = counts.positives + counts.negatives
    sums = np.zeros((3, edges.size - 1))
    for row, amounts in zip(sums, (rows, rows * counts.scores, counts.positives), strict=True):
        np.add.at(row, where, amounts)
    used = sums[0] > 0
    return sums[1, used] / sums[0, used], sums[2, used] / sums[0, used]


def _finish_calibration(ax: Axes, low: float, high: float, highest: float) -> None:
    """Square axes that end sooner where all risks are small; scores that are no probabilities have no diagonal."""
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
    _legend_below(ax)


def draw_counts(ax: Axes, shown: Shown) -> None:
    """Positives up, negatives down, cell by cell."""
    points = {name: np.array(values) for name, values in shown.curve.points.items()}
    edges = np.append(points["lower_edge"], points["upper_edge"][-1])
    at = np.arange(edges.size, dtype=np.float64)
    tall = {name: max(float(points[name].max()), 1.0) for name in ("positives", "negatives")}
    for name, sign, colour in (("positives", 1.0, _BLUE), ("negatives", -1.0, GREY)):
        height = sign * points[name] / tall[name]
        ax.stairs(height, at, fill=True, color=colour, alpha=0.35, linewidth=0)
        ax.stairs(height, at, color=colour, linewidth=1.2, label=f"{name}, private: {points[name].sum():,.0f}")
    if shown.exact is not None:
        for sign, name, amounts in _exact_cells(shown.exact, edges):
            ax.stairs(sign * amounts / tall[name], at, color=_RED, linewidth=1.0, linestyle="--",
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
    _legend_below(ax, -0.2)


def _round_down(most: float) -> float:
    """The largest of 1, 2, 5, 10, ... that is not above a number."""
    size: float = 10.0 ** np.floor(np.log10(most))
    return max(step * size for step in (1.0, 2.0, 5.0) if step * size <= most)


def _both_classes(counts: ScoreCounts) -> bool:
    """Whether the rows have an exact ROC or PR curve; with one class alone there is none to draw."""
    return bool(counts.total_positives and counts.total_negatives)


def _bands(ax: Axes, shown: Shown, x: str) -> None:
    for name, band in _ordered(shown.curve):
        ax.fill_between(
            band[x], band["lower"], band["upper"], color=_SHADES[name], linewidth=0,
            label=_band_label(shown.release, name),
        )  # fmt: skip


def _ordered(curve: ReleasedCurve) -> list[tuple[str, Mapping[str, Any]]]:
    """The wider band first, so that the other lies on it."""
    return [(name, curve.bands[name]) for name in _SHADES if name in curve.bands]


def _band_label(release: Release, name: str) -> str:
    return f"{100 * release.intervals.sample.level:g} % band, {_BAND_NAMES[name]}"


def _label(release: Release, what: str) -> str:
    return f"{what} {number(release.value)} (these rows {ends(release.intervals.sample)})"


def _line() -> dict[str, Any]:
    return {"color": _BLUE, "linewidth": 1.6, "zorder": 3}


def _mark(ax: Axes, x: Any, y: Any, wanted: bool = True) -> None:
    """Small dots at the grid's thresholds, unless there are too many to tell apart."""
    if wanted and len(x) <= _FEW_POINTS:
        ax.plot(x, y, "o", color=_BLUE, markersize=2.6, zorder=3)


def _ring(ax: Axes, x: float, y: float, chosen: Release) -> None:
    wanted = f"{chosen.options['target']} of {chosen.options['at_least']:g}"
    label = f"threshold {number(chosen.value)}, for an estimated {wanted}"
    ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": "black", "markeredgewidth": 1.4, "zorder": 5}
    ax.plot([x], [y], "o", markersize=8, linestyle="none", label=label, **ring)


def _legend_below(ax: Axes, below: float = -0.13) -> None:
    """A legend under the axes, where it covers nothing; what was released comes first."""
    ax.set_anchor("N")  # no empty room above
    handles, labels = ax.get_legend_handles_labels()
    last = [f"band, {_BAND_NAMES['sample']}", f"band, {_BAND_NAMES['population']}", *plots.FURNITURE]

    def place(position: int) -> int:
        return next((place for place, words in enumerate(last, 1) if words in labels[position]), 0)

    order = sorted(range(len(labels)), key=place)
    ax.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="upper left", bbox_to_anchor=(0.0, below),
        borderaxespad=0.0, handlelength=2.2,
    )  # fmt: skip


_DRAWINGS: Mapping[str, Drawing] = {
    "roc": draw_roc,
    "pr": draw_pr,
    "calibration": draw_calibration,
    "counts": draw_counts,
}
