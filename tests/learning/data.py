"""Rows of features for the tests of selection, and noise that also chooses among features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.features import FeatureRows

Matrix = NDArray[np.int64]
Labels = NDArray[np.int64]


def random_rows(seed: int, *, rows: int = 400, width: int = 12) -> tuple[Matrix, Labels]:
    """Features of all frequencies, some of which go with the label."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(rows) < 0.4).astype(np.int64)
    chance = rng.uniform(0.02, 0.6, width) + np.outer(labels, rng.uniform(-0.4, 0.4, width) * (rng.random(width) < 0.6))
    return (rng.random((rows, width)) < chance).astype(np.int64), labels


def read(matrix: Any, labels: Labels) -> FeatureRows:
    return FeatureRows.from_matrix(matrix, labels == 1)
