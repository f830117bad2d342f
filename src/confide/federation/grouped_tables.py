"""Groups of neighbouring cells, each with at least q rows of its class: the rule of a minimum cell.

From the lowest cell up, a group is closed as soon as it holds q rows; what is left over at the top joins
the last group. Only groups leave the site, where they start and their rows, and two whole numbers about all its
rows: the sum of scores and, for probabilities, of squared errors, each rounded.

No cell with 1 to q - 1 rows is determined by groups. A group of several cells with c rows arises from every
way to have s of them, 0 <= s < q, in the cells before the one that closed it, and c - s in that one: at
least two values for each of its cells. What can still be inferred: the last cell of each group but the
topmost holds at least one row; a cell that is a group of its own is known, and holds q rows or more; and,
without noise, whoever knows all rows but one finds that one by subtraction.

Exact sums would reveal small cells where scores take few known values: sums of each group mostly, and also sums of all
rows, at a site so large that few cells are small. So sums are rounded to whole numbers. Among simulated tables of 10 to
250,000 rows that hid every small cell; this is no proof. At sites constructed so that, of ten or twenty values of
scores, all but one or two have many rows, 1 to 7 % of these small cells were still revealed, where a sum lay next to a
point at which its rounding changes; with four or six small cells, 0.1 %. A site's exact AUC would reveal far more and
is not sent. This is disclosure control, not differential privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.federation.tables import FRACTION_BITS, MOST_ROWS, IntegerArray, as_float, check_countable, fixed_point
from confide.grid import Grid

MINIMUM = 5
"""Least number of rows of a class in a group, by default (Schalk et al. 2024, principle A1)."""

_SLACK = 1e-9
_HAIR = 1 << 40  # of 2^-64


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Groups:
    """One class: the first cell of each group, and its rows."""

    starts: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of rows of the class."""
        return sum(self.counts)

    def ends(self, cells: int) -> tuple[int, ...]:
        """Return the cell after each group's last."""
        return (*self.starts[1:], cells)

    def to_dict(self) -> dict[str, list[int]]:
        """Return plain data."""
        return {name: list(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DisclosedTable:
    """Everything that leaves a site under disclosure control: groups of both classes, and two sums over all rows.

    `score_sum` is how far scores lie above the grid's lower end, in widths of the whole grid; on [0, 1] that is the sum
    of scores. `squared_error` is the sum of `(label - score)^2`; None on a grid that leaves [0, 1], whose scores are no
    probabilities. Both are rounded to whole numbers.
    """

    grid: Grid
    minimum: int
    positives: Groups
    negatives: Groups
    score_sum: int
    squared_error: int | None

    def __repr__(self) -> str:
        return f"DisclosedTable(<{len(self.grid)} cells>, minimum={self.minimum})"

    @property
    def rows(self) -> int:
        """Number of rows of both classes."""
        return self.positives.rows + self.negatives.rows

    @property
    def expected(self) -> float:
        """Sum of scores, off by at most half the grid's width; for probabilities, the expected positives."""
        low, high = self.grid.edges[[0, -1]].tolist()
        return float(low * self.rows + (high - low) * self.score_sum)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the grid and the minimum are those of the question."""
        both = {"positives": self.positives.to_dict(), "negatives": self.negatives.to_dict()}
        errors = {} if self.squared_error is None else {"squared_error": self.squared_error}
        return {**both, "score_sum": self.score_sum, **errors}

    @classmethod
    def from_dict(cls, plain: object, *, grid: Grid, minimum: int, site: str | None = None) -> DisclosedTable:
        """Read what a site sent; the error of an unusable table names the site only."""
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
        names = {"positives", "negatives", "score_sum"} | ({"squared_error"} if of_probabilities(grid) else set())
        if not isinstance(plain, Mapping) or set(plain) != names:
            raise ValueError
        table = cls(
            grid=grid,
            minimum=minimum,
            positives=_read_groups(plain["positives"], grid, minimum),
            negatives=_read_groups(plain["negatives"], grid, minimum),
            score_sum=plain["score_sum"],
            squared_error=plain.get("squared_error"),
        )
        _check_sums(table)
        return table


def disclosed(counts: ScoreCounts, grid: Grid, minimum: int = MINIMUM) -> DisclosedTable:
    """Return what a site may send of its rows under disclosure control."""
    check_countable(counts, grid)
    check_enough(counts, checked_minimum(minimum))
    scores, low, width = counts.scores, grid.edges[0], grid.edges[-1] - grid.edges[0]
    errors = fixed_point((1.0 - scores) ** 2, counts.positives) + fixed_point(scores**2, counts.negatives)
    return DisclosedTable(
        grid=grid,
        minimum=minimum,
        positives=_groups(counts.scores, counts.positives, grid, minimum),
        negatives=_groups(counts.scores, counts.negatives, grid, minimum),
        score_sum=_rounded(fixed_point((scores - low) / width, counts.positives + counts.negatives)),
        squared_error=_rounded(errors) if of_probabilities(grid) else None,
    )


def of_probabilities(grid: Grid) -> bool:
    """Return whether a grid stays within [0, 1], so that scores count as probabilities."""
    return bool(grid.edges[0] >= 0.0 and grid.edges[-1] <= 1.0)


def grouped(cells: IntegerArray, minimum: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the first cell of each group, and its rows, from the rows of one class in each cell.

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
    """Return rows by class and cell, each group's rows moved to the cell that holds its mean score.

    For tables that are added up before anybody sees them: a cell of the sum then holds no rows, or at
    least `minimum` of one site and class.
    """
    check_countable(counts, grid)
    check_enough(counts, checked_minimum(minimum))
    moved = np.zeros((2, len(grid)), dtype=np.int64)
    for side, rows in enumerate((counts.positives, counts.negatives)):
        groups = _groups(counts.scores, rows, grid, minimum)
        first, last = np.array(groups.starts), np.array(groups.ends(len(grid))) - 1
        means = _group_sums(counts.scores, rows, grid, groups) / np.array(groups.counts)
        np.add.at(moved[side], np.clip(grid.cells(means), first, last), groups.counts)
    return moved


def pair_bounds(positives: Groups, negatives: Groups, cells: int) -> tuple[float, float]:
    """Return how many pairs of a positive and a negative are won for sure, and how many groups leave open."""
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
    return Groups(starts=starts, counts=counts)


def _group_sums(scores: FloatArray, rows: CountArray, grid: Grid, groups: Groups) -> FloatArray:
    """Return the sum of scores in each group, which stays at the site."""
    first = np.searchsorted(scores, grid.edges[np.array(groups.starts)], side="left").tolist()
    runs = pairwise((*first, scores.size))
    return np.array([as_float(fixed_point(scores[low:high], rows[low:high])) for low, high in runs])


def _rounded(value: int) -> int:
    """Round a whole number of 2^-64 to a whole number; halves, and what misses one by a rounding error, up."""
    return (value + (1 << (FRACTION_BITS - 1)) + _HAIR) >> FRACTION_BITS


def _read_groups(plain: object, grid: Grid, minimum: int) -> Groups:
    if not isinstance(plain, Mapping) or set(plain) != set(Groups.__slots__):
        raise ValueError
    starts, counts = plain["starts"], plain["counts"]
    _demand(isinstance(starts, list) and isinstance(counts, list) and 1 <= len(starts) == len(counts) <= len(grid))
    _demand(all(type(value) is int for value in (*starts, *counts)))
    _demand(starts[0] == 0 and starts[-1] < len(grid) and all(one < two for one, two in pairwise(starts)))
    _demand(all(minimum <= count <= MOST_ROWS for count in counts))
    groups = Groups(starts=tuple(starts), counts=tuple(counts))
    _demand(groups.rows >= 2)
    return groups


def _check_sums(table: DisclosedTable) -> None:
    """Refuse sums that no scores inside the groups' cells have, after rounding."""
    _demand(type(table.score_sum) is int)
    positives, negatives = (_ends(side, table.grid) for side in (table.positives, table.negatives))
    low, high = table.grid.edges[[0, -1]]
    both = zip(positives, negatives, strict=True)
    least, most = (float(np.dot(n, one - low) + np.dot(m, two - low)) / (high - low) for (n, one), (m, two) in both)
    _demand(_reached(table.score_sum, least, most, table.rows))
    if of_probabilities(table.grid):
        _demand(type(table.squared_error) is int)
        both = zip(reversed(positives), negatives, strict=True)  # the higher a positive's score, the less its error
        least, most = (float(np.dot(n, (1.0 - one) ** 2) + np.dot(m, two**2)) for (n, one), (m, two) in both)
        _demand(table.squared_error is not None and _reached(table.squared_error, least, most, table.rows))


def _ends(groups: Groups, grid: Grid) -> list[tuple[FloatArray, FloatArray]]:
    """Return the rows of groups with the lowest, and with the highest, score that each may have."""
    counts = np.array(groups.counts, dtype=np.float64)
    return [(counts, grid.edges[np.array(at)]) for at in (groups.starts, groups.ends(len(grid)))]


def _reached(value: int, least: float, most: float, rows: int) -> bool:
    slack = 0.5 + _SLACK * rows
    return least - slack <= value <= most + slack


def _demand(condition: bool) -> None:
    if not condition:
        raise ValueError
