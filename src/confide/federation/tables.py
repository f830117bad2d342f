"""Tables that sites send: counts on a public grid, exact or in groups of rows.

Sums of scores are kept as whole numbers of 2^-64, so that the sum over sites does not depend on their
order and can be masked: each score, and each square as a double, is rounded to that once.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts, read_only
from confide.errors import DataError, ParameterError, ScoreError, WeightError
from confide.grid import Grid

BINS = 10
"""Default number of bins of equal width on [0, 1] for the calibration curve."""

WIDE_BITS = 128
FRACTION_BITS = 64
_LIMBS = (0, 22, 22, 20)  # bits taken off a score at a time: a sum of so many bits over 2^40 rows fits 64 bits
_FARTHEST = 1024.0
MOST_ROWS = 2**40

IntegerArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class SiteTable:
    """Positives (first) and negatives on the cells of a public grid, with sums of scores.

    `cells` counts rows by class and cell, `bin_rows` by class and calibration bin; `bin_sums` are the sums of
    scores by class and bin, `sums` and `squares` those of scores and of squared scores by class, as whole
    numbers of 2^-64. `ends` counts rows with a score of exactly 0, and of exactly 1, whose log-odds are infinite. Bins,
    ends and Brier scores are for probabilities. The grid, which is public, decides whether scores are probabilities,
    never the data. On a grid that leaves [0, 1] bins and ends stay empty.

    Adding two tables adds the data that they were made from. The text form shows nothing of the data.
    """

    grid: Grid
    bins: int
    cells: IntegerArray
    bin_rows: IntegerArray
    bin_sums: tuple[int, ...]
    sums: tuple[int, int]
    squares: tuple[int, int]
    ends: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", read_only(np.ascontiguousarray(self.cells, dtype=np.int64)))
        object.__setattr__(self, "bin_rows", read_only(np.ascontiguousarray(self.bin_rows, dtype=np.int64)))

    @classmethod
    def of(cls, counts: ScoreCounts, grid: Grid, bins: int = BINS) -> SiteTable:
        """Count on a grid that holds every score; a score outside it cannot be counted exactly and is refused."""
        checked_layout(grid, bins)
        check_countable(counts, grid)
        scores, both = counts.scores, (counts.positives, counts.negatives)
        starts, cells = _bin_starts(scores, grid, bins), _cell_starts(scores, grid)
        return cls(
            grid=grid,
            bins=bins,
            cells=np.stack([_between(side, cells) for side in both]),
            bin_rows=np.stack([_between(side, starts) for side in both]),
            bin_sums=tuple(
                fixed_point(scores[low:high], side[low:high])
                for side in both
                for low, high in pairwise(starts.tolist())
            ),
            sums=(fixed_point(scores, both[0]), fixed_point(scores, both[1])),
            squares=(fixed_point(scores**2, both[0]), fixed_point(scores**2, both[1])),
            ends=(_rows_at(counts, 0.0), _rows_at(counts, 1.0)) if _probabilities(grid) else (0, 0),
        )

    def __add__(self, other: object) -> SiteTable:
        if isinstance(other, int) and other == 0:  # so that sum(tables) works
            return self
        if not isinstance(other, SiteTable):
            return NotImplemented
        if self.grid != other.grid or self.bins != other.bins:
            raise ParameterError("tables on different grids or bins do not add up; count on the same ones")
        return SiteTable(
            grid=self.grid,
            bins=self.bins,
            cells=self.cells + other.cells,
            bin_rows=self.bin_rows + other.bin_rows,
            bin_sums=tuple(one + two for one, two in zip(self.bin_sums, other.bin_sums, strict=True)),
            sums=(self.sums[0] + other.sums[0], self.sums[1] + other.sums[1]),
            squares=(self.squares[0] + other.squares[0], self.squares[1] + other.squares[1]),
            ends=(self.ends[0] + other.ends[0], self.ends[1] + other.ends[1]),
        )

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SiteTable):
            return NotImplemented
        same = (self.grid, self.bins, self.bin_sums, self.sums, self.squares, self.ends) == (
            other.grid,
            other.bins,
            other.bin_sums,
            other.sums,
            other.squares,
            other.ends,
        )
        return same and np.array_equal(self.cells, other.cells) and np.array_equal(self.bin_rows, other.bin_rows)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and too large to hash

    def __repr__(self) -> str:
        return f"SiteTable(<private>, cells={len(self.grid)}, bins={self.bins})"

    @property
    def probabilities(self) -> bool:
        """True if the grid stays within [0, 1], so that scores count as probabilities."""
        return _probabilities(self.grid)

    def counts(self) -> ScoreCounts:
        """Return the rows at the middles of their cells: rankings are exact if no cell holds both classes."""
        used = self.cells.sum(axis=0) > 0
        return ScoreCounts(self.grid.representatives[used], self.cells[0, used], self.cells[1, used])

    def to_words(self) -> tuple[NDArray[np.uint64], tuple[int, ...]]:
        """Return the numbers that are masked: counts modulo 2^64, and sums modulo 2^128 in two's complement."""
        wide = (*self.bin_rows.ravel().tolist(), *self.bin_sums, *self.ends, *self.sums, *self.squares)
        return self.cells.ravel().astype(np.uint64), tuple(value % (1 << WIDE_BITS) for value in wide)

    @classmethod
    def from_words(cls, grid: Grid, bins: int, words: NDArray[Any], wide: Sequence[int]) -> SiteTable:
        """Read what `to_words` wrote, or the sum of several; refuse numbers that no table has."""
        checked_layout(grid, bins)
        if np.shape(words) != (2 * len(grid),) or len(wide) != wide_values(bins):
            raise DataError("the sum of the sites' answers does not have the length of the table that was asked for")
        if not all(type(value) is int and 0 <= value < 1 << WIDE_BITS for value in wide):
            raise DataError("the sums of the sites' answers are not whole numbers modulo 2^128")
        signed = [value - (1 << WIDE_BITS) if value >> (WIDE_BITS - 1) else value for value in wide]
        if any(not 0 <= value <= MOST_ROWS for value in signed[: 2 * bins]):
            raise DataError(_IMPOSSIBLE)
        table = cls(
            grid=grid,
            bins=bins,
            cells=np.asarray(words).astype(np.int64).reshape(2, -1),  # above 2^63 it turns negative, and is refused
            bin_rows=np.array(signed[: 2 * bins], dtype=np.int64).reshape(2, -1),
            bin_sums=tuple(signed[2 * bins : 4 * bins]),
            sums=(signed[-4], signed[-3]),
            squares=(signed[-2], signed[-1]),
            ends=(signed[-6], signed[-5]),
        )
        _check_possible(table)
        return table


