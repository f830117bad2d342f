"""Names of sites, and other words from elsewhere, made fit to be shown: short, different, and harmless."""

from __future__ import annotations

from collections.abc import Sequence

LINE_LETTERS, LONGEST = 26, 48
"""Letters of a line, and of a name, which takes two lines then."""


def plain(text: str) -> str:
    """Text that came from elsewhere without what would steer a terminal or turn the direction of writing."""
    return "".join(letter if letter.isprintable() else "·" for letter in text)


def cut(text: str, most: int) -> str:
    """A name of at most so many letters, the middle left out where it is longer."""
    name = plain(text)
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def distinct(names: Sequence[str], most: int) -> list[str]:
    """Names of at most so many letters, numbered where cutting would make them alike."""
    short = [cut(name, most) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    return [f"{place}: {cut(name, most - 4)}" for place, name in enumerate(names, 1)]


def wrapped(name: str, letters: int = LINE_LETTERS) -> str:
    """A name in one line, or in two that are about as long, divided between words where that can be."""
    if len(name) <= letters:
        return name
    breaks = [at for at in range(1, len(name)) if name[at - 1] in " -_." and at <= letters >= len(name) - at]
    middle = min(breaks, key=lambda at: abs(2 * at - len(name)), default=letters)
    return f"{name[:middle].rstrip()}\n{name[middle:]}"
