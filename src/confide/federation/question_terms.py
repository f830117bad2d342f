"""Terms of a question: checks of single terms, calendar periods, and what survives dropouts.

A question that allows fewer sites than it names (`fewest`) states a threshold t. Of n sites, any t can together take
the masks off a sum after others dropped out (`crypto.recovery`). It is the smallest number with 2t > n + colluders: a
dishonest server with so many colluding sites can then neither take apart an answer nor get two sums out of a question.
A sum needs `left` = max(fewest, t) answers. In private mode shares of the noise are sized for `left` sites: they are
enough whoever drops out.

With `fewest` equal to the number of sites there is no threshold: a sum needs all of them, and the masks hold against
any number of colluders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.privacy.guarantee import UNITS

if TYPE_CHECKING:
    from confide.federation.question import Question

FEWEST_MASKED = 3
"""Least number of sites in a masked sum: of two, each could subtract its own part."""

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


PERIODS = ("month", "quarter", "year")

_IN_A_YEAR = {"month": 12, "quarter": 4, "year": 1}
_YEARS = range(2000, 2200)
"""Years whose periods name editions. No number of one kind of period is a number of another kind in these years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A month, a quarter or a year. `number` grows by one with each period, and never repeats."""

    kind: str
    number: int

    @classmethod
    def at(cls, kind: str, time: datetime) -> Period:
        """Return the period in which a time lies.

        >>> Period.at("quarter", datetime(2026, 11, 17, tzinfo=UTC)).name
        '2026-q4'
        """
        day = time.astimezone(UTC)
        numbers = {"month": 12 * day.year + day.month - 1, "quarter": 4 * day.year + (day.month - 1) // 3}
        return cls(kind=checked_period(kind), number=numbers.get(kind, day.year))

    @classmethod
    def of_edition(cls, edition: int) -> Period | None:
        """Return the period that the number of an edition stands for; None for editions that a person numbered.

        >>> Period.of_edition(24322).name
        '2026-11'
        """
        for kind, parts in _IN_A_YEAR.items():
            if edition // parts in _YEARS:
                return cls(kind=kind, number=edition)
        return None

    @property
    def in_a_year(self) -> int:
        """Number of such periods in a year."""
        return _IN_A_YEAR[self.kind]

    @property
    def name(self) -> str:
        """Name of the period, which sorts by time."""
        if self.kind == "month":
            return f"{self.number // 12}-{self.number % 12 + 1:02d}"
        return f"{self.number // 4}-q{self.number % 4 + 1}" if self.kind == "quarter" else str(self.number)


def edition_name(edition: int) -> str:
    """Return the period of an edition of a study that recurs, or else the number of the edition.

    >>> edition_name(24322), edition_name(2)
    ('2026-11', '2')
    """
    period = Period.of_edition(edition)
    return str(edition) if period is None else period.name


def edition_words(edition: int) -> str:
    """Return the name of an edition, with its number if that is another.

    >>> edition_words(24322)
    '2026-11 (number 24322)'
    """
    name = edition_name(edition)
    return name if name == str(edition) else f"{name} (number {edition})"


def next_edition_words(edition: int) -> str:
    """Return how to ask for the edition after this one.

    >>> next_edition_words(24322)
    'in the next month (`every=month`), as a new edition'
    """
    period = Period.of_edition(edition)
    if period is None:
        return f"as a new edition (`edition={edition + 1}`)"
    return f"in the next {period.kind} (`every={period.kind}`), as a new edition"


def checked_period(kind: object) -> str:
    """Return a kind of period; refuse others."""
    if kind not in PERIODS:
        raise ParameterError(f"a period is one of {', '.join(PERIODS)}; got {kind!r}")
    return str(kind)


def default_colluders(sites: int) -> int:
    """Return the largest number that is fewer than half of the sites."""
    return max((sites - 1) // 2, 0)


def with_threshold(question: Question, given: int | None, *, masked: bool) -> Question:
    """Return the question with its threshold: the one that was given, or the smallest that is safe."""
    if not masked:
        if given is not None:
            raise ParameterError(f"`threshold` is for modes that mask; leave it out in mode {question.mode}")
        return question
    sites, fewest = len(question.sites), question.fewest
    if given is not None:
        return replace(question, threshold=checked_whole(given, "threshold", 0, sites))
    if not isinstance(fewest, int) or fewest >= sites:
        return replace(question, threshold=0)
    colluders = question.colluders
    if colluders is None:  # two honest sites must be left in an exact sum
        colluders = min(default_colluders(sites), max(fewest - 2, 0))
    least = (sites + colluders) // 2 + 1 if isinstance(colluders, int) else sites
    if max(least, fewest) >= sites:
        return replace(question, threshold=0)
    return replace(question, threshold=least, colluders=colluders)


def check_fewest(question: Question, least: int) -> None:
    """Refuse a `fewest` with which a mode that needs at least `least` sites could not go on."""
    fewest, sites = question.fewest, len(question.sites)
    if isinstance(fewest, int) and not isinstance(fewest, bool) and least <= fewest <= sites:
        return
    if least < sites:
        raise ParameterError(
            f"mode {question.mode} can go on with {least} to {sites} of these sites; got {fewest!r} for `fewest`"
        )
    needed = f"all {sites} of these sites" if least == sites else f"at least {least} sites, not {sites}"
    raise ParameterError(
        f"mode {question.mode} needs {needed}; got {fewest!r} for `fewest`. Leave it out, or ask more sites"
    )


def check_threshold(question: Question) -> None:
    """Refuse a threshold at which a dishonest server could take answers apart, or one that no sum could reach."""
    threshold, sites = question.threshold, len(question.sites)
    if threshold and not (sites + (question.colluders or 0) < 2 * threshold <= 2 * sites):
        raise ParameterError(
            f"`threshold` must be more than half of {sites} sites and {question.colluders or 0} colluders together, "
            f"and at most {sites}; got {threshold}"
        )


def recovery_terms(question: Question) -> dict[str, Any]:
    """Return the terms of recovery that a sum depends on; none if it needs every site."""
    if not question.threshold:
        return {}
    return {"threshold": question.threshold, "left": question.left, "colluders": question.colluders}


def in_words(question: Question) -> tuple[str, ...]:
    """Return what sites that drop out change about the promise, in sentences."""
    if not question.threshold:
        return ()
    return (
        f"The sum is still read if sites drop out, over at least {question.left} of them: any {question.threshold} can "
        f"then take masks off together. Masks hold against {colluding_sites(question.colluders or 0)}, not against "
        "more.",
    )


def colluding_sites(number: int) -> str:
    """Return a number of sites that collude, in words.

    >>> colluding_sites(1), colluding_sites(2)
    ('1 colluding site', '2 colluding sites')
    """
    return f"{number} colluding site{'' if number == 1 else 's'}"
