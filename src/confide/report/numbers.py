"""Numbers, intervals and names as text: the one writer that tables, plots and sentences share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TypeGuard

from confide.intervals.interval import Estimate, Interval

DASH = "–"
"""Stands for a number that does not exist."""


def number(value: float | None, digits: int | None = 3) -> str:
    """Write a number with so many decimals, or with None as many as suit its size; a dash if it does not exist."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if digits is not None:
        return f"{value:z.{digits}f}"  # z: never "-0.000"
    if value >= 10_000.0:
        return f"{value:.0e}"
    return f"{value:.{3 if abs(value) < 10.0 else 1 if abs(value) < 1_000.0 else 0}f}"


def amount(value: float) -> str:
    """Write a number of rows, or a sum of weights with one decimal."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def whole(value: float) -> str:
    """Write an estimated number of rows without decimals."""
    return f"{value:,.0f}" if math.isfinite(value) else DASH


def p_value(value: float | None) -> str:
    """Write a p-value with three decimals, but never as zero; a dash if it does not exist.

    >>> p_value(0.02499), p_value(2e-7)
    ('0.025', '<0.001')
    """
    if value is None or math.isnan(value):
        return DASH
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def p_equation(value: float) -> str:
    """Write a p-value for a sentence: `p = 0.025` or `p < 0.001`."""
    text = p_value(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def percent(share: float) -> str:
    """Write a share, such as a confidence level, in per cent."""
    return f"{100 * share:g} %"


def has_ends(interval: Interval | None) -> TypeGuard[Interval]:
    """Return whether an interval exists; an end may be infinite."""
    return interval is not None and not (math.isnan(interval.lower) or math.isnan(interval.upper))


def interval_text(interval: Interval | None, digits: int | None = 3, *, joined: str = " to ") -> str:
    """Write both ends of an interval, a dash if it does not exist."""
    if not has_ends(interval):
        return DASH
    return f"{number(interval.lower, digits)}{joined}{number(interval.upper, digits)}"


def estimate_text(estimate: Estimate | None, digits: int | None = 3, *, joined: str = " to ") -> str:
    """Write a value with its interval in brackets, if there is one."""
    if estimate is None:
        return DASH
    value = number(estimate.value, digits)
    if estimate.interval is None:
        return value
    return f"{value} ({interval_text(estimate.interval, digits, joined=joined)})"


_FIGURE_SPACE, _POINT_SPACE = "\u2007", "\u2008"  # as wide as a digit, and as a point


def decimal_aligned(cells: Sequence[str]) -> list[str]:
    """Pad the numbers of a column, which is aligned right, so that their decimal points stand below each other.

    Cells that are no numbers stay as they are. A mark after a number, such as an asterisk, hangs to its right.

    >>> [cell.replace("\u2007", "_").replace("\u2008", ".") for cell in decimal_aligned(("0.25", "12", "–"))]
    ['0.25', '12.__', '–']
    """
    endings = [_ENDING.search(cell) for cell in cells]
    most = max((len(ending["decimals"] or "") for ending in endings if ending), default=0)
    widest = max((len(ending["mark"]) for ending in endings if ending), default=0)
    return [
        cell if ending is None else cell + _padding(ending, most, widest)
        for cell, ending in zip(cells, endings, strict=True)
    ]


_ENDING = re.compile(r"\d(?:\.(?P<decimals>\d+))?(?P<mark>\*?)$")


def _padding(ending: re.Match[str], most: int, widest: int) -> str:
    decimals = len(ending["decimals"] or "")
    point = _POINT_SPACE if most and not decimals else ""
    return point + _FIGURE_SPACE * (most - decimals + widest - len(ending["mark"]))


LINE_LETTERS, LONGEST = 26, 48
"""Letters of a line in a plot, and of a name, which then takes two lines."""

NAME_LETTERS = 48
"""Letters of a name in tables and sentences."""


def plain(text: str) -> str:
    """Replace characters that control a terminal or the direction of writing."""
    return "".join(letter if letter.isprintable() else "·" for letter in text)


def cut(text: str, most: int) -> str:
    """Cut a name to at most so many letters, leaving out its middle."""
    name = plain(text)
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def distinct(names: Sequence[str], most: int) -> list[str]:
    """Cut names to at most so many letters, and number them where they would become equal."""
    short = [cut(name, most) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    return [f"{place}: {cut(name, most - 4)}" for place, name in enumerate(names, 1)]


def wrapped(name: str, letters: int = LINE_LETTERS) -> str:
    """Break a long name into two lines of about equal length, between words where possible."""
    if len(name) <= letters:
        return name
    breaks = [at for at in range(1, len(name)) if name[at - 1] in " -_." and at <= letters >= len(name) - at]
    middle = min(breaks, key=lambda at: abs(2 * at - len(name)), default=letters)
    return f"{name[:middle].rstrip()}\n{name[middle:]}"
