"""Folds for cross-validation, with each class divided evenly among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataError, ParameterError
from confide.features import Integers

FEWEST, MOST = 2, 100


def checked_folds(folds: object) -> int:
    """Return the number of folds. Refuse a wrong one."""
    if isinstance(folds, bool) or not isinstance(folds, int) or not FEWEST <= folds <= MOST:
        raise ParameterError(f"folds must be a whole number from {FEWEST} to {MOST}; got {folds!r}")
    return folds


def fold_of_each(labels: NDArray[np.bool_], folds: int, generator: np.random.Generator) -> Integers:
    """Return the fold in which each row is held out.

    >>> labels = np.array([True, False, False, True, False, False])
    >>> fold = fold_of_each(labels, 2, np.random.default_rng(0))
    >>> np.bincount(fold), np.bincount(fold[labels])
    (array([3, 3]), array([1, 1]))
    """
    if min(np.count_nonzero(labels), np.count_nonzero(~labels)) < folds:
        raise DataError(f"each class must have at least {folds} rows, one for each fold; ask for fewer folds")
    order = generator.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(labels.size, dtype=np.int64)
    fold[order] = np.arange(labels.size) % folds
    return fold
