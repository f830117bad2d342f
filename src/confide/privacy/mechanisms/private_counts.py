"""Counts of positives and negatives in the cells of a public grid.

A confusion matrix is the case of two cells. Proof: private_counts.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.counts import ScoreCounts
from confide.grid import Grid
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.mechanisms.strategies import FLAT, Strategy
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery

Cells = NDArray[np.int64]


def cells_above(counts: ScoreCounts, threshold: float) -> Cells:
    """Positives and negatives below and at or above a threshold: `[[fn, tp], [tn, fp]]`."""
    counted_rows(counts)
    first = int(np.searchsorted(counts.scores, threshold, side="left"))
    return np.array(
        [[column[:first].sum(), column[first:].sum()] for column in (counts.positives, counts.negatives)],
        dtype=np.int64,
    )


def cells_on(counts: ScoreCounts, grid: Grid) -> Cells:
    """Positives (first row) and negatives (second) in each cell of a grid."""
    counted_rows(counts)
    where = grid.cells(counts.scores)
    cells = np.zeros((2, len(grid)), dtype=np.int64)
    np.add.at(cells[0], where, counts.positives)
    np.add.at(cells[1], where, counts.negatives)
    return cells


def private_counts(cells: Cells, epsilon: Fraction, neighbours: Neighbours, strategy: Strategy = FLAT) -> IntegerQuery:
    """Query every integer of a strategy, by default every count, with discrete Laplace noise.

    A row moves one integer of each level by 1. Replace-one takes one row out and puts another in: scale
    `2 levels/epsilon`. Add-remove-one: `levels/epsilon`. Under label-only the scores are public, so only
    the positives are asked for, which gain or lose one row: `levels/epsilon`.
    """
    scale = _rows_changed(neighbours) * strategy.levels(cells.shape[1]) / epsilon
    values = _asked(cells, neighbours, strategy)
    return IntegerQuery(values=values, scales=(scale,) * len(values))


def concentrated_counts(cells: Cells, rho: Fraction, neighbours: Neighbours, strategy: Strategy = FLAT) -> IntegerQuery:
    """Query every integer of a strategy with discrete Gaussian noise, for the concentrated guarantee rho.

    The squared differences add up to at most `2 levels` under replace-one and to `levels` otherwise:
    `rho = differences / (2 scale^2)`, and the scale is rounded up to a fraction.
    """
    from confide.privacy.noise.reals import upper_sqrt

    scale = upper_sqrt(_rows_changed(neighbours) * strategy.levels(cells.shape[1]) / (2 * rho))
    values = _asked(cells, neighbours, strategy)
    return IntegerQuery(values=values, scales=(scale,) * len(values), family="gaussian")


def _rows_changed(neighbours: Neighbours) -> int:
    return 2 if neighbours == Neighbours.REPLACE_ONE else 1


def _asked(cells: Cells, neighbours: Neighbours, strategy: Strategy) -> tuple[int, ...]:
    classes = cells[:1] if neighbours == Neighbours.LABEL_ONLY else cells
    return tuple(strategy.measure(classes).ravel().tolist())
