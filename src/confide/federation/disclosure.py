"""The rule of a minimum cell: neighbouring cells are put together until each group has at least q rows of its class.

From the lowest cell up, a group is closed as soon as it holds q rows; what is left over at the top joins
the last group. Only groups leave the site: where they start, their rows, and their sums of scores and of squares.
This suppresses small cells and, since no finer total is sent, everything that would give them away.

No cell with 1 to q - 1 rows is determined by groups. A group of several cells with c rows arises from every
way to have s of them, 0 <= s < q, in the cells before the one that closed it, and c - s in that one: at
least two values for each of its cells. What can still be inferred: the last cell of each group but the
topmost holds at least one row; a cell that is a group of its own is known, and holds q rows or more; and,
without noise, whoever knows all rows but one finds that one by subtraction. Sums of scores are about q rows or more
too, but they are exact: where scores take few known values they can settle what the groups leave open. A site's
exact AUC would settle far more, so it is not sent: it is estimated from the groups, by which little is lost. This
is disclosure control, not differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.federation.tables import MOST_ROWS, IntegerArray, as_float, check_countable, fixed_point
from confide.grid import Grid

MINIMUM = 5
"""The rows of a class that a group has at least, by default (Schalk et al. 2024, principle A1)."""

_SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """One class: the first cell of each group, its rows, and its sums of scores and of squared scores."""

    starts: tuple[int, ...]
    counts: tuple[int, ...]
    sums: tuple[float, ...]
    squares: tuple[float, ...]

    @property
    def rows(self) -> int:
        """The rows of the class."""
        return sum(self.counts)

    def ends(self, cells: int) -> tuple[int, ...]:
        """The cell after each group's last."""
        return (*self.starts[1:], cells)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain data."""
        return {name: list(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DisclosedTable:
    """What leaves a site under disclosure control: groups of both classes."""

    grid: Grid
    minimum: int
    positives: Groups
    negatives: Groups

    def __repr__(self) -> str:
        return f"DisclosedTable(<{len(self.grid)} cells>, minimum={self.minimum})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the grid and the minimum are those of the question."""
        return {"positives": self.positives.to_dict(), "negatives": self.negatives.to_dict()}

    @classmethod
    def from_dict(cls, plain: object, *, grid: Grid, minimum: int, site: str | None = None) -> DisclosedTable:
        """Read what a site sent. Whatever is not such a table as was asked for is refused, naming the site only."""
        try:
            table = cls._read(plain, grid, checked_minimum(minimum))
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            if isinstance(error, ParameterError):
                raise
            who = "a site" if site is None else f"site {site!r}"
            raise DataError(
                f"the answer of {who} is not a table of groups as asked for; install the same version of confide "
                "there, and look at the site's log"
            ) from None
        return table

    @classmethod
    def _read(cls, plain: object, grid: Grid, minimum: int) -> DisclosedTable:
        if not isinstance(plain, Mapping) or set(plain) != {"positives", "negatives"}:
            raise ValueError
        return cls(
            grid=grid,
            minimum=minimum,
            positives=_read_groups(plain["positives"], grid, minimum),
            negatives=_read_groups(plain["negatives"], grid, minimum),
        )


def disclosed(counts: ScoreCounts, grid: Grid, minimum: int = MINIMUM) -> DisclosedTable:
    """What a site may send of its rows under disclosure control."""
    check_countable(counts, grid)
    check_enough(counts, checked_minimum(minimum))
    return DisclosedTable(
        grid=grid,
        minimum=minimum,
        positives=_groups(counts.scores, counts.positives, grid, minimum),
        negatives=_groups(counts.scores, counts.negatives, grid, minimum),
    )


