"""Simulated studies of the paper: uniform scores, labels by a threshold, some of which a coin then replaces.

The paper says that the share of labels drawn by a coin is uniform on [0.5, 1]. Then no AUC could be far above 0.75:
with a share g it is `1 - g/2` on average. Its Table 1 has about as many AUCs in every bin up to 1, which takes shares
that are uniform on [0, 1], as in the code that was published with it.

The paper divides rows among five sites at random. Sums over sites do not depend on the division, so rows stay together
here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from confide.counts import FloatArray
from confide.kernels.threads import Counts
from studies.schalk.compiled_fits import Rows

SIZES = tuple(range(100, 2501, 100))
SHARES = (0.0, 1.0)
SHARES_AS_WRITTEN = (0.5, 1.0)
SITES = 5

_FEWEST = 2  # rows of a class that a variance needs


def simulated(datasets: int, generator: np.random.Generator, *, shares: tuple[float, float] = SHARES) -> Rows:
    """Draw datasets, whose share of labels by a coin is uniform between two numbers."""
    drawn = [_dataset(generator, shares) for _ in range(datasets)]
    positives, positive_starts = _end_to_end([scores for scores, _ in drawn])
    negatives, negative_starts = _end_to_end([scores for _, scores in drawn])
    return Rows(positives, positive_starts, negatives, negative_starts)


def standard_noise(rows: Rows, generator: np.random.Generator) -> Rows:
    """Return a standard normal number for each score."""
    return rows._replace(
        positives=generator.standard_normal(rows.positives.size),
        negatives=generator.standard_normal(rows.negatives.size),
    )


def row_numbers(rows: Rows) -> FloatArray:
    """Return the number of rows of each dataset."""
    return np.diff(rows.positive_starts + rows.negative_starts).astype(np.float64)


def _dataset(generator: np.random.Generator, shares: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Draw the ascending scores of the positives and of the negatives; again if a class has too few rows."""
    while True:
        size = int(generator.choice(SIZES))
        scores = np.sort(generator.random(size))
        labels = scores >= 0.5
        by_coin = generator.permutation(size)[: int(generator.uniform(*shares) * size)]
        labels[by_coin] = generator.random(by_coin.size) < 0.5
        if min(labels.sum(), size - labels.sum()) >= _FEWEST:
            return scores[labels], scores[~labels]


def _end_to_end(parts: Sequence[FloatArray]) -> tuple[FloatArray, Counts]:
    starts = np.concatenate(([0], np.cumsum([part.size for part in parts]))).astype(np.int64)
    return np.concatenate(parts), starts
