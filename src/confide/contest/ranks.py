"""Ranks with honest ties: an entry is ahead of another only if it is significantly better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.contest.metric import Better, ContestMetric
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import check_level


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Rank of an entry, and the interval of ranks that the data allow."""

    rank: int
    lowest: int
    highest: int


def difference_variances(covariance: FloatArray) -> FloatArray:
    """Return the variance of each difference of two estimates, from their covariance matrix."""
    variances = np.diag(covariance)
    differences: FloatArray = np.maximum(variances[:, None] + variances[None, :] - 2.0 * covariance, 0.0)
    np.fill_diagonal(differences, 0.0)
    return differences


def goodness_variances(metric: ContestMetric, covariance: FloatArray) -> FloatArray:
    """Return the variance of the difference of goodness of each two entries, from the covariance of their values.

    Where zero is best, goodness is `-|value|`. If two entries are equally good, their values are equal or opposite;
    `||a| - |b||` exceeds neither `|a - b|` nor `|a + b|`, so the larger variance of the two is safe.
    """
    differences = difference_variances(covariance)
    if metric.kind.better != Better.ZERO:
        return differences
    variances = np.diag(covariance)
    sums = np.maximum(variances[:, None] + variances[None, :] + 2.0 * covariance, 0.0)
    np.fill_diagonal(sums, 0.0)
    larger: FloatArray = np.maximum(differences, sums)
    return larger


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
    values = np.asarray(goodness, dtype=np.float64)
    entries = values.size
    spread = np.asarray(variances, dtype=np.float64)
    if spread.shape != (entries, entries):
        raise ParameterError("`variances` must have one row and one column for each entry")
    if not (np.isfinite(values).all() and np.isfinite(spread).all() and (spread >= 0.0).all()):
        raise ParameterError("`goodness` and `variances` must be finite, and no variance negative")
    reach = critical_value(entries, level) * np.sqrt(spread)
    better = values[None, :] - values[:, None] > reach  # entry in the column against entry in the row
    ahead, behind = better.sum(axis=1), better.sum(axis=0)
    return tuple(
        Rank(rank=1 + int(up), lowest=1 + int(up), highest=entries - int(down))
        for up, down in zip(ahead, behind, strict=True)
    )
