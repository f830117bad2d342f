"""Count private rows on a public grid inside the engine that holds them: one row for each cell leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.sources.fit_rows import fit_rows
from confide.sources.tables import as_table, discreet

MOST_CELLS = 4096
"""Largest number of cells that one query counts: each is a branch in its SQL."""


def count_cells(table: Any, *, label: str, score: str, positive: object, edges: FloatArray) -> ScoreCounts:
    """Count the rows of a table in cells `[edge, next edge)`, rows beyond the ends in the nearest one.

    A cell stands in the counts with its lower edge for a score. Rows are private: each is read by itself, as in
    `fit_rows`.
    """
    with discreet(table, private=True):
        held = as_table(table, as_written=True, columns=(label, score))
        fit = fit_rows(held, label=label, score=score, positive=positive, parse_text=isinstance(table, str | Path))
        cell = _cell(fit.table.score0, edges[1:-1], 0)
        cells, ours, theirs = fit.grouped(cell, np.int64)
    return ScoreCounts(edges[cells], ours, theirs)


def _cell(score: Any, inner: FloatArray, first: int) -> Any:
    """Return the number of a score's cell: a decision tree over the inner edges."""
    import ibis

    if not inner.size:
        return ibis.literal(first, type="int64")
    middle = inner.size // 2
    edge = ibis.literal(repr(float(inner[middle]))).cast("float64")  # DuckDB reads digits as a decimal, and rounds
    below, above = _cell(score, inner[:middle], first), _cell(score, inner[middle + 1 :], first + middle + 1)
    return (score < edge).ifelse(below, above)
