"""Parts of plots that are written as SVG: escaped text, names that fit, and round ticks.

The plots need no library. Their colours are attributes, which the style sheet of a page may override by class: the
content security policy of a page forbids styles inside the plot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from unicodedata import east_asian_width

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
