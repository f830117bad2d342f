"""Brier score from sums of squared errors in whole units.

Proof: squared_error.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from confide.counts import ScoreCounts
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery

UNITS = 2**20
"""A squared error of 1 is this many units."""

SPREAD_SHARE = Fraction(1, 10)
"""The share of epsilon that goes to the sum of squares, from which the population's interval is made."""

ROWS_SHARE = Fraction(1, 5)
"""Under add-remove-one, the share that goes to the number of rows."""


def squared_error(counts: ScoreCounts, epsilon: Fraction, neighbours: Neighbours) -> IntegerQuery:
    """Query the sum of squared errors and of their squares, in units; under add-remove-one also the rows.

    Scores are cut to [0, 1] first, so no score outside gives itself away by an error.
    """
    positives, negatives = counted_rows(counts)
    score = np.clip(counts.scores, 0.0, 1.0)
    total = squares = 0
    for rows, error in ((counts.positives, (1.0 - score) ** 2), (counts.negatives, score**2)):
        units = np.rint(error * UNITS).astype(np.int64)
        total += _dot(rows, units)
        squares += _dot(rows, (units * units + UNITS // 2) // UNITS)
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        main = 1 - SPREAD_SHARE - ROWS_SHARE
        return IntegerQuery(
            values=(total, squares, positives + negatives),
            scales=(UNITS / (main * epsilon), UNITS / (SPREAD_SHARE * epsilon), 1 / (ROWS_SHARE * epsilon)),
        )
    main = 1 - SPREAD_SHARE
    return IntegerQuery(values=(total, squares), scales=(UNITS / (main * epsilon), UNITS / (SPREAD_SHARE * epsilon)))


def _dot(rows: np.ndarray[tuple[int], np.dtype[np.int64]], units: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """An exact sum of products; rows are at most 2^30 in all and a row has at most 2^20 units."""
    return int(np.dot(rows, units))
