"""Estimate how rows lie within the cells of a grid, which counts do not say.

Within a cell the density of each class is taken to be a line whose slope is that of the neighbouring cells. A curve
then bends between its points instead of running straight, and the AUC gains the order that the neighbours suggest. For
densities that change smoothly from cell to cell the error falls with the square of the number of cells faster than
without: this is Richardson's extrapolation of the AUC of K and of K/2 cells.

How far that can be trusted is estimated too. Pairs of rows in cells that stand out from their neighbours may have any
order (`unknown_order`). Scores of few values are tied within cells: with m values in each cell the correction is too
large by `1 / m^2` of it.
"""

from __future__ import annotations

import numpy as np

from confide.counts import FloatArray
from confide.grid import Grid

FINE = 256
"""Number of parts into which cells are divided in all; more points do not change a curve."""

MOST_PARTS = 8

IN_DOUBT = 0.25
"""Share of the correction for the order within cells that is in doubt, on cells that nobody drew around values."""


def parts_of(cells: int) -> int:
    """Into how many parts each cell is divided where curves are drawn.

    >>> [parts_of(cells) for cells in (12, 34, 100, 300)]
    [8, 7, 2, 1]
    """
    return int(min(max(FINE // cells, 1), MOST_PARTS))


def refined_grid(grid: Grid) -> Grid:
    """Divide every cell into parts of equal width."""
    parts = parts_of(len(grid))
    if parts == 1:
        return grid
    share = np.arange(parts) / parts
    inner = grid.edges[:-1, None] + np.diff(grid.edges)[:, None] * share
    edges = np.append(inner.ravel(), grid.edges[-1])
    return Grid(edges) if (np.diff(edges) > 0.0).all() else grid  # cells may be a float wide


def refined_table(table: FloatArray, grid: Grid) -> FloatArray:
    """Spread the rows of each cell over its parts: a line for the density of each class, nowhere below 0."""
    fine = refined_grid(grid)
    if fine is grid:
        return table
    parts = len(fine) // len(grid)
    ends = np.arange(parts + 1) / parts
    even, bent = np.diff(ends), np.diff(ends**2 - ends)
    spread: FloatArray = table[..., None] * even + _tilts(table)[..., None] * bent
    return np.maximum(spread, 0.0).reshape(*table.shape[:-1], -1)


def order_gain(tables: FloatArray) -> FloatArray:
    """Estimate what pairs within cells add to the wins of positives, beyond the half of an even mixture.

    `sum_k p_k q_k (a_k - b_k) / 6` for densities `1 + a (2x - 1)` and `1 + b (2x - 1)` across a cell.
    """
    positives, negatives = tables[..., 0, :], tables[..., 1, :]
    tilts = _tilts(tables)
    gain: FloatArray = (negatives * tilts[..., 0, :] - positives * tilts[..., 1, :]).sum(axis=-1) / 6.0
    return gain


def order_variance(table: FloatArray) -> float:
    """Compute the variance of wins within cells if rows of both classes lie there in random order."""
    positives, negatives = np.maximum(table, 0.0)
    return float((positives * negatives * (positives + negatives + 1.0)).sum() / 12.0)


def unknown_order(table: FloatArray) -> float:
    """Estimate the number of pairs within cells about whose order the neighbouring cells say nothing.

    Two thirds of `sum_k (p_k - (p_k-1 + p_k+1) / 2) (q_k - (q_k-1 + q_k+1) / 2)`, by how much a cell stands out in both
    classes: next to nothing where densities are smooth, and all pairs within cells where every row lies in a cell
    between empty ones.
    """
    positives, negatives = (np.diff(np.pad(side, 2), n=2) / 2.0 for side in table)
    return max(float(np.dot(positives, negatives)) * 2.0 / 3.0, 0.0)


def order_allowance(table: FloatArray, grid: Grid, *, follows_scores: bool = False) -> float:
    """Compute how far the AUC may be off because of the order within cells.

    A share of the correction for that order, and half of the pairs about whose order the neighbouring cells say
    nothing. The share is a quarter on cells by arcsine and on those that follow a coarse private table: values of a
    score may lie two and two in them, and the correction is then too large by that much. On other cells, which somebody
    may have drawn around single values, it is all of the correction. The allowance is no more than if the order were
    quite unknown, and 1/2 where a class has no rows.
    """
    sizes = table.sum(axis=1)
    if (sizes <= 0.0).any():
        return 0.5
    pairs = float(sizes[0] * sizes[1])
    tied = min(max(float((table[0] * table[1]).sum()) / pairs, 0.0), 1.0)
    share = IN_DOUBT if follows_scores or _by_arcsine(grid) else 1.0
    doubtful = abs(float(order_gain(table))) * share + unknown_order(table) / 2.0
    return min(doubtful / pairs, tied / 2.0)


def _by_arcsine(grid: Grid) -> bool:
    """Return whether cells are those of `Grid.arcsine`, except for an edge that a threshold may have added."""
    return any(
        bool(np.isin(Grid.arcsine(cells).edges, grid.edges).all()) for cells in (len(grid), len(grid) - 1) if cells
    )


def _tilts(tables: FloatArray) -> FloatArray:
    """Return `a` times the rows of each cell, where its density is `1 + a (2x - 1)` and `a` lies between -1 and 1."""
    if tables.shape[-1] < 2:
        return np.zeros_like(tables)
    most = np.abs(tables)
    return np.clip(np.gradient(tables, axis=-1) / 2.0, -most, most)
