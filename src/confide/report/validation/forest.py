"""Content of a forest plot: a measure at every site, over all rows together, and as a mean over sites."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal, TypeGuard

from confide.federation.modes.registry import mode_of
from confide.intervals.interval import Estimate, Interval
from confide.intervals.random_effects import RandomEffects
from confide.report.numbers import (
    DASH,
    LONGEST,
    cut,
    distinct,
    estimate_text,
    has_ends,
    interval_text,
    number,
    p_equation,
    percent,
    whole,
    wrapped,
)
from confide.report.style import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import Validation


Scale = Literal["logit", "log"]

NAMES = {"auc": "AUC", "observed_expected": "Observed : expected"}

_SCALES: dict[str, Scale] = {"auc": "logit", "observed_expected": "log"}

GUESSING = {"auc": 0.5, "observed_expected": 1.0}

_ROW_INCHES, _TALL_ROW_INCHES, _OTHER_INCHES = 0.3, 0.38, 1.15

_WIDTH_INCHES = 9.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRow:
    """A site: its name, its estimate, its rows as text and its weight in the summary."""

    name: str
    estimate: Estimate | None
    rows: str
    weight: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Content of a forest plot.

    `summary` is None where fewer than two sites can be summarised. A site without a weight is not in the summary.
    `noisy` is True where intervals include the noise of a private release.
    """

    measure: str
    level: float
    sites: tuple[ForestRow, ...]
    pooled: Estimate | None
    pooled_rows: str
    summary: RandomEffects | None
    noisy: bool = False

    @property
    def scale(self) -> Scale:
        """Scale on which sites are summarised and, for ratios, drawn."""
        return _SCALES[self.measure]

    @property
    def size(self) -> tuple[float, float]:
        """Size in inches."""
        tall = any("\n" in wrapped(row.name) for row in self.sites)
        lines = len(self.sites) + len(summary_names(self))
        return _WIDTH_INCHES, _OTHER_INCHES + lines * (_TALL_ROW_INCHES if tall else _ROW_INCHES)


def forest_of(validation: Validation, measure: str) -> Forest | None:
    """Return the forest of "auc" or "observed_expected", or None where fewer than two sites have a value."""
    own = [(site.name, site.result) for site in validation.sites if site.result is not None]
    estimates = {name: getattr(result, measure) for name, result in own}
    if sum(known(estimate) for estimate in estimates.values()) < 2:
        return None
    summary = validation.heterogeneity.get(measure)
    weights = {} if summary is None else dict(zip(validation.summarised[measure], summary.weights, strict=True))
    return Forest(
        measure=measure,
        level=validation.level,
        sites=tuple(
            ForestRow(name=name, estimate=estimates[name], rows=rows_words(result), weight=weights.get(name))
            for name, result in own
        ),
        pooled=getattr(validation.pooled, measure),
        pooled_rows=rows_words(validation.pooled),
        summary=summary,
        noisy=mode_of(validation.question).private,
    )


def summary_names(forest: Forest) -> list[str]:
    """Return the names of the lines below the sites."""
    names = ["All rows together"] if forest.pooled is not None else []
    if forest.summary is not None:
        names.append("Mean over sites")
        if forest.summary.prediction is not None:
            names.append("Another site (prediction)")
    return names


def rows_words(result: Performance | None) -> str:
    """Write the number of rows, with ≈ where it is estimated."""
    if result is None or (result.rows is None and result.size is None):
        return DASH
    if result.rows is not None:
        return f"{result.rows:,}"
    return DASH if result.size is None or not math.isfinite(result.size.value) else f"≈ {whole(result.size.value)}"


def known(estimate: Estimate | None) -> TypeGuard[Estimate]:
    """Return whether there is a value."""
    return estimate is not None and math.isfinite(estimate.value)


_FARTHEST = 100.0  # beyond this ratio, or below its inverse, an axis says no more

_REACH = 10.0  # how many times its value an interval of a ratio may take the axis

_LEAST_RATIOS = [-math.log(2.0), math.log(2.0)]  # what an axis shows at least where intervals have no end

