"""Linear forms of the labels, measured together through a public matrix of integers, with discrete Gaussian noise.

The matrix, called strategy, says what is measured: line k is the form `sum_i strategy[k, i] * label_i`. All lines get
noise of one scale, which follows from the longest column. The guarantee holds for any public matrix; the accuracy
depends on the choice (see `confide.contest.shaped_final`).

Proof: shaped_gaussian.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.mechanisms.masked_labels import checked_labels
from confide.privacy.noise.integers import LARGEST_SCALE, LARGEST_VALUE
from confide.privacy.noise.reals import as_fraction, upper_sqrt
from confide.privacy.queries import IntegerQuery

Integers = NDArray[np.int64]


def shaped_gaussian(labels: NDArray[np.bool_], strategy: Integers, rho: Fraction) -> IntegerQuery:
    """Query all lines of a public strategy, with noise that makes them rho-zCDP. Neighbours: label-only."""
    scale = shaped_scale(strategy, rho)
    chosen = checked_labels(labels)
    if chosen.size != strategy.shape[1]:
        raise ParameterError("the strategy must have one column for each label")
    totals = strategy @ chosen.astype(np.int64)
    return IntegerQuery(values=tuple(int(total) for total in totals), scales=(scale,) * len(totals), family="gaussian")


def shaped_scale(strategy: Integers, rho: Fraction) -> Fraction:
    """Return the scale of the noise: at least `sqrt(largest |column|^2 / (2 rho))`."""
    share = as_fraction(rho, "rho")
    if share <= 0:
        raise ParameterError(f"rho must be greater than 0; got {share}")
    scale = upper_sqrt(Fraction(max(largest_squared_norm(strategy), 1)) / (2 * share))
    if scale > LARGEST_SCALE:
        raise ParameterError("the noise would be too large for whole numbers of 64 bits: give a larger epsilon")
    return scale


def largest_squared_norm(strategy: Integers) -> int:
    """Return the largest squared length of a column, exactly.

    >>> largest_squared_norm(np.array([[3, 1], [-4, 1]]))
    25
    """
    lines, rows = _checked(strategy).shape
    if lines == 0 or rows == 0:
        return 0
    largest = max(abs(int(strategy.min())), abs(int(strategy.max())))
    if rows * largest > LARGEST_VALUE:
        raise ParameterError("the strategy's integers are too large: sums of a line must stay within 2^62")
    if lines * largest * largest < 2**63:  # no sum of squares leaves 64 bits
        return int(np.einsum("ki,ki->i", strategy, strategy).max())
    columns: list[list[int]] = strategy.T.tolist()
    return max(sum(entry * entry for entry in column) for column in columns)


def _checked(strategy: Integers) -> Integers:
    if not isinstance(strategy, np.ndarray) or strategy.dtype != np.int64 or strategy.ndim != 2:
        raise ParameterError("the strategy must be a matrix of integers of 64 bits: a line for each form")
    return strategy
