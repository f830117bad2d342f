"""Board of a contest: each participant's best entry, with intervals and ranks that keep ties.

Ranks are about skill in the population: tests of pairs account for masking and sampling, on the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from confide.contest.ranks import pair_variances, ranges, rank_in_blocks
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import Interval

SCHEMA = "confide.contest-board/1"
_CHUNK = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Best scored submission of a participant: its id, its score, and the number of the participant's submissions."""

    name: str
    submission: str
    value: float
    sample: Interval
    population: Interval
    submissions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardEntry:
    """Line of a board."""

    name: str
    submission: str
    value: float
    sample: Interval
    population: Interval
    rank: int
    rank_lowest: int
    rank_highest: int
    submissions: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "rank": self.rank,
            "rank_lowest": self.rank_lowest,
            "rank_highest": self.rank_highest,
            "name": self.name,
            "value": self.value,
            "sample": self.sample.to_dict(),
            "population": self.population.to_dict(),
            "submission": self.submission,
            "submissions": self.submissions,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Entries from the best to the worst value, with the number of scored submissions and the time of the snapshot."""

    terms: ContestTerms
    entries: tuple[BoardEntry, ...]
    scored: int
    as_of: datetime

    @property
    def tie_groups(self) -> tuple[tuple[BoardEntry, ...], ...]:
        """Return the entries that share a rank, from the first rank on."""
        ranked = sorted(self.entries, key=lambda entry: entry.rank)
        return tuple(tuple(group) for _, group in groupby(ranked, key=lambda entry: entry.rank))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "contest": self.terms.name,
            "metric": self.terms.metric.to_dict(),
            "as_of": self.as_of.isoformat(),
            "scored": self.scored,
            "entries": [entry.to_dict() for entry in self.entries],
        }


class Covariance(Protocol):
    """Covariance of the values of entries, by blocks: a board of many entries never holds the matrix of all pairs."""

    @property
    def variances(self) -> FloatArray:
        """Return the variance of each value."""

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the covariance of each value of one range with each value of another."""


@dataclass(frozen=True, eq=False, slots=True)
class MatrixCovariance:
    """Covariance in a matrix. `places` holds the row of each entry, if entries share rows or have another order."""

    matrix: FloatArray
    places: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ParameterError("`matrix` must have one row and one column for each entry")

    @property
    def variances(self) -> FloatArray:
        """Return the variance of each value."""
        diagonal: FloatArray = np.diag(self.matrix)
        return diagonal if self.places is None else diagonal[self.places]

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the covariance of each value of one range with each value of another."""
        if self.places is None:
            return self.matrix[rows, columns]
        part: FloatArray = self.matrix[np.ix_(self.places[rows], self.places[columns])]
        return part


@dataclass(frozen=True, eq=False, slots=True)
class IndependentValues:
    """Covariance of values whose errors are independent, from their variances."""

    variances: FloatArray

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the covariance of each value of one range with each value of another."""
        same = np.arange(rows.start, rows.stop)[:, None] == np.arange(columns.start, columns.stop)
        part: FloatArray = np.where(same, self.variances[rows, None], 0.0)
        return part


class InfluenceCovariance:
    """Covariance of entries' values from their influences. Each block is computed when it is asked for."""

    def __init__(self, influences: Sequence[NDArray[np.floating[Any]]]) -> None:
        self._influences = influences
        self.variances = influence_variances(influences)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the covariance of each value of one range with each value of another."""
        return influence_covariance(self._influences[rows], self._influences[columns])


def make_board(
    terms: ContestTerms, standings: Sequence[Standing], covariance: Covariance, *, scored: int, as_of: datetime
) -> Board:
    """Rank the standings and put them in order.

    `covariance` is that of the standings' values, in their order. Entries with equal values are listed by name; nothing
    depends on the time of a submission.
    """
    variances = covariance.variances
    if variances.shape != (len(standings),):
        raise ParameterError("`covariance` must have one row and one column for each standing")
    goodness = np.array([terms.metric.goodness(one.value) for one in standings])

    def pairs(rows: slice, columns: slice) -> FloatArray:
        return pair_variances(terms.metric, covariance.block(rows, columns), variances[rows], variances[columns])

    ranks = rank_in_blocks(goodness, pairs, level=terms.level)
    order = sorted(range(len(standings)), key=lambda k: (-goodness[k], standings[k].name))
    entries = (
        BoardEntry(
            name=standings[k].name,
            submission=standings[k].submission,
            value=standings[k].value,
            sample=standings[k].sample,
            population=standings[k].population,
            rank=ranks[k].rank,
            rank_lowest=ranks[k].lowest,
            rank_highest=ranks[k].highest,
            submissions=standings[k].submissions,
        )
        for k in order
    )
    return Board(terms=terms, entries=tuple(entries), scored=scored, as_of=as_of)


def influence_covariance(
    influences: Sequence[NDArray[np.floating[Any]]], others: Sequence[NDArray[np.floating[Any]]] | None = None
) -> FloatArray:
    """Return the covariance of entries' values from the influences of the rows, which all have in the same order.

    With `others`, return the covariance of each entry with each of the others. Arrays may lie in files mapped to
    memory: rows are read in chunks.

    >>> influence_covariance([np.array([1.0, -1.0]), np.array([3.0, -3.0])])
    array([[0.5, 1.5],
           [1.5, 4.5]])
    """
    against = influences if others is None else others
    total = np.zeros((len(influences), len(against)))
    rows = influences[0].size if influences else 0
    if any(one.shape != (rows,) for one in (*influences, *against)):
        raise ParameterError("influences must have one number for each row, for the same rows")
    for first in range(0, rows, _CHUNK):
        chunk = _chunk(influences, first)
        total += chunk @ (chunk if others is None else _chunk(against, first)).T
    return total / max(rows, 1) ** 2


def influence_variances(influences: Sequence[NDArray[np.floating[Any]]]) -> FloatArray:
    """Return the variance of each entry's value: the diagonal of `influence_covariance`.

    >>> influence_variances([np.array([1.0, -1.0]), np.array([3.0, -3.0])])
    array([0.5, 4.5])
    """
    parts = [np.diag(influence_covariance(influences[one], influences[one])) for one in ranges(len(influences))]
    return np.concatenate([np.empty(0), *parts])


def _chunk(influences: Sequence[NDArray[np.floating[Any]]], first: int) -> FloatArray:
    return np.array([one[first : first + _CHUNK] for one in influences], dtype=np.float64)
