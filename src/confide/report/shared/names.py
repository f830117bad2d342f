"""Names of sites and other text from elsewhere, made short, distinct and safe to display."""

from __future__ import annotations

from collections.abc import Sequence

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