def wide_values(bins: int = BINS) -> int:
    """Return the number of wide values: rows and sums by class and bin, rows at ends, sums and squares by class."""
    return 4 * bins + 6


def check_countable(counts: ScoreCounts, grid: Grid) -> None:
    """Refuse rows that cannot be counted exactly: with weights, too many, or with a score outside the grid."""
    if counts.weighted:
        raise WeightError("sites count whole rows; leave weights out")
    if counts.total_positives + counts.total_negatives > MOST_ROWS:
        raise WeightError("there are more rows than can be added exactly; validate on fewer")
    scores = counts.scores
    if scores.size and not (scores[0] >= grid.edges[0] and scores[-1] <= grid.edges[-1]):
        raise ScoreError(
            f"a score lies outside the question's grid, which runs from {grid.edges[0]:g} to {grid.edges[-1]:g}; "
            "give probabilities, or ask on a grid that holds every score"
        )


def checked_layout(grid: Grid, bins: int) -> None:
    """Refuse a grid or a number of bins on which sums could not be added exactly."""
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= 1_000:
        raise ParameterError(f"bins must be a whole number from 1 to 1,000, got {bins!r}")
    if np.abs(grid.edges[[0, -1]]).max() > _FARTHEST:
        raise ParameterError(f"a grid must run between -{_FARTHEST:g} and {_FARTHEST:g}; rescale the scores")


