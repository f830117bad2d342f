"""The forest plot: a measure at every site with its interval, all rows together, and the mean over sites."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal, TypeGuard

from confide.federation.modes.registry import mode_of
from confide.intervals.interval import Estimate, Interval
from confide.intervals.random_effects import RandomEffects
from confide.report.shared.plots import COLOURS, GREY
from confide.report.shared.tables import number
from confide.report.validation.names import LONGEST, distinct, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import Validation

Scale = Literal["logit", "log"]

NAMES = {"auc": "AUC", "observed_expected": "Observed : expected"}
_SHORT_NAMES = {"auc": "AUC", "observed_expected": "O : E"}
_SCALES: dict[str, Scale] = {"auc": "logit", "observed_expected": "log"}
GUESSING = {"auc": 0.5, "observed_expected": 1.0}

_ROW_INCHES, _TALL_ROW_INCHES, _OTHER_INCHES = 0.3, 0.38, 1.15
_WIDTH_INCHES = 9.2
_COLUMNS = (12.0, 160.0, 218.0)  # points right of the axes: value with interval, rows, weight
_BLUE, _BLACK = COLOURS[0], "#111111"
_FARTHEST = 100.0  # beyond this ratio, or below its inverse, an axis says no more
_REACH = 10.0  # how many times its value an interval of a ratio may take the axis
_LEAST_RATIOS = [-math.log(2.0), math.log(2.0)]  # what an axis shows at least where intervals have no end
_TICK_GAP = 0.11  # the least distance of ticks, as a share of the axis
_NEAR = 3.0  # ends of an axis of ratios that are nearer than this many times have evenly spaced ticks
_OVERHANG = 0.4  # how much of the sites' range a summary may add to the axis on each side


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestRow:
    """A site: its name, what is known of the measure there, its rows as text and its share of the summary."""

    name: str
    estimate: Estimate | None
    rows: str
    weight: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """All that a forest plot shows; `summary` is missing where fewer than two sites can be summarised.

    A site without a weight is not in the summary. `noisy` says that intervals hold the noise of a private release.
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
        """The scale on which sites are summarised, and for ratios drawn."""
        return _SCALES[self.measure]

    @property
    def size(self) -> tuple[float, float]:
        """Inches, by how many lines there are."""
        tall = any("\n" in wrapped(row.name) for row in self.sites)
        lines = len(self.sites) + len(_summaries(self))
        return _WIDTH_INCHES, _OTHER_INCHES + lines * (_TALL_ROW_INCHES if tall else _ROW_INCHES)


def forest_of(validation: Validation, measure: str) -> Forest | None:
    """A forest of "auc" or "observed_expected", or None where fewer than two sites' own values are seen."""
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


def draw_forest(ax: Axes, forest: Forest) -> None:
    """Draw a line for each site, then all rows together, the mean over sites and where another site may lie."""
    low, high = axis_ends(forest)
    _axis(ax, forest, low, high)
    for place, row in enumerate(forest.sites):
        if known(row.estimate):
            _line(ax, row.estimate.interval, place, low, high)
            if low <= row.estimate.value <= high:
                _square(ax, row.estimate.value, place, row.weight, forest)
        share = "–" if row.weight is None else f"{100.0 * row.weight:.1f} %"
        _words(ax, place, _written(row.estimate), row.rows, share if forest.summary is not None else "")
    _draw_summaries(ax, forest, low, high)
    names = [*(wrapped(name) for name in distinct([row.name for row in forest.sites], LONGEST)), *_summaries(forest)]
    ax.set_yticks(range(len(names)), names)
    for place, label in enumerate(ax.get_yticklabels()):
        label.set_fontweight("normal" if place < len(forest.sites) else "bold")
    ax.set_ylim(len(names) - 0.4, -0.6)


def _summaries(forest: Forest) -> list[str]:
    found = ["All rows together"] if forest.pooled is not None else []
    if forest.summary is not None:
        found.append("Mean over sites")
        if forest.summary.prediction is not None:
            found.append("Another site (prediction)")
    return found


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
        _words(ax, place + 1, _span(summary.prediction), "", "")


