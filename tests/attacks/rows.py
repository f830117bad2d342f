"""Rows at random, the same for the same generator or seed."""

from __future__ import annotations

from typing import Any

import numpy as np


def few_rows(rng: np.random.Generator, size: int) -> tuple[list[int], list[float]]:
    """Rows of both classes with scores strictly between 0 and 1."""
    labels = [0, 1, *rng.integers(0, 2, size - 2).tolist()]
    return labels, (rng.integers(1, 8, size) / 8).tolist()


def tied_rows(rng: np.random.Generator, size: int, values: int) -> tuple[Any, Any]:
    """Rows of both classes in any share with so many scores at most."""
    labels = rng.permutation(np.arange(size) < rng.integers(1, size))
    return labels, rng.integers(0, values, size) / 8.0


def labels_of(rows: int, prevalence: float, seed: int) -> np.ndarray:
    """Labels with about this share of positives, both classes among them."""
    drawn = np.random.default_rng([seed, rows]).random(rows) < prevalence
    drawn[:2] = (False, True)
    return drawn
