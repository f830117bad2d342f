"""Ranks with honest ties: an entry is ahead of another only if it is significantly better.

Every entry is compared with every other, in blocks: memory grows with the number of entries, not with its square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import check_level
from confide.metrics.names import Better

BLOCK = 256
"""Entries on either side that are compared at once."""

Blocks = Callable[[slice, slice], FloatArray]
"""Function of two ranges of entries: a number for each entry of the first and each entry of the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Rank of an entry, and the interval of ranks that the data allow."""

    rank: int
    lowest: int
    highest: int


def difference_variances(covariance: FloatArray) -> FloatArray:
    """Return the variance of each difference of two estimates, from their covariance matrix."""
    variances = np.diag(covariance)
    differences = _combined(covariance, variances, variances, sign=-1.0)
    np.fill_diagonal(differences, 0.0)
    return differences


def goodness_variances(metric: ContestMetric, covariance: FloatArray) -> FloatArray:
    """Return the variance of the difference of goodness of each two entries, from the covariance of their values."""
    variances = np.diag(covariance)
    pairs = pair_variances(metric, covariance, variances, variances)
    np.fill_diagonal(pairs, 0.0)
    return pairs


def pair_variances(metric: ContestMetric, covariance: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the variance of the difference of goodness of each entry of one range and each of another.

    `covariance` is that of their values; `rows` and `columns` are the variances of the entries' values. Where zero is
    best, goodness is `-|value|`. If two entries are equally good, their values are equal or opposite; `||a| - |b||`
    exceeds neither `|a - b|` nor `|a + b|`, so the larger variance of the two is safe.
    """
    differences = _combined(covariance, rows, columns, sign=-1.0)
    if metric.kind.better != Better.ZERO:
        return differences
    larger: FloatArray = np.maximum(differences, _combined(covariance, rows, columns, sign=1.0))
    return larger


def _combined(covariance: FloatArray, rows: FloatArray, columns: FloatArray, *, sign: float) -> FloatArray:
    """Return the variance of the sum or of the difference of each two values."""
    combined: FloatArray = np.maximum(rows[:, None] + columns[None, :] + sign * 2.0 * covariance, 0.0)
    return combined


def critical_value(entries: int, level: float) -> float:
    """Return the number of standard errors from which on a difference is significant on a board of so many entries.

    Each entry is compared with the K - 1 others, in both directions: 2 (K - 1) one-sided tests, each with an error
    rate of (1 - level) / (2 (K - 1)).
    """
    from scipy.special import ndtri

    return float(-ndtri((1.0 - check_level(level)) / (2.0 * max(entries - 1, 1))))


def rank_entries(goodness: FloatArray, variances: FloatArray, *, level: float = 0.95) -> tuple[Rank, ...]:
    """Rank entries by what the data decide.

    `rank = lowest = 1 + (number of entries that are significantly better)` and `highest = K - (number of entries that
    are significantly worse)`. Tests are two-sided and corrected (Bonferroni) for the K - 1 comparisons with the entry,
    see `critical_value`. So for each entry, the interval from `lowest` to `highest` holds the entry's true rank with
    a probability of at least `level`. Nothing but the numbers given decides: neither order nor time.

    Parameters
    ----------
    goodness
        A number for each entry, larger for a better one.
    variances
        The variance of the difference of each two entries (K, K).
    level
        The confidence level.

    >>> rank_entries(np.array([0.9, 0.89, 0.7]), np.full((3, 3), 0.01**2))
    (Rank(rank=1, lowest=1, highest=2), Rank(rank=1, lowest=1, highest=2), Rank(rank=3, lowest=3, highest=3))
    """
    spread = np.asarray(variances, dtype=np.float64)
    if spread.shape != (np.size(goodness), np.size(goodness)):
        raise ParameterError("`variances` must have one row and one column for each entry")
    return rank_in_blocks(goodness, lambda rows, columns: spread[rows, columns], level=level)


def rank_in_blocks(goodness: FloatArray, variances: Blocks, *, level: float = 0.95) -> tuple[Rank, ...]:
    """Rank entries as `rank_entries` does, from variances that are computed when they are needed.

    `variances` is called for blocks of pairs in which no entry of the second range comes after the first range. What
    holds for a pair holds for it the other way round.
    """
    values = np.asarray(goodness, dtype=np.float64)
    entries, critical = values.size, critical_value(values.size, level)
    ahead, behind = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    for rows in ranges(entries):
        for columns in ranges(rows.stop):
            spread = variances(rows, columns)
            if not (np.isfinite(values[rows]).all() and np.isfinite(spread).all() and (spread >= 0.0).all()):
                raise ParameterError("`goodness` and `variances` must be finite, and no variance negative")
            reach = critical * np.sqrt(spread)
            gap = values[None, columns] - values[rows, None]  # entry in the column against entry in the row
            _count(gap > reach, ahead[rows], behind[columns])
            if columns != rows:
                _count((-gap > reach).T, ahead[columns], behind[rows])
    return tuple(
        Rank(rank=1 + up, lowest=1 + up, highest=entries - down)
        for up, down in zip(ahead.tolist(), behind.tolist(), strict=True)
    )


def ranges(entries: int) -> Iterator[slice]:
    """Yield ranges of at most `BLOCK` entries that cover all of them."""
    return (slice(first, min(first + BLOCK, entries)) for first in range(0, entries, BLOCK))


def _count(better: NDArray[np.bool_], ahead: NDArray[np.int64], behind: NDArray[np.int64]) -> None:
    """Add to each row how many are better, and to each column how many are worse."""
    ahead += better.sum(axis=1)
    behind += better.sum(axis=0)