def rows_words(result: Performance | None) -> str:
    """How many rows there are, or about how many where noise hides it."""
    if result is None or (result.rows is None and result.size is None):
        return "–"
    if result.rows is not None:
        return f"{result.rows:,}"
    return "–" if result.size is None or not math.isfinite(result.size.value) else f"≈ {result.size.value:,.0f}"


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
    """The numbers of a line, right of the axes; rows and weights end where their heads do."""
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
    """An interval, with arrows where it leaves the axes."""
    if interval is None or math.isnan(interval.lower) or math.isnan(interval.upper):
        return
    start, end = (min(max(one, low), high) for one in (interval.lower, interval.upper))
    ax.plot([start, end], [place, place], color=colour, linewidth=width, solid_capstyle="butt")
    for leaves, at, mark in ((interval.lower < low, low, "<"), (interval.upper > high, high, ">")):
        if leaves:
            ax.plot([at], [place], mark, color=colour, markersize=5 + 1.5 * width, clip_on=False, zorder=3)


def _square(ax: Axes, value: float, place: float, weight: float | None, forest: Forest) -> None:
    """A square whose area is the weight; hollow for a site that is not in the summary."""
    most = max((row.weight for row in forest.sites if row.weight is not None), default=1.0)
    side = 5.0 if weight is None else max(11.0 * math.sqrt(weight / most), 3.0)
    inside = "white" if weight is None and forest.summary is not None else _BLUE
    ax.plot([value], [place], "s", markersize=side, color=_BLUE, markerfacecolor=inside, zorder=3)


def _diamond(ax: Axes, summary: RandomEffects, place: float, low: float, high: float) -> None:
    every = (summary.interval.lower, summary.value, summary.interval.upper)
    left, middle, right = (min(max(one, low), high) for one in every)
    ax.fill([left, middle, right, middle], [place, place - 0.3, place, place + 0.3], color=COLOURS[1], linewidth=0.8)
    _line(ax, summary.interval, place, low, high, colour=COLOURS[1], width=0.8)


def axis_ends(forest: Forest) -> tuple[float, float]:
    """Ends of the axis: sites' intervals fit on it, and those of the summary as far as they are not much longer.

    Of a ratio's interval only what is within ten times its value counts, and nothing of an end that is not there.
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
    """A value and the ends of its interval, as places on the axis."""
    every = [value] + ([] if interval is None else [interval.lower, interval.upper])
    return [one for one in every if not math.isnan(one)]


def _ratio_places(value: float, interval: Interval | None) -> list[float]:
    """The same of a ratio, as logarithms; nothing beyond all measure."""
    real = [one for one in _places(value, interval) if 0.0 < one < math.inf]
    if not real:
        return [0.0]
    middle = min(max(real[0], 1.0 / _FARTHEST), _FARTHEST)
    return [math.log(min(max(one, middle / _REACH), middle * _REACH)) for one in real]


def _is_open(interval: Interval | None) -> bool:
    """Whether a ratio's interval has no end on a logarithmic axis."""
    return interval is not None and (interval.lower <= 0.0 or math.isinf(interval.upper))


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios between two ends, 1 among them where it is inside: as many as do not run together."""
    gap = _TICK_GAP * math.log(high / low)
    found: list[float] = []
    for found in _round_ratios(low, high):
        if all(math.log(right / left) >= gap for left, right in pairwise(found)):
            break
    return found


def _round_ratios(low: float, high: float) -> Iterator[list[float]]:
    """Round numbers between two ends, ever fewer: evenly spaced where the ends are near, else in every decade."""
    if high < _NEAR * low:
        finest = math.floor(math.log10(high - low)) - 1
        for power, digit in product(range(finest, finest + 3), (1, 2, 5)):
            step = digit * 10.0**power
            yield [round(place * step, 12) for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        every = (float(f"{digit}e{decade}") for decade in decades for digit in digits)
        yield [tick for tick in every if low <= tick <= high]


def known(estimate: Estimate | None) -> TypeGuard[Estimate]:
    """Whether there is a value."""
    return estimate is not None and math.isfinite(estimate.value)


def _written(estimate: Estimate | None) -> str:
    """A value with its interval, as papers write it."""
    if not known(estimate):
        return "–"
    ends = "" if estimate.interval is None else f" ({_span(estimate.interval)})"
    return f"{_digits(estimate.value)}{ends}"


def _span(interval: Interval) -> str:
    return f"{_digits(interval.lower)} to {_digits(interval.upper)}"


def _digits(value: float) -> str:
    """Three digits behind the point, fewer for large ratios."""
    if 10_000.0 <= value < math.inf:
        return f"{value:.0e}"
    return number(value, 3 if abs(value) < 10.0 else 1 if abs(value) < 1_000.0 else 0)


def percent(level: float) -> str:
    """Write a level."""
    return f"{100 * level:g} %"
