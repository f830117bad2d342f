"""Strategy for measuring linear forms of the labels: shaped by the smallest ellipsoid that holds all columns.

One label changes the forms by a column of their matrix. Gaussian noise whose covariance is shaped like the smallest
ellipsoid around all columns (John's ellipsoid; dual to D-optimal design [1]_) hides every column and is small in
directions where columns are short. So differences of similar entries get little noise.

Everything here reads public scores only. A worse ellipsoid costs accuracy and no privacy.

References
----------
.. [1] R. Harman and L. Pronzato, "Improvements on removing nonoptimal support points in D-optimum design algorithms",
   Statistics & Probability Letters 77 (2007).

"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray

STEPS = 2**20
"""Lines of the strategy are multiples of one part in so many; rounding to them costs less than 1e-6 of an AUC."""

TOLERANCE = 1e-6
"""Directions whose share of the forms' lengths is smaller than this are left out: entries are the same but for them."""

_CLOSE = 1.01  # longest column against the shortest longest column possible, squared
_TURNS = 300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strategy:
    """Integers to measure, and how the forms follow from them: `forms ~ back @ lines`.

    `lines` has a line for each measured number and a column for each row of the data.
    """

    lines: NDArray[np.int64]
    back: FloatArray

    def rounding(self, forms: NDArray[np.int64]) -> FloatArray:
        """Return for each form the most by which its total can differ from `back @ lines`, whatever the labels are."""
        lost = self.back @ self.lines - forms
        larger: FloatArray = np.maximum(np.maximum(lost, 0.0).sum(axis=1), np.maximum(-lost, 0.0).sum(axis=1))
        return larger


def shaped_strategy(forms: NDArray[np.int64]) -> Strategy:
    """Return the strategy for forms with these coefficients, one form in each line.

    Equal forms, and forms that are sums of others, add no line of their own.

    >>> strategy = shaped_strategy(np.array([[1, 1, -1], [1, 1, -1]]))
    >>> strategy.lines.shape, bool(np.allclose(strategy.back @ strategy.lines, [1, 1, -1]))
    ((1, 3), True)
    """
    different, members = np.unique(forms, axis=0, return_inverse=True)
    values = different.astype(np.float64)
    lengths = np.sqrt(np.einsum("ki,ki->k", values, values))
    values /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    shares, directions = np.linalg.eigh(values @ values.T)
    kept = shares > TOLERANCE**2
    loadings = directions[:, kept] * np.sqrt(shares[kept])
    basis = (directions[:, kept] / np.sqrt(shares[kept])).T @ values
    half = _half(basis)
    lines = np.rint(STEPS * np.linalg.solve(half, basis)).astype(np.int64)
    back = (lengths[:, None] * loadings @ half / STEPS)[members.reshape(-1)]
    return Strategy(lines=lines, back=back)


def _half(columns: FloatArray) -> FloatArray:
    """Return the lower half of the ellipsoid's matrix: a ball if nearly equal forms leave no ellipsoid."""
    lines = len(columns)
    if not lines:
        return np.zeros((0, 0))
    try:
        half: FloatArray = np.asarray(np.linalg.cholesky(_enclosing(columns)), dtype=np.float64)
    except np.linalg.LinAlgError:
        longest = float(np.einsum("ki,ki->i", columns, columns).max())
        half = math.sqrt(longest / lines) * np.eye(lines, dtype=np.float64)
    return half


def _enclosing(columns: FloatArray) -> FloatArray:
    """Return the moment matrix of D-optimal weights on the columns: `x' M^-1 x` is at most about their dimension.

    Weights are multiplied by the columns' lengths in the shape found so far. Columns that cannot touch the ellipsoid
    ([1]_, theorem 1) are left out of further turns.
    """
    lines, rows = columns.shape
    active, weights = columns, np.full(rows, 1.0 / rows)
    moments: FloatArray = (active * weights) @ active.T
    for _ in range(_TURNS):
        lengths = np.einsum("ki,ki->i", active, np.linalg.solve(moments, active))
        excess = max(float(lengths.max()) / lines - 1.0, 0.0)
        if excess <= _CLOSE - 1.0:
            break
        weights = weights * lengths
        touching = lengths >= lines * (1.0 + excess / 2.0 - math.sqrt(excess * (4.0 + excess - 4.0 / lines)) / 2.0)
        if touching.sum() < 0.8 * touching.size:
            active, weights = active[:, touching], weights[touching]
        weights /= weights.sum()
        moments = (active * weights) @ active.T
    return moments