_TICK_GAP = 0.11  # the least distance of ticks, as a share of the axis

_NEAR = 3.0  # ends of an axis of ratios that are nearer than this many times have evenly spaced ticks

_OVERHANG = 0.4  # how much of the sites' range a summary may add to the axis on each side


def axis_ends(forest: Forest) -> tuple[float, float]:
    """Return the ends of the axis.

    All intervals of sites fit on it. Intervals of the summary may extend it by 40 % of its length on each side. The
    interval of a ratio counts up to ten times its value; infinite ends do not count.
    """
    places = _ratio_places if forest.scale == "log" else _places
    known_ones = [one for one in (*(row.estimate for row in forest.sites), forest.pooled) if known(one)]
    inside = [place for one in known_ones for place in places(one.value, one.interval)]
    if forest.scale == "log":
        inside += _LEAST_RATIOS if any(_is_open(one.interval) for one in known_ones) else [0.0]
    low, high = min(inside, default=0.4), max(inside, default=0.6)
    more = _OVERHANG * (high - low)
    summary = forest.summary
    if summary is not None:
        outside = [*places(summary.value, summary.interval), *places(summary.value, summary.prediction)]
        low, high = min(low, max(min(outside), low - more)), max(high, min(max(outside), high + more))
    space = max(0.05 * (high - low), 0.01)
    if forest.scale == "log":
        return math.exp(low - space), math.exp(high + space)
    return max(low - space, -0.01), min(high + space, 1.01)


def _places(value: float, interval: Interval | None) -> list[float]:
    """Return a value and the ends of its interval as positions on the axis."""
    every = [value] + ([] if interval is None else [interval.lower, interval.upper])
    return [one for one in every if not math.isnan(one)]


def _ratio_places(value: float, interval: Interval | None) -> list[float]:
    """Return the positions of a ratio as logarithms, within ten times its value."""
    real = [one for one in _places(value, interval) if 0.0 < one < math.inf]
    if not real:
        return [0.0]
    middle = min(max(real[0], 1.0 / _FARTHEST), _FARTHEST)
    return [math.log(min(max(one, middle / _REACH), middle * _REACH)) for one in real]


def _is_open(interval: Interval | None) -> bool:
    """Return whether the interval of a ratio is unbounded on a logarithmic axis."""
    return interval is not None and (interval.lower <= 0.0 or math.isinf(interval.upper))


def ratio_ticks(low: float, high: float) -> list[float]:
    """Return as many round ratios between two ends as labels have room for, 1 among them if it is inside."""
    gap = _TICK_GAP * math.log(high / low)
    ticks: list[float] = []
    for ticks in _round_ratios(low, high):
        if all(math.log(right / left) >= gap for left, right in pairwise(ticks)):
            break
    return ticks


