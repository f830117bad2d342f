"""Rows for tests of sampling designs: labels, two models, clusters and folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIZE, REPLICATES, SEED = 240, 100, 7
PLACES = np.arange(SIZE)

Labels = NDArray[np.bool_]
Scores = NDArray[np.float64]


def rows(seed: int = 1, size: int = SIZE) -> tuple[Labels, Scores, Scores]:
    rng = np.random.default_rng(seed)
    labels = rng.random(size) < 0.35
    first, second = (1.0 / (1.0 + np.exp(0.9 - 1.2 * labels - rng.normal(size=size))) for _ in range(2))
    return labels, first, second


LABELS, FIRST, SECOND = rows()
CLUSTERS = PLACES % 40


def even_folds(labels: Labels) -> NDArray[np.int64]:
    """Deal each class to two folds in turn."""
    return np.where(labels, np.cumsum(labels), np.cumsum(~labels)) % 2
