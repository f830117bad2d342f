"""Axis of a forest plot: its ends and, for ratios, its ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product

from confide.intervals.interval import Interval
from confide.report.validation.forest import Forest, known

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