def _round_ratios(low: float, high: float) -> Iterator[list[float]]:
    """Yield ever fewer round numbers between two ends: evenly spaced where the ends are near, else by decade."""
    if high < _NEAR * low:
        finest = math.floor(math.log10(high - low)) - 1
        for power, digit in product(range(finest, finest + 3), (1, 2, 5)):
            step = digit * 10.0**power
            yield [round(place * step, 12) for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        every = (float(f"{digit}e{decade}") for decade in decades for digit in digits)
        yield [tick for tick in every if low <= tick <= high]


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


_MEANT = {
    "auc": "The dotted line is guessing.",
    "observed_expected": "Left of the dotted line there were fewer positives than the model predicted, right of it "
    "more. The axis is logarithmic.",
}
_SCALE_WORDS = {"logit": "log-odds", "log": "logarithmic", "identity": "same"}
_MOST_NAMED = 3

_NO_VALUE = ("it has no value", "they have no value")
_AT_THE_END = {
    "logit": ("an AUC of 0 or 1 has no log-odds", "an AUC of 0 or 1 has no log-odds"),
    "log": ("a ratio of 0 has no logarithm", "a ratio of 0 has no logarithm"),
}
_NO_ERROR = ("its standard error is not known", "their standard errors are not known")
_OPEN = {
    "logit": ("its interval covers almost all possible values", "their intervals cover almost all possible values"),
    "log": ("its interval reaches 0 or has no end", "their intervals reach 0 or have no end"),
}

ENOUGH_SITES = 5
"""Sites from which on a prediction interval stands without a caution."""


def forest_caption(forest: Forest) -> str:
    """Return the caption."""
    sizes = "" if forest.summary is None else ", larger where the site weighs more in the summary"
    parts = [
        f"{NAMES[forest.measure]} at each site (squares{sizes}) with {percent(forest.level)} intervals, and of all "
        "rows together (circle)."
    ]
    if forest.summary is None:
        parts.append("There is no mean over sites: fewer than two of them have a usable interval.")
    else:
        parts += [f"Diamond: random-effects mean over sites. {heterogeneity_words(forest.summary)}", *left_out(forest)]
    if forest.noisy:
        parts.append(
            "Intervals account for noise and for unknown positions within cells, so small differences between sites "
            "stay hidden."
        )
    low, high = axis_ends(forest)
    if any(_leaves(row, low, high) for row in forest.sites):
        parts.append("Arrows: intervals that extend beyond the axis.")
    return " ".join([*parts, _MEANT[forest.measure]] if low < GUESSING[forest.measure] else parts)


def heterogeneity_words(summary: RandomEffects, *, bar: bool = True) -> str:
    """Return how much sites differ, in numbers. `bar` adds what the bar of the plot means."""
    spread = "0" if summary.tau_squared == 0.0 else number(summary.tau_squared)
    parts = [f"Between sites {_tied(f'τ² = {spread}')} on the {_SCALE_WORDS[summary.scale]} scale (REML)"]
    if summary.i_squared is not None:
        parts.append(_tied(f"I² = {100.0 * summary.i_squared:.0f} %"))
    if summary.q_p_value is not None:
        parts.append(f"{_tied(f'Q = {number(summary.q, 2)}')}, {_tied(p_equation(summary.q_p_value))}")
    sentence = ", ".join(parts) + "; interval of the mean after Hartung and Knapp."
    if summary.prediction is None:
        return f"{sentence} With fewer than three sites there is no prediction interval."
    if not bar:
        return sentence
    return f"{sentence} Bar: prediction interval for the true value at another such site.{prediction_caution(summary)}"


def prediction_caution(summary: RandomEffects) -> str:
    """Return that a prediction interval from few sites needs more of them."""
    if summary.prediction is None or summary.sites >= ENOUGH_SITES:
        return ""
    return (
        f" From {summary.sites} sites it is too rough to rely on, because their spread is estimated from "
        f"{summary.sites} numbers: it needs at least {ENOUGH_SITES} sites, and better ten."
    )


def left_out(forest: Forest) -> Iterator[str]:
    """Yield the sites that the mean leaves out, one sentence for each reason."""
    if forest.summary is None:
        return
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in forest.sites:
        if row.weight is None:
            reasons.setdefault(_reason(row, forest), []).append(row.name)
    for (of_one, of_many), names in reasons.items():
        one = len(names) == 1
        yield f"{_named(names)} {'was' if one else 'were'} left out of the mean: {of_one if one else of_many}."


def _reason(row: ForestRow, forest: Forest) -> tuple[str, str]:
    """Return why a site is not in the mean, in the singular and in the plural."""
    if not known(row.estimate):
        return _NO_VALUE
    value, interval = row.estimate.value, row.estimate.interval
    if value <= 0.0 or (value >= 1.0 and forest.scale == "logit"):
        return _AT_THE_END[forest.scale]
    if interval is None or not interval.lower < interval.upper:
        return _NO_ERROR
    return _OPEN[forest.scale]


def _named(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{len(names)} sites"
    *most, last = (cut(name, LONGEST) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _leaves(row: ForestRow, low: float, high: float) -> bool:
    interval = row.estimate.interval if known(row.estimate) else None
    return interval is not None and (interval.lower < low or interval.upper > high)


def _tied(words: str) -> str:
    """Join words so that they stay on one line."""
    return words.replace(" ", "\u00a0")
