"""Checks of single terms of a question: names, whole numbers, grids and units. Both ends make the same checks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from confide.errors import ParameterError
from confide.privacy.guarantee import UNITS

_MOST_CELLS = 2**20
_LONGEST = 200
_LONGEST_PURPOSE = 300
_LONGEST_EDGES = 100_000
_MOST_ROWS_PER_PERSON = 10_000


def checked_names(names: Mapping[str, object] | tuple[str, ...] | list[str], what: str) -> tuple[str, ...]:
    """Return names; refuse one that a site, a study or a model could not have."""
    return tuple(checked_name(name, what) for name in names)


def checked_name(name: object, what: str) -> str:
    """Return a name; refuse one that a site, a study or a model could not have."""
    text = str(name)
    allowed = all(letter.isalnum() or letter in "-_. @" for letter in text)
    tidy = bool(text.strip()) and text == text.strip() and not text.startswith(".") and len(text) <= _LONGEST
    if not isinstance(name, str) or not tidy or not allowed:
        raise ParameterError(
            f"the name of a {what} is 1 to {_LONGEST} letters, digits, spaces or any of - _ . @, and does not "
            "begin with a point; give another one"
        )
    return text


def checked_whole(value: object, name: str, least: int, most: int) -> int:
    """Return a whole number; refuse one outside `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(f"`{name}` must be a whole number from {least} to {most}; got {value!r}")
    return value


def checked_grid(grid: object) -> str:
    """Return the text of a grid; refuse a large one before it is built, so that no site is made to build it."""
    text = str(grid)
    kind, _, rest = text.partition(":")
    cells = rest.partition(":")[0]
    if kind == "edges":
        fine = len(text) <= _LONGEST_EDGES and re.fullmatch("[-+.,0-9eE]+", rest) is not None
    else:
        fine = len(text) <= _LONGEST and re.fullmatch("[0-9]{1,7}", cells) is not None and int(cells) <= _MOST_CELLS
    if not fine:
        raise ParameterError(
            f"`grid` must look like arcsine:32, uniform:16:-4:4 or edges:0,0.1,1, with at most {_MOST_CELLS:,} cells"
        )
    return text


def checked_unit(unit: object) -> str:
    """Return the unit of a guarantee; refuse an unknown one."""
    if unit not in UNITS:
        raise ParameterError(f"`unit` must be one of {', '.join(UNITS)}; got {unit!r}")
    return str(unit)


def checked_rows_per_person(rows: object, unit: str) -> int:
    """Return the number of rows that a person may have; above 1, persons must be the unit."""
    found = checked_whole(rows, "rows_per_person", 1, _MOST_ROWS_PER_PERSON)
    if found > 1 and unit != "person":
        raise ParameterError("`rows_per_person` above 1 protects persons; give `unit` person with it")
    return found


def checked_purpose(purpose: object) -> str:
    """Return why a question is asked, in one line that is safe to print."""
    text = " ".join(purpose.split()) if isinstance(purpose, str) else ""
    if not text or len(text) > _LONGEST_PURPOSE or not text.isprintable():
        raise ParameterError(f"`purpose` must be a text of 1 to {_LONGEST_PURPOSE} characters; got {purpose!r}")
    return text
