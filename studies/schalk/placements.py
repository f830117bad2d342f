"""Placement moments: what sites would add up for DeLong's variance if only survivor functions were shared.

A positive's placement value is the share of all sites' negatives below it, a negative's the share of all
sites' positives above it, ties counting half. Sums of these and of their squares add over sites, and
the variance of the pooled AUC follows from them (DeLong et al. 1988; Schalk et al. 2024, equation 3).
Numerators are kept as whole numbers, so that nothing is lost in the differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.errors import DataError, ParameterError
from confide.federation.tables import IntegerArray, SiteTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementMoments:
    """Of each class, positives first: rows, sums and sums of squares of twice the pairs won against the other class.

    `rivals` is how many rows the pooled other class has; two moments add up if these agree.
    """

    rows: tuple[int, int]
    sums: tuple[int, int]
    squares: tuple[int, int]
    rivals: tuple[int, int]

    def __add__(self, other: PlacementMoments) -> PlacementMoments:
        if self.rivals != other.rivals:
            raise ParameterError("placement moments add up only if they were taken against the same pooled table")
        return PlacementMoments(
            rows=(self.rows[0] + other.rows[0], self.rows[1] + other.rows[1]),
            sums=(self.sums[0] + other.sums[0], self.sums[1] + other.sums[1]),
            squares=(self.squares[0] + other.squares[0], self.squares[1] + other.squares[1]),
            rivals=self.rivals,
        )

    @property
    def auc(self) -> float:
        """Return the mean placement value of the positives, once all sites were added."""
        self._check_complete()
        return float(Fraction(self.sums[0], 2 * self.rows[0] * self.rivals[0]))

    @property
    def auc_variance(self) -> float:
        """Return DeLong's variance of the pooled AUC, once all sites were added."""
        self._check_complete()
        if min(self.rows) < 2:
            raise DataError("a variance needs at least two rows of each class; add rows, or report the value alone")
        parts = zip(self.rows, self.sums, self.squares, self.rivals, strict=True)
        return float(sum(Fraction(n * ss - s * s, n * n * (n - 1) * (2 * m) ** 2) for n, s, ss, m in parts))

    def _check_complete(self) -> None:
        if (self.rivals[1], self.rivals[0]) != self.rows or 0 in self.rows:
            raise DataError("placement moments say something of the pooled AUC only when all sites were added")


def placement_moments(table: SiteTable, pooled: SiteTable) -> PlacementMoments:
    """Return one site's moments, given the table of all sites; ties within a cell count half."""
    if table.grid != pooled.grid:
        raise ParameterError("placement values need both tables on one grid")
    ours, theirs = pooled.cells
    below = 2 * np.cumsum(theirs) - theirs
    above = 2 * (ours.sum() - np.cumsum(ours)) + ours
    found = [_moments(side, twice) for side, twice in zip(table.cells, (below, above), strict=True)]
    return PlacementMoments(
        rows=(int(table.cells[0].sum()), int(table.cells[1].sum())),
        sums=(found[0][0], found[1][0]),
        squares=(found[0][1], found[1][1]),
        rivals=(int(theirs.sum()), int(ours.sum())),
    )


def _moments(side: IntegerArray, twice: IntegerArray) -> tuple[int, int]:
    used = np.flatnonzero(side)
    counts, values = side[used].tolist(), twice[used].tolist()  # whole numbers without end: squares of pairs are large
    first = sum(count * value for count, value in zip(counts, values, strict=True))
    return first, sum(count * value * value for count, value in zip(counts, values, strict=True))
