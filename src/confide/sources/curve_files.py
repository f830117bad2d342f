"""Read the points of a published ROC curve from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from confide.counts import FloatArray
from confide.errors import ColumnError, DataError
from confide.sources.tables import as_table, discreet

NAMES = {
    "false_positive_rate": ("false_positive_rate", "fpr"),
    "true_positive_rate": ("true_positive_rate", "tpr"),
    "thresholds": ("threshold", "thresholds"),
}
"""Names that a column may have."""


def read_curve_points(source: str | Path) -> dict[str, FloatArray]:
    """Return the rates of a curve and, where there is such a column, its thresholds.

    Columns are `false_positive_rate` or `fpr`, `true_positive_rate` or `tpr`, and `threshold`. An empty threshold of
    the first point stands for infinity.
    """
    with discreet(source):
        table = as_table(source)
        known = list(table.columns)
        found = {name: next((each for each in each_of if each in known), None) for name, each_of in NAMES.items()}
        for name in ("false_positive_rate", "true_positive_rate"):
            if found[name] is None:
                ColumnError.require([name], known)
        wanted = {name: column for name, column in found.items() if column is not None}
        columns = {name: _numbers(table, column) for name, column in wanted.items()}
    rates = [columns[name] for name in ("false_positive_rate", "true_positive_rate")]
    if any(np.isnan(rate).any() for rate in rates):
        raise DataError("a point of the curve has no rate; fill it in, or remove the point")
    if "thresholds" in columns and columns["thresholds"].size and np.isnan(columns["thresholds"][0]):
        columns["thresholds"][0] = np.inf
    return columns


def _numbers(table: Any, column: str) -> FloatArray:
    if not table[column].type().is_numeric():
        raise DataError(f"column {column!r} does not hold numbers alone; check that decimals have a point")
    values = table.select(column).to_pyarrow().column(column).to_numpy()
    return np.array(values, dtype=np.float64)