def fixed_point(values: FloatArray, weights: CountArray) -> int:
    """Return `sum weights * values` as a whole number of 2^-64, each value rounded to that; weights are whole.

    Values are taken apart into pieces of few bits, exactly, so that each piece's sum fits 64 bits.
    """
    rest = np.asarray(values, dtype=np.float64)
    total = 0
    for bits in _LIMBS:
        rest = rest * 2.0**bits
        piece = np.rint(rest) if bits == _LIMBS[-1] else np.trunc(rest)
        total = (total << bits) + int(np.dot(weights, piece.astype(np.int64)))
        rest = rest - piece
    return total


def as_float(value: int) -> float:
    """Return a whole number of 2^-64 as the nearest float."""
    return value / (1 << FRACTION_BITS)


def _probabilities(grid: Grid) -> bool:
    return bool(grid.edges[0] >= 0.0 and grid.edges[-1] <= 1.0)


def _bin_starts(scores: FloatArray, grid: Grid, bins: int) -> NDArray[np.intp]:
    """Return where each bin begins and the last one ends, which is closed; all are empty without probabilities."""
    if not _probabilities(grid):
        return np.zeros(bins + 1, dtype=np.intp)
    return np.append(np.searchsorted(scores, np.arange(bins) / bins, side="left"), scores.size)


def _cell_starts(scores: FloatArray, grid: Grid) -> NDArray[np.intp]:
    """Return where each cell begins and the last one ends."""
    return np.append(np.searchsorted(scores, grid.edges[:-1], side="left"), scores.size)


def _between(side: CountArray, starts: NDArray[np.intp]) -> IntegerArray:
    """Return sums over consecutive runs, some of them empty."""
    through = np.concatenate(([0], np.cumsum(side, dtype=np.int64)))
    return np.diff(through[starts])


def _rows_at(counts: ScoreCounts, score: float) -> int:
    """Return the number of rows of both classes with exactly this score."""
    here = counts.scores == score
    return int(counts.positives[here].sum() + counts.negatives[here].sum())


_IMPOSSIBLE = "the sum of the sites' answers is not a table of counts; run the validation again"


def _check_possible(table: SiteTable) -> None:
    """Refuse numbers that no rows have, as unmasking with a wrong key gives."""
    rows = table.cells.sum(axis=1)
    good = bool((table.cells >= 0).all() and table.cells.max() <= MOST_ROWS and rows.max() <= MOST_ROWS)
    sums = [sum(table.bin_sums[: table.bins]), sum(table.bin_sums[table.bins :])]
    if table.probabilities:
        good = good and np.array_equal(table.bin_rows.sum(axis=1), rows) and sums == list(table.sums)
    else:
        good = good and not table.bin_rows.any() and not any(table.bin_sums)
    good = good and all(0 <= at <= most for at, most in zip(table.ends, _most_at_ends(table), strict=True))
    low, high = (float(end) for end in table.grid.edges[[0, -1]])
    for side in (0, 1):
        size = int(rows[side])
        good = good and _within(table.sums[side], low * size, high * size, size)
        most = max(low * low, high * high) * size
        good = good and table.squares[side] >= 0 and _within(table.squares[side], 0.0, most, size)
    if not good:
        raise DataError(_IMPOSSIBLE)


def _most_at_ends(table: SiteTable) -> tuple[int, int]:
    """Return how many rows can have a score of exactly 0, and of exactly 1: those of the cell there, if any."""
    lowest, highest = (int(table.cells[:, cell].sum()) for cell in (0, -1))
    low, high = table.grid.edges[[0, -1]]
    return (lowest if table.probabilities and low == 0.0 else 0), (
        highest if table.probabilities and high == 1.0 else 0
    )


def _within(value: int, low: float, high: float, rows: int) -> bool:
    slack = 1e-9 * (1.0 + abs(low) + abs(high)) + rows * 2.0**-FRACTION_BITS
    return low - slack <= as_float(value) <= high + slack


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
