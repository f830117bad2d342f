"""Public cells on which rows may be counted, so that no score has to be read by itself.

Counts on a grid of the request, or counts above a threshold, need the cell of each row and not its score. An engine can
count these cells, and send one row for each.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from confide.grid import Grid
from confide.releases.release import PreparedRelease


def threshold_cells(threshold: float) -> Grid | None:
    """Return two cells, below a threshold and from it on; None at the ends of what numbers can be.

    >>> threshold_cells(0.5).cells([0.1, 0.5, 7.0])
    array([0, 1, 1])
    """
    edges = np.array([np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf)])
    return Grid(edges) if np.isfinite(edges).all() else None


def common_cells(prepared: Iterable[PreparedRelease]) -> Grid | None:
    """Return cells that are enough for all parts of a request; None if a part needs scores.

    The edges of all grids together cut every cell of each of them into whole cells, and so the rows beyond its ends.
    """
    grids = [part.cells for part in prepared]
    known = [grid.edges for grid in grids if grid is not None]
    if not known or len(known) < len(grids):
        return None
    return Grid(functools.reduce(np.union1d, known))
