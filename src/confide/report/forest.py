"""The forest plot: a measure at every site with its interval, all rows together, and the mean over sites."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeGuard

from confide.federation.question import PRIVATE
from confide.intervals.interval import Estimate, Interval
from confide.intervals.random_effects import RandomEffects
from confide.report.names import LONGEST, distinct, wrapped
from confide.report.plots import COLOURS, GREY
from confide.report.tables import number, p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from confide.federation.pooled import Pooled
    from confide.federation.results import Validation

Scale = Literal["logit", "log"]

NAMES = {"auc": "AUC", "observed_expected": "Observed : expected"}
_SHORT_NAMES = {"auc": "AUC", "observed_expected": "O : E"}
_SCALES: dict[str, Scale] = {"auc": "logit", "observed_expected": "log"}
_GUESSING = {"auc": 0.5, "observed_expected": 1.0}
_MEANT = {
    "auc": "The dotted line is guessing.",
    "observed_expected": "Left of the dotted line fewer positives happened than the model gave reason to expect, right "
    "of it more; the axis is logarithmic.",
}

_ROW_INCHES, _TALL_ROW_INCHES, _OTHER_INCHES = 0.3, 0.38, 1.15
_WIDTH_INCHES = 9.2
_COLUMNS = (12.0, 160.0, 218.0)  # points right of the axes: value with interval, rows, weight
_BLUE, _BLACK = COLOURS[0], "#111111"
_FARTHEST = 100.0  # beyond this ratio, or below its inverse, an axis says no more
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

    `noisy` says that intervals hold the noise of a private release.
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
    if sum(estimate is not None for estimate in estimates.values()) < 2:
        return None
    summary = validation.heterogeneity.get(measure)
    weights = _weights({name: estimates.get(name) for name in validation.outcome.sites}, summary, _SCALES[measure])
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
        noisy=validation.question.mode == PRIVATE,
    )


def draw_forest(ax: Axes, forest: Forest) -> None:
    """Draw a line for each site, then all rows together, the mean over sites and where another site may lie."""
    low, high = _ends(forest)
    _axis(ax, forest, low, high)
    for place, row in enumerate(forest.sites):
        if _known(row.estimate):
            _line(ax, row.estimate.interval, place, low, high)
            _square(ax, row.estimate.value, place, row.weight, forest)
        share = "–" if row.weight is None else f"{100.0 * row.weight:.1f} %"
        _words(ax, place, _written(row.estimate), row.rows, share if forest.summary is not None else "")
    _draw_summaries(ax, forest, low, high)
    names = [*(wrapped(name) for name in distinct([row.name for row in forest.sites], LONGEST)), *_summaries(forest)]
    ax.set_yticks(range(len(names)), names)
    for place, label in enumerate(ax.get_yticklabels()):
        label.set_fontweight("normal" if place < len(forest.sites) else "bold")
    ax.set_ylim(len(names) - 0.4, -0.6)


def forest_caption(forest: Forest) -> str:
    """What the picture shows, with how much sites differ."""
    shown = (
        f"{NAMES[forest.measure]} at each site (squares, larger where the site weighs more in the summary) with "
        f"{_percent(forest.level)} intervals, and of all rows together (circle)."
    )
    if forest.summary is not None:
        shown += f" Diamond: random-effects mean over sites. {heterogeneity_words(forest.summary)}"
    if forest.noisy:
        shown += (
            " Intervals allow for noise and for what cells hide, so that small differences between sites stay unseen."
        )
    return f"{shown} {_MEANT[forest.measure]}" if _ends(forest)[0] < _GUESSING[forest.measure] else shown


def heterogeneity_words(summary: RandomEffects, *, bar: bool = True) -> str:
    """How much sites differ, in numbers; `bar` says what the picture's bar is."""
    spread = "0" if summary.tau_squared == 0.0 else number(summary.tau_squared)
    said = [f"Between sites {_tied(f'τ² = {spread}')} on the {_SCALE_WORDS[summary.scale]} scale (REML)"]
    if summary.i_squared is not None:
        said.append(_tied(f"I² = {100.0 * summary.i_squared:.0f} %"))
    if summary.q_p_value is not None:
        said.append(f"{_tied(f'Q = {number(summary.q, 2)}')}, {_tied(f'p {_equals(p_value(summary.q_p_value))}')}")
    sentence = ", ".join(said) + "; interval of the mean after Hartung and Knapp."
    if summary.prediction is None:
        return f"{sentence} With fewer than three sites there is no prediction interval."
    if not bar:
        return sentence
    return f"{sentence} Bar: where the true value at another such site is expected (prediction interval)."


