"""Cluster selection as published: what it does without noise, and what its noise is."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from studies.stoddard.attacks.cluster_selection import (
    cluster_scales,
    cluster_support,
    drawn_centers,
    nearest,
    sizes_and_sums,
)

from confide.errors import ParameterError

COUNTS = np.array([[1, 2, 40, 41, 0, 80], [0, 1, 44, 40, 1, 2]])
USUAL: dict[str, Any] = {"rows": 500, "rounds": 3, "centers": 2, "most_features": 3, "threshold": 50}


def test_without_noise_it_is_lloyds_algorithm() -> None:
    """A million is the largest epsilon, and leaves noise of a hundred-thousandth: brute force in plain Python."""
    start = [[5.0, 5.0], [60.0, 20.0]]
    points, centers = COUNTS.T.tolist(), [list(center) for center in start]

    def places() -> list[int]:
        return [int(math.dist(point, centers[1]) < math.dist(point, centers[0])) for point in points]

    for _ in range(3):
        place = places()
        for k in (0, 1):
            mine = [point for point, where in zip(points, place, strict=True) if where == k]
            centers[k] = [sum(column) / len(mine) for column in zip(*mine, strict=True)]
    scores = {
        "total-count": [sum(center) for center in centers],
        "difference-count": [abs(x - y) for x, y in centers],
    }
    for score, values in scores.items():
        for threshold in (1, 20, 50, 90):
            expected = [values[where] >= threshold for where in places()]
            terms = {**USUAL, "threshold": threshold, "score": score, "start": start}
            found = cluster_support(COUNTS, epsilon=10**6, rng=np.random.default_rng(1), **terms)
            assert found.tolist() == expected


def test_sizes_and_sums_are_counted() -> None:
    sizes, sums = sizes_and_sums(COUNTS.T.astype(float), np.array([[0.0, 0.0], [50.0, 40.0], [900.0, 900.0]]))
    assert sizes.tolist() == [3, 3, 0]
    assert sums.tolist() == [[3, 2], [161, 86], [0, 0]]


def test_of_two_equally_near_centers_it_is_the_first() -> None:
    assert nearest(np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [2.0, 0.0]])).tolist() == [0]


def test_scales_are_those_of_the_wrong_sensitivities() -> None:
    """Epsilon over twice the rounds each; 1 for sizes and r for sums."""
    assert cluster_scales(1, rounds=5, most_features=10) == (10.0, 100.0)


def test_the_noise_has_these_scales() -> None:
    """One round with one cluster of one point, against the same thing written out, with Laplace noise of 2 and 2 r.

    Within five standard deviations of the difference of two shares: a false alarm in two million.
    """
    rng, trials, r = np.random.default_rng(3), 4_000, 4
    options: dict[str, Any] = {"rows": 9, "epsilon": 1, "rounds": 1, "centers": 1, "most_features": r}
    options |= {"score": "total-count", "threshold": 2.0, "start": [[0.0, 0.0]]}
    hits = sum(bool(cluster_support([[1], [0]], rng=rng, **options)[0]) for _ in range(trials))
    size, sums = 1.0 + rng.laplace(scale=2.0, size=trials), rng.laplace(scale=2.0 * r, size=(trials, 2))
    center = np.clip((sums + np.array([1.0, 0.0])) / np.maximum(size, 1.0)[:, None], 0.0, 9.0).sum(axis=1)
    expected = int(np.count_nonzero((center >= 2.0) & (size >= 1.0)))
    assert abs(hits - expected) <= 5.0 * math.sqrt(2.0 * trials * 0.25)


def test_centers_start_within_the_data() -> None:
    centers = drawn_centers(5_574, 1_000, np.random.default_rng(1))
    assert centers.shape == (1_000, 2)
    assert centers.min() >= 1.0
    assert centers.max() <= 5_574.0
    assert np.median(centers) == pytest.approx(math.sqrt(5_574), rel=0.3)  # eight standard errors or so


def test_as_many_features_as_the_papers_have_take_no_time() -> None:
    """About 20 ms for ten centers and five rounds; many times that is allowed for."""
    rng = np.random.default_rng(2)
    counts = np.minimum(rng.zipf(1.6, size=(2, 22_894)), 5_000)
    started = time.process_time()
    terms = {**USUAL, "rows": 6_906, "rounds": 5, "centers": 10, "score": "total-count"}
    assert cluster_support(counts, epsilon=0.2, rng=rng, **terms).shape == (22_894,)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"counts": [[1.5, 2.0], [0.0, 1.0]]}, "two lines of whole numbers"),
        ({"counts": [1, 2]}, "two lines of whole numbers"),
        ({"score": "information-gain"}, "Choose from total-count, difference-count"),
        ({"score": "totalcount"}, "Did you mean 'total-count'"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"centers": True}, "centers must be a whole number"),
        ({"most_features": 0}, "most_features must be a whole number"),
        ({"rows": 0}, "rows must be a whole number"),
        ({"start": [[1.0, 2.0]]}, "two finite numbers for each of the centers"),
        ({"epsilon": -1}, "epsilon must be greater than 0"),
        ({"threshold": math.nan}, "threshold must be a finite number"),
    ],
)
def test_what_cannot_be_clustered_is_refused(terms: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"counts": COUNTS, "epsilon": 1, "score": "total-count", **USUAL, **terms}
    with pytest.raises(ParameterError, match=said):
        cluster_support(rng=np.random.default_rng(1), **given)
