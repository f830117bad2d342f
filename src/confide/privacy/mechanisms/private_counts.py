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


def private_counts(cells: Cells, epsilon: Fraction, neighbours: Neighbours) -> IntegerQuery:
    """Ask for every count with discrete Laplace noise.

    Replace-one takes one row out of a count and puts it into another: scale `2/epsilon`.
    Add-remove-one touches one count: `1/epsilon`. Under label-only the scores are public, so only
    the positives of each cell are asked for, of which one changes by 1: `1/epsilon`.
    """
    asked = cells[0] if neighbours == Neighbours.LABEL_ONLY else cells
    scale = (2 if neighbours == Neighbours.REPLACE_ONE else 1) / epsilon
    values = tuple(int(value) for value in asked.ravel())
    return IntegerQuery(values=values, scales=(scale,) * len(values))


def concentrated_counts(cells: Cells, rho: Fraction, neighbours: Neighbours) -> IntegerQuery:
    """Ask for every count with discrete Gaussian noise, for the concentrated guarantee rho.

    The squared differences add up to 2 under replace-one and to 1 otherwise:
    `rho = differences / (2 scale^2)`, and the scale is rounded up to a fraction.
    """
    from confide.privacy.noise.reals import upper_sqrt

    asked = cells[0] if neighbours == Neighbours.LABEL_ONLY else cells
    scale = upper_sqrt((2 if neighbours == Neighbours.REPLACE_ONE else 1) / (2 * rho))
    values = tuple(int(value) for value in asked.ravel())
    return IntegerQuery(values=values, scales=(scale,) * len(values), family="gaussian")