_SCALE_WORDS = {"logit": "log-odds", "log": "logarithmic", "identity": "same"}


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
        if _known(forest.pooled):
            _line(ax, forest.pooled.interval, place, low, high, colour=_BLACK)
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


def rows_words(result: Pooled | None) -> str:
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
    if low < _GUESSING[forest.measure] < high:
        ax.axvline(_GUESSING[forest.measure], color=GREY, linewidth=1.1, linestyle=":")
    ax.set_xlabel(NAMES[forest.measure] + (" (log scale)" if forest.scale == "log" else ""))
    ax.set_title(f"{NAMES[forest.measure]} by site", pad=24)
    weight = "weight" if forest.summary is not None else ""
    _words(ax, -1.0, f"{_SHORT_NAMES[forest.measure]} ({_percent(forest.level)})", "rows", weight, head=True)


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
    start, end = max(interval.lower, low), min(interval.upper, high)
    if start > end:
        return
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
    left, right = max(summary.interval.lower, low), min(summary.interval.upper, high)
    middle = min(max(summary.value, low), high)
    ax.fill([left, middle, right, middle], [place, place - 0.3, place, place + 0.3], color=COLOURS[1], linewidth=0.8)
    _line(ax, summary.interval, place, low, high, colour=COLOURS[1], width=0.8)


def _ends(forest: Forest) -> tuple[float, float]:
    """Ends of the axis: sites' intervals fit on it, and those of the summary as far as they are not much longer."""
    log = forest.scale == "log"
    known = [one for one in (*(row.estimate for row in forest.sites), forest.pooled) if _known(one)]
    inside = [end for one in known for end in _places(one.value, one.interval, log)]
    if log:
        inside.append(0.0)
    low, high = min(inside, default=0.4), max(inside, default=0.6)
    more = _OVERHANG * (high - low)
    if forest.summary is not None:
        summary = forest.summary
        outside = [
            *_places(summary.value, summary.interval, log),
            *_places(summary.value, summary.prediction, log),
        ]
        low, high = min(low, max(min(outside), low - more)), max(high, min(max(outside), high + more))
    space = max(0.05 * (high - low), 0.01)
    if log:
        return math.exp(low - space), math.exp(high + space)
    return max(low - space, -0.01), min(high + space, 1.01)


def _places(value: float, interval: Interval | None, log: bool) -> list[float]:
    """A value and the ends of its interval, as places on the axis; nothing beyond all measure."""
    every = [value] + ([] if interval is None else [interval.lower, interval.upper])
    real = [one for one in every if not math.isnan(one)]
    return [math.log(min(max(one, 1.0 / _FARTHEST), _FARTHEST)) for one in real] if log else real


def ratio_ticks(low: float, high: float) -> list[float]:
    """Round ratios between two ends: as few of them as can be read, four at least where there are such."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), (1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        found = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if len(found) >= 4:
            break
    return found[:: max(len(found) // 8, 1)]


def _weights(estimates: Mapping[str, Estimate | None], summary: RandomEffects | None, scale: Scale) -> dict[str, float]:
    """Each site's share of the summary, which has the sites in the order in which they are stored."""
    inside = [name for name, estimate in estimates.items() if _summarised(estimate, scale)]
    if summary is None or len(inside) != summary.sites:
        return {}
    return dict(zip(inside, summary.weights, strict=True))


def _summarised(estimate: Estimate | None, scale: Scale) -> bool:
    """Whether a site has a value and an error on the scale of the summary."""
    if estimate is None or not _known(estimate) or estimate.interval is None:
        return False
    lower, upper = estimate.interval.lower, estimate.interval.upper
    if scale == "logit":
        return 0.0 < estimate.value < 1.0 and lower < upper
    return estimate.value > 0.0 and 0.0 < lower < upper < math.inf


def _known(estimate: Estimate | None) -> TypeGuard[Estimate]:
    return estimate is not None and math.isfinite(estimate.value)


def _written(estimate: Estimate | None) -> str:
    """A value with its interval, as papers write it."""
    if not _known(estimate):
        return "–"
    ends = "" if estimate.interval is None else f" ({_span(estimate.interval)})"
    return f"{_digits(estimate.value)}{ends}"


def _span(interval: Interval) -> str:
    return f"{_digits(interval.lower)} to {_digits(interval.upper)}"


def _digits(value: float) -> str:
    """Three digits behind the point, fewer for large ratios."""
    return number(value, 3 if abs(value) < 10.0 else 1 if abs(value) < 1_000.0 else 0)


def _percent(level: float) -> str:
    return f"{100 * level:g} %"


def _tied(words: str) -> str:
    """Words that stay on one line."""
    return words.replace(" ", "\u00a0")


def _equals(shown: str) -> str:
    return shown if shown.startswith("<") else f"= {shown}"
