"""Clusters on a line have the least sum of squares of all ways to cut."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide.learning.selection_methods import cluster_means, clustered


def spread(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    return sum(float(((own - own.mean()) ** 2).sum()) for own in (values[cluster == one] for one in np.unique(cluster)))


@given(st.lists(st.integers(-12, 12), min_size=1, max_size=9), st.integers(1, 5))
def test_no_other_cuts_are_better(numbers: list[int], clusters: int) -> None:
    values = np.array(numbers, dtype=np.float64)
    distinct = np.unique(values)
    cuts = combinations(distinct[1:], min(clusters, distinct.size) - 1)
    best = min(spread(values, np.searchsorted(np.array(cut), values, side="right")) for cut in cuts)
    found = clustered(values, clusters)
    assert np.unique(found).tolist() == list(range(min(clusters, distinct.size)))
    assert abs(spread(values, found) - best) <= 1e-9


@given(st.lists(st.integers(-12, 12), min_size=1, max_size=30), st.integers(1, 5))
def test_clusters_are_numbered_by_their_values(numbers: list[int], clusters: int) -> None:
    values = np.array(numbers, dtype=np.float64)
    found = clustered(values, clusters)
    order = np.argsort(values)
    assert (np.diff(found[order]) >= 0).all()
    assert all(len(set(found[values == value])) == 1 for value in values)
    assert (np.diff(cluster_means(values, found)) > 0).all()


def test_large_scores_do_not_drown_small_ones() -> None:
    values = np.concatenate([np.arange(3.0), np.arange(3.0) + 50.0, [10.0**6, 10.0**6 + 1.0]])
    assert clustered(values, 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
