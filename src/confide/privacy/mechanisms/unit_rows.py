"""Rows shortened to a public length and written as whole numbers, each by itself.

What a row becomes depends on that row and on public facts alone, to the last digit, so two datasets that differ in one
row still differ in one row afterwards. Proof: unit_rows.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from confide.errors import DataError, ParameterError

UNIT = 2**20
"""A row of length 1 has this length in whole numbers."""

FEATURE_SHARE, INTERCEPT_SHARE = 12 / 13, 5 / 13
"""With an intercept, the features' and its part of a row: the squares of both add up to 1."""

MOST_ROWS, MOST_FEATURES = 2**30, 2**20

_BLOCK = 2**16  # entries of a dense matrix that are worked on at once, about
_SAFE = 1.0 - 2.0**-48  # outweighs the rounding of five operations


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnitRows:
    """Rows of whole numbers, held in floats, and their labels; the squares of a row add up to at most `UNIT**2`.

    Divided by UNIT, column j is the j-th feature times `scales[j]`, where a row was not shortened; so weights of these
    columns times `scales` are weights of the features. With an intercept, the last column is the same for all rows.
    """

    matrix: Any
    labels: NDArray[np.bool_]
    scales: tuple[float, ...]

    def __len__(self) -> int:
        return int(self.labels.size)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.scales)


def unit_rows(matrix: Any, labels: NDArray[np.bool_], *, row_norm: float, intercept: bool) -> UnitRows:
    """Shorten every row to a length of `row_norm`, which becomes 1, and round it towards zero.

    The matrix is dense or SciPy's, of finite numbers.

    >>> rows = unit_rows(np.array([[3.0, 4.0], [0.25, 0.0]]), np.array([True, False]), row_norm=1.0, intercept=False)
    >>> rows.matrix / UNIT
    array([[0.59999943, 0.79999924],
           [0.25      , 0.        ]])
    """
    bound = checked_row_norm(row_norm)
    width = int(matrix.shape[1]) + int(intercept)
    if not 1 <= width <= MOST_FEATURES:
        raise ParameterError(f"rows must have between 1 and {MOST_FEATURES:,} features; select some first")
    if matrix.shape[0] != labels.size:
        raise DataError("features and labels must have the same number of rows")
    if labels.size > MOST_ROWS:
        raise DataError(f"there may be at most {MOST_ROWS:,} rows")
    share = FEATURE_SHARE if intercept else 1.0
    sparse = hasattr(matrix, "tocsr")
    whole = _sparse(matrix, bound, share, intercept) if sparse else _dense(matrix, bound, share, intercept)
    scales = [share / bound] * int(matrix.shape[1]) + [INTERCEPT_SHARE] * int(intercept)
    return UnitRows(whole, np.asarray(labels, dtype=np.bool_), tuple(scales))


def checked_row_norm(row_norm: object) -> float:
    """Return the longest length of a row, refusing what is no positive number of a sensible size."""
    if isinstance(row_norm, bool) or not isinstance(row_norm, int | float) or not 1e-9 <= row_norm <= 1e9:
        raise ParameterError(f"row_norm must be a number between 1e-9 and 1e9; got {str(row_norm)[:40]!r}")
    return float(row_norm)


def _dense(matrix: Any, bound: float, share: float, intercept: bool) -> NDArray[np.float64]:
    given = np.asarray(matrix)
    if given.dtype.kind not in "biuf":
        raise DataError("features must be numbers; encode text and categories first")
    count, width = given.shape
    found = np.empty((count, width + int(intercept)))
    if intercept:
        found[:, width] = float(np.trunc(INTERCEPT_SHARE * UNIT))
    step = max(1, _BLOCK // max(width, 1))
    for start in range(0, count, step):
        block = _finite(given[start : start + step].astype(np.float64))
        largest = np.max(np.abs(block), axis=1, initial=bound)
        first = np.trunc(block / largest[:, None] * UNIT)
        squares = np.square(first.astype(np.int64)).sum(axis=1)
        found[start : start + step, :width] = np.trunc(first * _factor(squares, share)[:, None])
    return found


def _sparse(matrix: Any, bound: float, share: float, intercept: bool) -> csr_array[np.float64]:
    given = csr_array(matrix, copy=True)
    if given.dtype.kind not in "biuf":
        raise DataError("features must be numbers; encode text and categories first")
    given.sum_duplicates()
    count, width = given.shape
    data, lengths = _finite(given.data.astype(np.float64)), np.diff(given.indptr)
    row_of_each = np.repeat(np.arange(count), lengths)
    largest = np.full(count, bound)
    np.maximum.at(largest, row_of_each, np.abs(data))
    first = np.trunc(data / largest[row_of_each] * UNIT)
    squares = np.zeros(count, dtype=np.int64)
    np.add.at(squares, row_of_each, np.square(first.astype(np.int64)))
    whole = np.trunc(first * _factor(squares, share)[row_of_each])
    if not intercept:
        return csr_array((whole, given.indices, given.indptr), shape=(count, width))
    last = given.indptr[1:]
    return csr_array(
        (
            np.insert(whole, last, float(np.trunc(INTERCEPT_SHARE * UNIT))),
            np.insert(given.indices, last, width),
            given.indptr + np.arange(count + 1),
        ),
        shape=(count, width + 1),
    )


def _factor(squares: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """Return the factor of a row of whole numbers, given the exact sum of its squares."""
    longer = np.maximum(squares, UNIT**2).astype(np.float64)
    shorter: NDArray[np.float64] = np.where(squares > UNIT**2, UNIT / np.sqrt(longer) * _SAFE, 1.0) * share
    return shorter


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise DataError("features must be finite numbers; replace missing ones by a public value first")
    return values
