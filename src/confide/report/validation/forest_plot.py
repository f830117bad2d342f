"""Forest plot: one line for each site, then all rows together, the mean over sites and a prediction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from confide.intervals.interval import Estimate, Interval
from confide.intervals.random_effects import RandomEffects
from confide.report.shared.names import LONGEST, distinct, wrapped
from confide.report.shared.numbers import DASH, estimate_text, has_ends, interval_text, percent
from confide.report.shared.style import COLOURS, GREY
from confide.report.validation.forest import GUESSING, NAMES, Forest, known, summary_names
from confide.report.validation.forest_axis import axis_ends, ratio_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHORT_NAMES = {"auc": "AUC", "observed_expected": "O : E"}

_COLUMNS = (12.0, 168.0, 224.0)  # points right of the axes: value with interval, rows, weight

_BLUE, _BLACK = COLOURS[0], "#111111"


def draw_forest(ax: Axes, forest: Forest) -> None:
    """Draw a line for each site, then all rows together, the mean over sites and the prediction for another site."""
    low, high = axis_ends(forest)
    _axis(ax, forest, low, high)
    for place, row in enumerate(forest.sites):
        if known(row.estimate):
            _line(ax, row.estimate.interval, place, low, high)
            if low <= row.estimate.value <= high:
                _square(ax, row.estimate.value, place, row.weight, forest)
        share = DASH if row.weight is None else f"{100.0 * row.weight:.1f} %"
        _words(ax, place, _written(row.estimate), row.rows, share if forest.summary is not None else "")
    _draw_summaries(ax, forest, low, high)
    names = [*(wrapped(name) for name in distinct([row.name for row in forest.sites], LONGEST)), *summary_names(forest)]
    ax.set_yticks(range(len(names)), names)
    for place, label in enumerate(ax.get_yticklabels()):
        label.set_fontweight("normal" if place < len(forest.sites) else "bold")
    ax.set_ylim(len(names) - 0.4, -0.6)


def _draw_summaries(ax: Axes, forest: Forest, low: float, high: float) -> None:
    place = len(forest.sites)
    ax.axhline(place - 0.5, color="#bbbbbb", linewidth=0.8)
    if forest.pooled is not None:
        if known(forest.pooled):
            _line(ax, forest.pooled.interval, place, low, high, colour=_BLACK)
            if low <= forest.pooled.value <= high:
                ax.plot([forest.pooled.value], [place], "o", color=_BLACK, markersize=7, zorder=3)
        _words(ax, place, _written(forest.pooled), forest.pooled_rows, "")
        place += 1
    summary = forest.summary
    if summary is None:
        return
    _diamond(ax, summary, place, low, high)
    _words(ax, place, _written(Estimate(value=summary.value, interval=summary.interval)), "", "100 %")
    if summary.prediction is not None:
        _line(ax, summary.prediction, place + 1, low, high, colour=COLOURS[1], width=5.0)
        _words(ax, place + 1, interval_text(summary.prediction, None), "", "")


def _axis(ax: Axes, forest: Forest, low: float, high: float) -> None:
    from matplotlib.ticker import MaxNLocator, NullLocator

    if forest.scale == "logit":
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    else:
        ax.set_xscale("log")
        ticks = ratio_ticks(low, high)
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(low, high)
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, pad=8)
    if low < GUESSING[forest.measure] < high:
        ax.axvline(GUESSING[forest.measure], color=GREY, linewidth=1.1, linestyle=":")
    ax.set_xlabel(NAMES[forest.measure] + (" (log scale)" if forest.scale == "log" else ""))
    ax.set_title(f"{NAMES[forest.measure]} by site", pad=24)
    weight = "weight" if forest.summary is not None else ""
    _words(ax, -1.0, f"{_SHORT_NAMES[forest.measure]} ({percent(forest.level)})", "rows", weight, head=True)


def _words(ax: Axes, place: float, value: str, rows: str, weight: str, *, head: bool = False) -> None:
    """Write the numbers of a line right of the axes."""
    at = ("axes fraction", "axes fraction") if head else ("axes fraction", "data")
    where = (1.0, 1.0) if head else (1.0, place)
    for text, shift, side in zip((value, rows, weight), _COLUMNS, ("left", "right", "right"), strict=True):
        if text:
            ax.annotate(
                text, where, xycoords=at, xytext=(shift, 12 if head else 0), textcoords="offset points", ha=side,
                va="center", fontsize=9, color="#222222", annotation_clip=False,
                fontweight="bold" if head else "normal",
            )  # fmt: skip


def _line(
    ax: Axes,
    interval: Interval | None,
    place: float,
    low: float,
    high: float,
    *,
    colour: str = _BLUE,
    width: float = 1.5,
) -> None:
    """Draw an interval, with arrows where it leaves the axes."""
    if not has_ends(interval):
        return
    start, end = (min(max(one, low), high) for one in (interval.lower, interval.upper))
    ax.plot([start, end], [place, place], color=colour, linewidth=width, solid_capstyle="butt")
    for leaves, at, mark in ((interval.lower < low, low, "<"), (interval.upper > high, high, ">")):
        if leaves:
            ax.plot([at], [place], mark, color=colour, markersize=5 + 1.5 * width, clip_on=False, zorder=3)


def _square(ax: Axes, value: float, place: float, weight: float | None, forest: Forest) -> None:
    """Draw a square whose area is the weight, hollow for a site that is not in the summary."""
    most = max((row.weight for row in forest.sites if row.weight is not None), default=1.0)
    side = 5.0 if weight is None else max(11.0 * math.sqrt(weight / most), 3.0)
    inside = "white" if weight is None and forest.summary is not None else _BLUE
    ax.plot([value], [place], "s", markersize=side, color=_BLUE, markerfacecolor=inside, zorder=3)


def _diamond(ax: Axes, summary: RandomEffects, place: float, low: float, high: float) -> None:
    every = (summary.interval.lower, summary.value, summary.interval.upper)
    left, middle, right = (min(max(one, low), high) for one in every)
    ax.fill([left, middle, right, middle], [place, place - 0.3, place, place + 0.3], color=COLOURS[1], linewidth=0.8)
    _line(ax, summary.interval, place, low, high, colour=COLOURS[1], width=0.8)


def _written(estimate: Estimate | None) -> str:
    """Write a value with its interval, with fewer decimals for large ratios."""
    return estimate_text(estimate, None) if known(estimate) else DASH
