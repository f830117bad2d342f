"""Optimal clusters of numbers on a line: k-means with the least sum of squares.

On a line, the clusters of an optimal k-means are intervals. So the least cost of the first j values in c clusters is
the minimum, over i, of the least cost of the first i values in c - 1 clusters plus the cost of values i to j in one
cluster. The best i rises with j, so divide and conquer finds all j in `clusters * n log n` steps [1]_.

References
----------
.. [1] X. Wu, "Optimal quantization by matrix searching", Journal of Algorithms 12, 1991.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.features import Integers


def clustered(values: FloatArray, clusters: int) -> Integers:
    """Return the cluster of each value, numbered from the smallest values upwards.

    There are fewer clusters if fewer values differ.

    >>> clustered(np.array([7.0, 1.0, 8.0, 0.0]), 2)
    array([1, 0, 1, 0])
    """
    distinct, where, times = np.unique(values, return_inverse=True, return_counts=True)
    sums = _Sums.of(distinct, times)
    found = np.zeros(distinct.size, dtype=np.int64)
    found[_starts(sums, min(clusters, distinct.size))] = 1
    return (np.cumsum(found) - 1)[where]


def cluster_means(values: FloatArray, cluster: Integers) -> FloatArray:
    """Return the mean of each cluster."""
    means: FloatArray = np.bincount(cluster, weights=values) / np.bincount(cluster)
    return means


@dataclass(frozen=True, slots=True, repr=False)
class _Sums:
    """Cumulative sums over the distinct values: of weights, values and squares, relative to the median."""

    weights: FloatArray
    values: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, distinct: FloatArray, times: NDArray[np.int64]) -> _Sums:
        around = distinct - distinct[distinct.size // 2]
        return cls(*(np.append(0.0, np.cumsum(times * around**power)) for power in (0, 1, 2)))

    def cost(self, start: Integers, stop: Integers) -> FloatArray:
        """Return the sum of squares around the mean of the values from `start` to `stop`."""
        total = self.values[stop] - self.values[start]
        spread = self.squares[stop] - self.squares[start]
        around: FloatArray = spread - total**2 / (self.weights[stop] - self.weights[start])
        return np.maximum(around, 0.0)


def _starts(sums: _Sums, clusters: int) -> Integers:
    """Return the start of each cluster among the distinct values."""
    size = sums.weights.size - 1
    ends = np.arange(1, size + 1)
    least = np.append(np.inf, sums.cost(np.zeros(size, dtype=np.int64), ends))
    last_starts = []
    for cluster in range(1, clusters):
        least, last = _one_more(sums, least, cluster)
        last_starts.append(last)
    starts, stop = [], size
    for last in reversed(last_starts):
        stop = int(last[stop])
        starts.append(stop)
    return np.array([0, *reversed(starts)], dtype=np.int64)


def _one_more(sums: _Sums, least: FloatArray, clusters: int) -> tuple[FloatArray, Integers]:
    """Return the least cost of the first j values with one more cluster, and the start of the last cluster.

    All middles of one depth of the divide and conquer are computed together.
    """
    size = least.size - 1
    found, start = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int64)
    low, high = np.array([clusters + 1]), np.array([size])
    first, last = np.array([clusters]), np.array([size - 1])
    while low.size:
        middle = (low + high) // 2
        found[middle], start[middle] = _best(sums, least, middle, first, np.minimum(last, middle - 1))
        low, high = np.append(low, middle + 1), np.append(middle - 1, high)
        first, last = np.append(first, start[middle]), np.append(start[middle], last)
        left = low <= high
        low, high, first, last = low[left], high[left], first[left], last[left]
    return found, start


def _best(
    sums: _Sums, least: FloatArray, stop: Integers, first: Integers, last: Integers
) -> tuple[FloatArray, Integers]:
    """Return, for each stop, the cost and the start of the cheapest last cluster, from `first` to `last`."""
    lengths = last - first + 1
    offsets = np.cumsum(lengths) - lengths
    starts = np.arange(lengths.sum()) - np.repeat(offsets - first, lengths)
    costs = least[starts] + sums.cost(starts, np.repeat(stop, lengths))
    cheapest = np.minimum.reduceat(costs, offsets)
    among = np.where(costs == np.repeat(cheapest, lengths), starts, np.iinfo(np.int64).max)
    return cheapest, np.minimum.reduceat(among, offsets)
