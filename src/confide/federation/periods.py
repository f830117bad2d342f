"""Calendar periods, in UTC, for allowances of sites and for studies that recur."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from confide.errors import ParameterError

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
