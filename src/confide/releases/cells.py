"""Released counts with what is public about them."""

from __future__ import annotations

import numpy as np

from confide.intervals.private_counts import NoisyCells
from confide.privacy.mechanisms.private_counts import Cells
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery


def noisy_cells(
    drawn: tuple[int, ...], query: IntegerQuery, cells: Cells, neighbours: Neighbours, rows: int | None
) -> NoisyCells:
    """Put drawn counts back into their cells; under label-only the rows of each cell are public."""
    counts = np.array(drawn, dtype=np.float64).reshape(-1, cells.shape[1])
    scale, gaussian = float(query.scales[0]), query.family == "gaussian"
    if neighbours == Neighbours.LABEL_ONLY:
        return NoisyCells(cells=counts, scale=scale, gaussian=gaussian, cell_rows=cells.sum(axis=0).astype(np.float64))
    return NoisyCells(cells=counts, scale=scale, gaussian=gaussian, rows=rows)
