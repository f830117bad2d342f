"""Plots of a contest's pages, written as SVG: the board or the final as dots, and ranks before and after.

The plots need no library. Their colours are attributes, which the style sheet of a page may override by class: the
content security policy of a page forbids styles inside the plot.

A move is clear if the two intervals of ranks do not meet. Any other move may be chance, and is drawn thin and dashed.
Intervals are compared only if board and final rank as many entries: else a rank means something else on each side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Protocol
from unicodedata import east_asian_width

from confide.contest.metric import ContestMetric
from confide.intervals.interval import Interval
from confide.metrics.names import Better
from confide.report.numbers import number, percent

BLUE, VERMILION, GREY, BAND, GRID = "#0072B2", "#D55E00", "#6b6b6b", "#eef3f8", "#d8d8d8"
LETTER = 0.56
"""Mean width of a letter, as a share of the size of the font."""


def text(x: float, y: float, words: str) -> str:
    """Return one line of text, escaped, with the looks of its group."""
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(printable(words))}</text>'


def texts(lines: Iterable[str], *, size: float = 13, anchor: str = "start", kind: str = "", bold: bool = False) -> str:
    """Return a group of lines of text. The kind "soft" is grey."""
    named = f' class="{kind}"' if kind else ""
    weight = ' font-weight="600"' if bold else ""
    fill = GREY if kind == "soft" else "currentColor"
    return f'<g font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"{weight}{named}>{"".join(lines)}</g>'


def strokes(moves: Iterable[str], *, width: float, colour: str, kind: str, dashes: str = "") -> str:
    """Return lines of one look as one path."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{"".join(moves)}" stroke="{colour}" stroke-width="{width:g}" fill="none"{dashed} class="{kind}"/>'


def level(x: float, to: float, y: float) -> str:
    """Return the move of a level line for `strokes`."""
    return f"M{x:.1f} {y:.1f}H{to:.1f}"


def upright(x: float, y: float, to: float) -> str:
    """Return the move of an upright line for `strokes`."""
    return f"M{x:.1f} {y:.1f}V{to:.1f}"


def svg(parts: Iterable[str], *, size: tuple[float, float], prefix: str, title: str, description: str) -> str:
    """Return a whole plot with a title and a description for screen readers."""
    wide, high = size
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" '
            f'height="{high:g}" role="img" aria-labelledby="{prefix}-title {prefix}-words" class="plot" '
            'font-family="system-ui, -apple-system, &quot;Segoe UI&quot;, Roboto, sans-serif">',
            f'<title id="{prefix}-title">{escape(printable(title))}</title>',
            f'<desc id="{prefix}-words">{escape(printable(description))}</desc>',
            *parts,
            "</svg>",
        )
    )