def grouped(cells: IntegerArray, minimum: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first cell of each group and its rows, for the rows of one class in each cell.

    >>> grouped(np.array([0, 3, 4, 0, 9, 1, 2]), 5)
    ((0, 3), (7, 12))
    """
    starts, held = [0], 0
    for cell, here in enumerate(cells.tolist()):
        held += here
        if held >= minimum and cell + 1 < cells.size:
            starts.append(cell + 1)
            held = 0
    if held < minimum and len(starts) > 1:
        starts.pop()
    return tuple(starts), tuple(np.add.reduceat(cells, starts).tolist())


def grouped_counts(counts: ScoreCounts, grid: Grid, minimum: int) -> IntegerArray:
    """Rows by class and cell, each group's rows moved to the cell that holds its mean score.

    For tables that are added up before anybody sees them: a cell of the sum then holds no rows, or at
    least `minimum` of one site and class.
    """
    check_countable(counts, grid)
    check_enough(counts, checked_minimum(minimum))
    moved = np.zeros((2, len(grid)), dtype=np.int64)
    for side, rows in enumerate((counts.positives, counts.negatives)):
        groups = _groups(counts.scores, rows, grid, minimum)
        means = np.array(groups.sums) / np.array(groups.counts)
        first, last = np.array(groups.starts), np.array(groups.ends(len(grid))) - 1
        np.add.at(moved[side], np.clip(grid.cells(means), first, last), groups.counts)
    return moved


def pair_bounds(positives: Groups, negatives: Groups, cells: int) -> tuple[float, float]:
    """How many pairs of a positive and a negative are won for sure, and how many are open, from groups alone."""
    counts = np.array(positives.counts, dtype=np.float64)
    below = np.concatenate(([0.0], np.cumsum(negatives.counts, dtype=np.float64)))
    ends, starts = np.array(negatives.ends(cells)), np.array(negatives.starts)
    surely = below[np.searchsorted(ends, np.array(positives.starts), side="right")]
    possibly = below[np.searchsorted(starts, np.array(positives.ends(cells)), side="left")]
    return float(np.dot(counts, surely)), float(np.dot(counts, possibly - surely))


def check_enough(counts: ScoreCounts, minimum: int) -> None:
    """Refuse a class with fewer rows than a group must have."""
    if counts.total_positives < minimum or counts.total_negatives < minimum:
        raise DataError(
            f"the rule of at least {minimum} rows of each class is not met here, so nothing may leave this site; "
            "take part in the private mode, or with more rows"
        )


def checked_minimum(minimum: int) -> int:
    """Refuse a minimum that is no whole number of at least 1."""
    if isinstance(minimum, bool) or not isinstance(minimum, int) or not 1 <= minimum <= MOST_ROWS:
        raise ParameterError(f"minimum must be a whole number of at least 1, got {minimum!r}")
    return minimum


def _groups(scores: FloatArray, rows: CountArray, grid: Grid, minimum: int) -> Groups:
    first = np.append(np.searchsorted(scores, grid.edges[:-1], side="left"), scores.size)
    through = np.concatenate(([0], np.cumsum(rows, dtype=np.int64)))
    starts, counts = grouped(np.diff(through[first]), minimum)
    runs = [(int(first[low]), int(first[high])) for low, high in pairwise((*starts, len(grid)))]
    return Groups(
        starts=starts,
        counts=counts,
        sums=tuple(as_float(fixed_point(scores[low:high], rows[low:high])) for low, high in runs),
        squares=tuple(as_float(fixed_point(scores[low:high] ** 2, rows[low:high])) for low, high in runs),
    )


def _read_groups(plain: object, grid: Grid, minimum: int) -> Groups:
    if not isinstance(plain, Mapping) or set(plain) != set(Groups.__slots__):
        raise ValueError
    columns = [plain[name] for name in Groups.__slots__]
    _demand(all(isinstance(column, list) and 1 <= len(column) <= len(grid) for column in columns))
    _demand(len({len(column) for column in columns}) == 1)
    _demand(all(type(value) is int for column in columns[:2] for value in column))
    starts, counts = columns[0], columns[1]
    _demand(starts[0] == 0 and starts[-1] < len(grid) and all(one < two for one, two in pairwise(starts)))
    _demand(all(minimum <= count <= MOST_ROWS for count in counts))
    groups = Groups(
        starts=tuple(starts),
        counts=tuple(counts),
        sums=tuple(_number(value) for value in columns[2]),
        squares=tuple(_number(value) for value in columns[3]),
    )
    _demand(groups.rows >= 2)
    _check_moments(groups, grid)
    return groups


def _check_moments(groups: Groups, grid: Grid) -> None:
    """See that sums and squares are those of so many scores inside the group's cells."""
    count, total, square = (np.array(each, dtype=np.float64) for each in (groups.counts, groups.sums, groups.squares))
    low, high = grid.edges[np.array(groups.starts)], grid.edges[np.array(groups.ends(len(grid)))]
    slack = _SLACK * count * max(1.0, float(np.abs(grid.edges[[0, -1]]).max())) ** 2
    _demand(bool(((count * low - slack <= total) & (total <= count * high + slack)).all()))
    # Scores between low and high have (s - low)(high - s) >= 0, so squares are at most (low + high) s - low high.
    most = (low + high) * total - count * low * high
    _demand(bool(((total * total / count - slack <= square) & (square <= most + slack)).all()))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _demand(condition: bool) -> None:
    if not condition:
        raise ValueError
