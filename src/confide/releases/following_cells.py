"""Cells that follow the scores: a coarse noisy table shows where the rows of each class lie.

A small share of the budget is spent on counts of both classes in 64 public cells. From these noisy counts alone follow
the number of cells that is worthwhile and their edges: cells are narrow where rows are many, and no cell is very wide.
A cell holds about as much of both rates of a ROC curve as any other, whatever the prevalence.

All of this is a function of released integers. Proof: private_counts.proof.md, "A grid that is found privately".
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.intervals.private_counts import nonnegative
from confide.privacy.mechanisms.private_counts import cells_on, concentrated_counts, private_counts
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery

FIRST_CELLS = 64
FIRST = Grid.arcsine(FIRST_CELLS)
"""Public cells of the coarse table."""

FIRST_SHARE = Fraction(1, 20)
"""Share of the budget that the coarse table costs: of epsilon, or of rho with Gaussian noise."""

EVEN = 0.3
"""Share of all cells that is spread evenly, by arcsine, whatever the coarse table shows."""

FEWEST, MOST = 12, 1024
"""Limits to the number of cells."""

FACTOR = 1.2
"""Number of cells, as a multiple of that with the least error: `balanced_cells`."""

_SMOOTH = np.array([0.25, 0.5, 0.25])


def first_table(
    counts: ScoreCounts, neighbours: Neighbours, epsilon: Fraction, rho: Fraction | None = None
) -> IntegerQuery:
    """Query the coarse table, with Laplace noise for epsilon or, if rho is given, with Gaussian noise for rho."""
    cells = cells_on(counts, FIRST)
    return private_counts(cells, epsilon, neighbours) if rho is None else concentrated_counts(cells, rho, neighbours)


def cell_deviation(neighbours: Neighbours, epsilon: Fraction, rho: Fraction | None = None) -> float:
    """Return the standard deviation of the noise of a cell that is counted by itself.

    >>> round(cell_deviation(Neighbours.ADD_REMOVE_ONE, Fraction(1)), 3)
    1.414
    """
    changed = 2 if neighbours == Neighbours.REPLACE_ONE else 1
    return math.sqrt(changed / (2 * rho)) if rho is not None else math.sqrt(2.0) * changed / float(epsilon)


def following_grid(first: FloatArray, *, deviation: float, next_deviation: float, rows: int | None = None) -> Grid:
    """Return cells on [0, 1] that follow a coarse noisy table.

    `deviation` is that of the table's noise and `next_deviation` that of a cell to be counted. `rows` is the number of
    all rows where it is public.
    """
    agreed = first if rows is None else first + (rows - first.sum()) / first.size
    spread = deviation * math.sqrt(first.shape[1])
    sizes = np.maximum(agreed.sum(axis=1), 1.0)
    cells = balanced_cells(np.maximum(sizes, spread), next_deviation)
    return _edges(_density(agreed, sizes, spread), cells)


def balanced_cells(sizes: FloatArray, deviation: float) -> int:
    """Return the number of cells that balances noise with what cells hide.

    Let the classes have n rows each. Noise of deviation s moves a point of a curve by `s sqrt(K / 6)` rows. Within a
    cell rows lie `sqrt(n / 6K)` rows off a smooth curve, by chance. In rates, summed over the classes, the squares are
    least at `K = sqrt(h) / s` with `h = sum(1/n) / sum(1/n^2)`, which is near the size of the smaller class.

    >>> balanced_cells(np.array([10_000.0, 10_000.0]), 2.0**0.5), balanced_cells(np.array([200.0, 19_800.0]), 1.4)
    (85, 12)
    """
    smaller = float((1.0 / sizes).sum() / (1.0 / sizes**2).sum())
    return int(min(max(round(FACTOR * math.sqrt(smaller) / deviation), FEWEST), MOST))


def _density(agreed: FloatArray, sizes: FloatArray, spread: float) -> FloatArray:
    """Return the share of the new cells in each cell of the coarse table.

    It is the mean share of both classes, smoothed. The share of a class with few rows for its noise counts less, and an
    even share takes its place.
    """
    possible = nonnegative(agreed[None])[0]
    totals = possible.sum(axis=1, keepdims=True)
    shares = np.divide(possible, totals, out=np.zeros_like(possible), where=totals > 0.0)
    weights = sizes**2 / (sizes**2 + spread**2) / sizes.size
    followed = (1.0 - EVEN) * (weights[:, None] * shares).sum(axis=0)
    density = followed + (1.0 - followed.sum()) / followed.size
    smoothed: FloatArray = np.convolve(np.pad(density, 1, mode="edge"), _SMOOTH, "valid")
    return smoothed


def _edges(density: FloatArray, cells: int) -> Grid:
    """Divide [0, 1] so that each cell has the same share of the density, which is even in `arcsin(sqrt(score))`."""
    below = np.concatenate(([0.0], np.cumsum(density)))
    places = np.interp(np.linspace(0.0, 1.0, cells + 1), below / below[-1], np.linspace(0.0, 1.0, below.size))
    edges = np.sin(np.pi / 2.0 * places) ** 2
    edges[0], edges[-1] = 0.0, 1.0
    return Grid(edges)
