"""Cluster selection as published, which is not private: features fall into clusters by their exact counts.

Stoddard, Chen & Machanavajjhala (2014), Algorithm 1, with the private k-means of Blum, Dwork, McSherry & Nissim (2005).
Its noise is for points of which one person has one; here the points are features, and a row moves up to r of them.
`studies.stoddard.attacks.refutations` has two counterexamples.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError, did_you_mean
from studies.stoddard.attacks.laplace import Support, checked_claim, checked_threshold

Places: TypeAlias = NDArray[np.int64]

CLUSTER_SCORES = ("total-count", "difference-count")
"""Scores that a center's two counts are enough for, which are those of the paper's figures."""


def cluster_support(
    counts: ArrayLike,
    *,
    rows: int,
    epsilon: object,
    rounds: int,
    centers: int,
    most_features: int,
    score: str,
    threshold: float,
    rng: np.random.Generator,
    start: ArrayLike | None = None,
) -> Support:
    """Select all features of those clusters whose noisy center scores at least the threshold. Not private.

    `counts` has how many positives (first line) and negatives (second) have each feature, at most `most_features` of
    them in a row. Every round has the same share of epsilon, half of it for the sizes of the clusters and half for
    their sums. The paper leaves open where centers start (a center for each line of `start`, else drawn, see
    `drawn_centers`) and what becomes of a cluster with a noisy size below 1 (it keeps its center) or of a center that
    noise carries out of 0 to `rows` (it is put back to the edge).

    >>> counts = [[9, 1, 0, 8], [300, 2, 1, 250]]
    >>> options = {"rounds": 2, "centers": 2, "most_features": 2, "score": "total-count", "threshold": 100}
    >>> start = [[10, 300], [1, 1]]
    >>> cluster_support(counts, rows=1000, epsilon=100, rng=np.random.default_rng(3), start=start, **options).tolist()
    [True, False, False, True]
    """
    points = checked_counts(counts)
    cut = checked_threshold(threshold)
    if score not in CLUSTER_SCORES:
        hint = did_you_mean(score, CLUSTER_SCORES)
        raise ParameterError(f"clusters are not scored by {score!r}. {hint}Choose from {', '.join(CLUSTER_SCORES)}")
    scales = cluster_scales(epsilon, rounds=rounds, most_features=most_features)
    _check_number(rows=rows, centers=centers)
    means = drawn_centers(rows, centers, rng) if start is None else checked_centers(start, centers)
    for _ in range(rounds):
        means = _moved(means, points, rows, scales, rng)
    return np.asarray((_scored(means, score) >= cut)[nearest(points, means)])


def cluster_scales(epsilon: object, *, rounds: int, most_features: int) -> tuple[float, float]:
    """Return the scales of the noise on sizes, said to have sensitivity 1, and on sums, said to have r."""
    _check_number(rounds=rounds, most_features=most_features)
    share = checked_claim(epsilon, 1.0) / (2.0 * rounds)
    return 1.0 / share, most_features / share


def drawn_centers(rows: int, centers: int, rng: np.random.Generator) -> FloatArray:
    """Centers whose two counts are drawn uniformly on a log scale from 1 to the number of rows.

    Uniform ones would all lie beyond the counts of words, which fall off like a power, and leave one cluster.
    """
    return np.asarray(np.exp(rng.uniform(0.0, np.log(rows), size=(centers, 2))))


def nearest(points: FloatArray, centers: FloatArray) -> Places:
    """Return the number of the center that is nearest to each point; the first of several."""
    squares = [((points - center) ** 2).sum(axis=1) for center in centers]
    return np.asarray(np.argmin(squares, axis=0), dtype=np.int64)


def sizes_and_sums(points: FloatArray, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many points each center is nearest to, and their sums: what a round adds noise to."""
    where, number = nearest(points, centers), len(centers)
    sizes = np.bincount(where, minlength=number).astype(np.float64)
    sums = [np.bincount(where, weights=column, minlength=number) for column in points.T]
    return sizes, np.column_stack(sums)


def _scored(centers: FloatArray, score: str) -> FloatArray:
    return np.asarray(centers.sum(axis=1) if score == "total-count" else np.abs(centers[:, 0] - centers[:, 1]))


def _moved(
    means: FloatArray, points: FloatArray, rows: int, scales: tuple[float, float], rng: np.random.Generator
) -> FloatArray:
    """Return the noisy centers after one round."""
    sizes, sums = sizes_and_sums(points, means)
    noisy_sizes = sizes + rng.laplace(scale=scales[0], size=sizes.shape)
    noisy_sums = sums + rng.laplace(scale=scales[1], size=sums.shape)
    moved = np.clip(noisy_sums / np.maximum(noisy_sizes, 1.0)[:, None], 0.0, float(rows))
    return np.where(noisy_sizes[:, None] >= 1.0, moved, means)


def checked_counts(counts: ArrayLike) -> FloatArray:
    """Return a point for each feature, its counts of positives and negatives."""
    found: NDArray[Any] = np.asarray(counts)
    if found.ndim != 2 or found.shape[0] != 2 or found.shape[1] == 0 or found.dtype.kind not in "iu":
        raise ParameterError("counts must be two lines of whole numbers, positives and negatives with each feature")
    return found.T.astype(np.float64)


def checked_centers(centers: ArrayLike, number: int) -> FloatArray:
    """Return centers as floats, refusing another number of them."""
    found = np.asarray(centers, dtype=np.float64)
    if found.shape != (number, 2) or not np.isfinite(found).all():
        raise ParameterError("start must have two finite numbers for each of the centers")
    return found


def _check_number(**numbers: int) -> None:
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ParameterError(f"{name} must be a whole number of at least 1; got {number!r}")