def printable(words: str) -> str:
    """Replace characters that XML forbids, and those that change the direction of text."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in words)


def fitted(name: str, room: float, *, size: float = 13) -> str:
    """Shorten a name to the room that it has, by an estimate of its width.

    >>> fitted("a name that is much too long", 80)
    'a name th…'
    """
    most = room / (LETTER * size)
    if _letters(name) <= most:
        return name
    kept, used = "", 1.0
    for letter in name:
        used += _letters(letter)
        if used > most:
            break
        kept += letter
    return f"{kept.rstrip()}…"


def _letters(words: str) -> float:
    """Return the width of words in mean letters: wide letters, such as Chinese ones, count double."""
    return sum(1.8 if east_asian_width(letter) in "WF" or letter in "MW@" else 1.0 for letter in words)


def ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Return at most so many round numbers, evenly spaced by 1, 2 or 5 times a power of ten, between two ends.

    >>> ticks(0.713, 0.892, 5)
    (0.75, 0.8, 0.85)
    """
    power = math.floor(math.log10((high - low) / most))
    for step in (digit * 10.0**exponent for exponent in range(power, power + 3) for digit in (1, 2, 5)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return tuple(round(place * step, 12) for place in range(first, last + 1))
    raise AssertionError("a step of a hundred times the distance leaves one tick at most")


def decimals(places: Iterable[float]) -> int:
    """Return how many decimals numbers need to be told apart, at most 6."""
    known = tuple(places)
    return next((digits for digits in range(6) if all(abs(x - round(x, digits)) < 1e-9 for x in known)), 6)


NARROW = 480
"""Below this width, in pixels, a name stands above its line."""

_BETTER = {Better.HIGHER: "higher is better", Better.LOWER: "lower is better", Better.ZERO: "zero is best"}
_MANY = 60


class RankedEntry(Protocol):
    """An entry of a board or of a final."""

    @property
    def name(self) -> str:
        """Return the participant's name."""

    @property
    def value(self) -> float:
        """Return the estimate."""

    @property
    def sample(self) -> Interval:
        """Return the interval for these rows: noise alone."""

    @property
    def population(self) -> Interval:
        """Return the interval for the population: noise and sampling."""

    @property
    def rank(self) -> int:
        """Return the rank: 1 + the number of entries that are significantly better."""

    @property
    def rank_lowest(self) -> int:
        """Return the best rank that is compatible with the data."""

    @property
    def rank_highest(self) -> int:
        """Return the worst rank that is compatible with the data."""


def dot_plot(
    entries: Sequence[RankedEntry],
    metric: ContestMetric,
    *,
    width: int = 880,
    prefix: str = "board",
    own: str | None = None,
) -> str:
    """Return an SVG of entries, in the order given, with one line each.

    The dot is the estimate, the thick bar the interval for these rows, the thin line that for the population.
    Neighbours that share a rank stand on one band. `own` names the reader's entry, which is marked. `prefix` must
    differ between plots of one page.
    """
    if not entries:
        return ""
    frame = _Frame.of(entries, metric, width)
    return svg(
        (*_bands(entries, frame), *_axis(frame, metric), *_marks(entries, frame), *_words(entries, frame, own)),
        size=(frame.width, frame.height),
        prefix=prefix,
        title=f"Dot plot of {metric.title} with intervals and ranks",
        description=describe(entries, metric),
    )


def describe(entries: Sequence[RankedEntry], metric: ContestMetric) -> str:
    """Return the plot in words, for readers who cannot see it."""
    first = [entry for entry in entries if entry.rank == 1]
    best = entries[0]
    inner = f"{number(best.population.lower)} to {number(best.population.upper)}"
    shared = (
        f"{len(first)} entries share rank 1: the data cannot tell them apart."
        if len(first) > 1
        else "No other entry shares rank 1."
    )
    return (
        f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, best estimate first. The best estimate is "
        f"{number(best.value)} ({percent(best.population.level)} interval {inner}) by {best.name}. {shared} The table "
        f"holds the same numbers. {metric.title[:1].upper()}{metric.title[1:]}: {_BETTER[metric.kind.better]}."
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """Sizes of a plot in pixels, and the ends of its axis."""

    width: float
    rows: int
    low: float
    high: float
    digits: int

    @classmethod
    def of(cls, entries: Sequence[RankedEntry], metric: ContestMetric, width: float) -> _Frame:
        every = [place for entry in entries for place in _places(entry)]
        low, high = min(every, default=0.0), max(every, default=1.0)
        if metric.kind.better == Better.ZERO:
            low, high = min(low, 0.0), max(high, 0.0)
        if high - low < 1e-6:
            low, high = low - 0.01, high + 0.01
        space = 0.03 * (high - low)
        return cls(width, len(entries), low - space, high + space, 4 if high - low < 0.02 else 3)

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def pitch(self) -> float:
        if self.narrow:
            return 38.0
        return 24.0 if self.rows <= _MANY else 18.0

    @property
    def left(self) -> float:
        return 6.0 if self.narrow else 290.0

    @property
    def right(self) -> float:
        return self.width - (6.0 if self.narrow else 84.0)

    @property
    def top(self) -> float:
        return 84.0 if self.narrow else 60.0

    @property
    def bottom(self) -> float:
        return self.top + self.rows * self.pitch

    @property
    def height(self) -> float:
        return self.bottom + 48.0

    def centre(self, position: int) -> float:
        return self.top + (position + (0.72 if self.narrow else 0.5)) * self.pitch

    def x(self, place: float) -> float:
        """Return the position of a value; what lies beyond the axis is put at its end."""
        inside = min(max(place, self.low), self.high)
        return self.left + (inside - self.low) / (self.high - self.low) * (self.right - self.left)


def _places(entry: RankedEntry) -> list[float]:
    every = (entry.value, entry.sample.lower, entry.sample.upper, entry.population.lower, entry.population.upper)
    return [place for place in every if math.isfinite(place)]


def _bands(entries: Sequence[RankedEntry], frame: _Frame) -> Iterator[str]:
    """Yield a band behind each second group of neighbours that share a rank, and a rule above each group."""
    start, rules = 0, []
    for place, (_, members) in enumerate(groupby(entries, key=lambda entry: entry.rank)):
        size = sum(1 for _ in members)
        y = frame.top + start * frame.pitch
        if place % 2 == 0:
            high = size * frame.pitch
            yield f'<rect y="{y:.1f}" width="{frame.width:g}" height="{high:.1f}" fill="{BAND}" class="band"/>'
        rules.append(level(0, frame.width, y))
        start += size
    yield strokes([*rules, level(0, frame.width, frame.bottom)], width=1, colour=GRID, kind="grid")


def _axis(frame: _Frame, metric: ContestMetric) -> Iterator[str]:
    """Yield the legend, grid lines, ticks and titles."""
    yield from _legend(frame)
    places = ticks(frame.low, frame.high, 5 if frame.narrow else 8)
    yield strokes((upright(frame.x(x), frame.top, frame.bottom) for x in places), width=1, colour=GRID, kind="grid")
    heads = (frame.top - 8, frame.bottom + 16)
    inside = [min(max(frame.x(x), 16.0), frame.width - 16.0) for x in places]
    digits = decimals(places)
    yield texts(
        (text(x, y, number(place, digits)) for y in heads for x, place in zip(inside, places, strict=True)),
        size=12,
        anchor="middle",
        kind="soft",
    )
    if not frame.narrow:
        yield texts((text(4, heads[0], "rank"), text(92, heads[0], "name")), size=12, kind="soft")
        yield texts((text(frame.width - 4, heads[0], "estimate"),), size=12, kind="soft", anchor="end")
    if metric.kind.better == Better.ZERO:
        yield strokes((upright(frame.x(0.0), frame.top, frame.bottom),), width=1.5, colour=GREY, kind="thin")
    title = f"{metric.title} ({_BETTER[metric.kind.better]})"
    yield texts((text((frame.left + frame.right) / 2, frame.bottom + 37, title),), anchor="middle")


def _legend(frame: _Frame) -> Iterator[str]:
    """Yield the signs with their names: in one line, or in three where it is narrow."""
    (dot, dot_y), (bar, bar_y), (thin, thin_y), (band, band_y) = (
        ((6.0, 12.0), (6.0, 32.0), (190.0, 32.0), (6.0, 52.0))
        if frame.narrow
        else ((4.0, 16.0), (104.0, 16.0), (300.0, 16.0), (480.0, 16.0))
    )
    yield strokes((level(bar, bar + 20, bar_y - 4),), width=6, colour=BLUE, kind="bar")
    yield strokes((level(thin, thin + 20, thin_y - 4),), width=1.6, colour=GREY, kind="thin")
    yield _dots((_dot(dot + 8, dot_y - 4),))
    names = (
        text(dot + 18, dot_y, "estimate"),
        text(bar + 26, bar_y, "interval for these rows"),
        text(thin + 26, thin_y, "interval for new rows"),
    )
    yield texts(names, size=12)
    yield texts((text(band, band_y, "a band holds entries that share a rank"),), size=12, kind="soft")


def _marks(entries: Sequence[RankedEntry], frame: _Frame) -> Iterator[str]:
    """Yield the intervals and the dots."""
    thin, bars, dots = [], [], []
    for position, entry in enumerate(entries):
        y = frame.centre(position)
        low, high = frame.x(entry.population.lower), frame.x(entry.population.upper)
        thin += [level(low, high, y), upright(low, y - 3.5, y + 3.5), upright(high, y - 3.5, y + 3.5)]
        bars.append(level(frame.x(entry.sample.lower), frame.x(entry.sample.upper), y))
        dots.append(_dot(frame.x(entry.value), y))
    yield strokes(thin, width=1.6, colour=GREY, kind="thin")
    yield strokes(bars, width=6, colour=BLUE, kind="bar")
    yield _dots(dots)


def _dots(circles: Iterable[str]) -> str:
    return f'<g fill="#ffffff" stroke="{BLUE}" stroke-width="2.4" class="dot">{"".join(circles)}</g>'


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.6"/>'


def _words(entries: Sequence[RankedEntry], frame: _Frame, own: str | None) -> Iterator[str]:
    """Yield ranks, intervals of ranks, names and estimates."""
    size = 13 if frame.pitch > 20 else 12
    lift = -12.0 if frame.narrow else 4.5
    name_x, span_x = (34.0, frame.width - 62) if frame.narrow else (92.0, 36.0)
    room = frame.width - 178 if frame.narrow else 188.0
    ranks, spans, names, mine, values = [], [], [], [], []
    for position, entry in enumerate(entries):
        y = frame.centre(position) + lift
        ranks.append(text(4, y, f"{entry.rank}"))
        if entry.rank_lowest != entry.rank_highest:
            span = f"{entry.rank_lowest}–{entry.rank_highest}"
            spans.append(text(span_x, y, f"ranks {span}" if frame.narrow else span))
        if entry.name == own:
            mine.append(text(name_x, y, fitted(f"you: {entry.name}", room, size=size)))
        else:
            names.append(text(name_x, y, fitted(entry.name, room, size=size)))
        values.append(text(frame.width - 4, y, number(entry.value, frame.digits)))
    yield texts(ranks, size=size, bold=True)
    yield texts(spans, size=12, kind="soft", anchor="end" if frame.narrow else "start")
    yield texts(names, size=size)
    yield texts(mine, size=size, bold=True)
    yield texts(values, size=size, anchor="end")


_TOP, _PITCH = 50.0, 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Ranks of one finalist on the board and in the final, each with its interval."""

    name: str
    before: int
    before_span: tuple[int, int]
    after: int
    after_span: tuple[int, int]
    comparable: bool = True

    @property
    def change(self) -> int:
        """Return how many ranks were won; negative if lost."""
        return self.before - self.after

    @property
    def clear(self) -> bool:
        """Return whether the intervals of ranks do not meet, so that chance is no explanation."""
        apart = self.after_span[0] > self.before_span[1] or self.before_span[0] > self.after_span[1]
        return self.comparable and apart

    def words(self) -> str:
        """Return the change for a table."""
        if not self.change:
            return "same rank"
        moved = f"{'up' if self.change > 0 else 'down'} {abs(self.change)}"
        return f"{moved}, within chance" if self.comparable and not self.clear else moved


def slope_plot(moves: Sequence[Move], *, width: int = 760, prefix: str = "moves") -> str:
    """Return an SVG with the board at the left and the final at the right, joined by one line for each finalist.

    `moves` are in the order of the final.
    """
    if not moves:
        return ""
    before = sorted(range(len(moves)), key=lambda one: (moves[one].before, one))
    heights = {one: _TOP + (place + 0.5) * _PITCH for place, one in enumerate(before)}
    narrow = width < NARROW
    left, right = (118.0, width - 150.0) if narrow else (250.0, width - 290.0)
    parts = [
        texts((text(left, 30, "on the board"),), size=12, anchor="end", kind="soft"),
        texts((text(right, 30, "in the final"),), size=12, kind="soft"),
    ]
    for place, move in enumerate(moves):
        parts += _slope(move, heights[place], _TOP + (place + 0.5) * _PITCH, (left, right), narrow=narrow)
    return svg(
        parts,
        size=(width, _TOP + len(moves) * _PITCH + 12),
        prefix=prefix,
        title="Ranks on the board and in the final",
        description=_description(moves),
    )


def _slope(move: Move, y: float, to: float, ends: tuple[float, float], *, narrow: bool) -> Iterator[str]:
    left, right = ends
    colour, kind = (GREY, "same") if not move.change else (BLUE, "up") if move.change > 0 else (VERMILION, "down")
    dashes = "" if move.clear or not move.change else "5 4"
    slope = f"M{left + 8:.1f} {y:.1f}L{right - 8:.1f} {to:.1f}"
    yield strokes((slope,), width=3 if move.clear else 1.6, colour=colour, kind=kind, dashes=dashes)
    for x, height in ((left + 8, y), (right - 8, to)):
        yield f'<circle cx="{x:.1f}" cy="{height:.1f}" r="4" fill="{colour}" class="{kind}"/>'
    sign = "=" if not move.change else f"▲ {move.change}" if move.change > 0 else f"▼ {-move.change}"
    size, room, edge = (12, 80.0, right + 146.0) if narrow else (13, 200.0, right + 286.0)
    name = fitted(move.name, room, size=size)
    yield texts((text(left, y + 4.5, f"{name}  {move.before}"),), size=size, anchor="end")
    yield texts((text(right, to + 4.5, f"{move.after}  {name}"),), size=size)
    yield texts((text(edge, to + 4.5, sign),), size=size, anchor="end", bold=move.clear)


def _description(moves: Sequence[Move]) -> str:
    up, down = sum(move.change > 0 for move in moves), sum(move.change < 0 for move in moves)
    return (
        f"{len(moves)} finalists: {up} moved up, {down} moved down, {len(moves) - up - down} kept their rank. "
        f"{moves_words(moves)} The table holds the ranks."
    )


def moves_words(moves: Sequence[Move]) -> str:
    """Say how many moves are larger than chance explains."""
    if not all(move.comparable for move in moves):
        return (
            "The board ranks the best submission of each participant, the final each finalist: with different numbers "
            "of entries, a move by a few ranks means little."
        )
    clear = sum(move.clear for move in moves)
    if not clear:
        return "No finalist moved by more than chance explains: the intervals of ranks meet for each of them."
    many = "One finalist moved" if clear == 1 else f"{clear} finalists moved"
    return f"{many} by more than chance explains: the intervals of ranks on the board and in the final do not meet."
