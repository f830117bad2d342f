"""With next to no noise the highest scores come out, as scikit-learn ranks them; with known noise, what it leaves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.feature_selection import SelectKBest, mutual_info_classif

from confide.learning import prepare_selection
from confide.learning.selection import Selection
from confide.learning.selection_methods import cluster_means, clustered
from tests.learning.data import Labels, Matrix, random_rows, read
from tests.noises import seeded

Scorer = Callable[[Matrix, Labels], NDArray[np.float64]]


def difference(matrix: Matrix, labels: Labels) -> NDArray[np.float64]:
    signs = np.where(labels == 1, 1.0, -1.0)
    return np.abs(signs @ matrix)


SCORERS: dict[str, Scorer] = {
    "total-count": lambda matrix, labels: matrix.sum(axis=0).astype(float),
    "difference-count": difference,
    "purity-index": lambda matrix, labels: np.maximum(difference(matrix, labels), difference(1 - matrix, labels)),
    "information-gain": lambda matrix, labels: (
        len(labels) * mutual_info_classif(matrix, labels, discrete_features=True)
    ),
}
BY_RANK = ("score-perturbation", "peeling", "permute-and-flip")
LOUD = 10**6  # no noise worth the name: scores that differ by 1 are exchanged with a probability below 10^-1000


def select(matrix: Matrix, labels: Labels, **asked: Any) -> Selection:
    given = {"epsilon": LOUD, "neighbours": "replace-one", "most_features": 2**20, **asked}
    return prepare_selection(read(matrix, labels), **given).draw()[0]


def distinct_rows(score: str, k: int) -> tuple[Matrix, Labels]:
    """Rows whose k-th and next highest scores differ by at least 1."""
    for seed in range(100):
        matrix, labels = random_rows(seed)
        ranked = np.sort(SCORERS[score](matrix, labels))[::-1]
        if ranked[k - 1] - ranked[k] >= 1.0:
            return matrix, labels
    raise AssertionError("no rows with distinct scores")


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("method", BY_RANK)
@pytest.mark.parametrize("score", SCORERS)
def test_the_k_highest_scores_are_those_of_sklearn(score: str, method: str, k: int) -> None:
    matrix, labels = distinct_rows(score, k)
    expected = SelectKBest(SCORERS[score], k=k).fit(matrix, labels).get_support()
    selection = select(matrix, labels, method=method, score=score, k=k)
    assert selection.support.tolist() == expected.tolist()


@pytest.mark.parametrize("method", ["score-perturbation", "sparse-vector", "clusters"])
@pytest.mark.parametrize("score", SCORERS)
def test_a_threshold_takes_the_scores_that_reach_it(score: str, method: str) -> None:
    matrix, labels = distinct_rows(score, 5)
    true = SCORERS[score](matrix, labels)
    ranked = np.sort(true)[::-1]
    # As many clusters as features: each is a cluster by itself.
    more = {"sparse-vector": {"k": 12}, "clusters": {"clusters": 12}}.get(method, {})
    threshold = float(ranked[4] + ranked[5]) / 2
    selection = select(matrix, labels, method=method, score=score, threshold=threshold, **more)
    assert selection.features == tuple(np.flatnonzero(true > threshold))


def test_a_score_at_the_threshold_reaches_it() -> None:
    matrix, labels = random_rows(1)
    count = int(np.sort(matrix.sum(axis=0))[-3])
    found = [
        select(matrix, labels, method="score-perturbation", threshold=threshold).features
        for threshold in (count, count + 0.25)
    ]
    assert set(found[0]) - set(found[1]) == set(np.flatnonzero(matrix.sum(axis=0) == count))


def test_scores_are_released_in_their_own_unit() -> None:
    matrix, labels = random_rows(2)
    for score in ("total-count", "information-gain"):
        selection = select(matrix, labels, method="score-perturbation", score=score, k=4)
        assert selection.scores is not None
        true = SCORERS[score](matrix, labels)[list(selection.features)]
        np.testing.assert_allclose(selection.scores, true, atol=0.01)


@pytest.mark.parametrize("method", ["peeling", "permute-and-flip", "sparse-vector"])
def test_methods_that_release_no_scores_say_so(method: str) -> None:
    more: dict[str, Any] = {"threshold": 1} if method == "sparse-vector" else {}
    assert select(*random_rows(3), method=method, k=2, **more).scores is None


@pytest.mark.parametrize("wanted", [{"k": 4}, {"threshold": 150}])
def test_noise_is_what_is_added_and_nothing_else(wanted: dict[str, Any]) -> None:
    """A row of at most 7 features moves counts by 7 in all: noise of scale 7/epsilon, drawn feature by feature."""
    matrix, labels = random_rows(4)
    matrix[:, 7:] = 0
    noisy = seeded(9).discrete_laplace(matrix.sum(axis=0).tolist(), Fraction(7) / Fraction(1, 10))
    selection = select(
        matrix,
        labels,
        method="score-perturbation",
        epsilon="1/10",
        neighbours="add-remove-one",
        most_features=7,
        noise=seeded(9),
        **wanted,
    )
    order = sorted(range(12), key=lambda feature: (-noisy[feature], feature))
    expected = order[:4] if "k" in wanted else [feature for feature in order if noisy[feature] >= 150]
    assert selection.features == tuple(sorted(expected))
    assert selection.scores == tuple(float(noisy[feature]) for feature in selection.features)


def test_of_equal_noisy_scores_the_first_features_are_taken() -> None:
    matrix = np.ones((30, 6), dtype=np.int64)
    assert select(matrix, np.arange(30) % 2, method="score-perturbation", k=3).features == (0, 1, 2)


def inertia(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    return float(((values - cluster_means(values, cluster)[cluster]) ** 2).sum())


@pytest.mark.few(1)
@pytest.mark.parametrize("clusters", [2, 5, 8])
def test_clusters_are_no_worse_than_those_of_sklearn(clusters: int) -> None:
    values = np.random.default_rng(5).zipf(1.6, 600).clip(0, 10**4) + np.random.default_rng(6).laplace(0, 9, 600)
    ours = inertia(values, clustered(values, clusters))
    theirs = KMeans(clusters, n_init=10, random_state=0).fit(values[:, np.newaxis]).inertia_
    assert ours <= theirs * (1 + 1e-9)


def test_whole_clusters_are_taken_by_their_mean() -> None:
    counts = [30 * group + member for group in range(1, 7) for member in range(6)]
    matrix = np.repeat(np.eye(len(counts), dtype=np.int64), counts, axis=0)
    noisy = np.array(seeded(3).discrete_laplace(counts, Fraction(2)), dtype=float)
    means = KMeans(6, n_init=10, random_state=0).fit(noisy[:, np.newaxis])
    threshold = int(np.sort(means.cluster_centers_[:, 0])[3])  # which the fourth cluster reaches, but not all in it
    expected = np.flatnonzero(means.cluster_centers_[means.labels_, 0] >= threshold)
    selection = select(
        matrix,
        np.arange(len(matrix)) % 2,
        method="clusters",
        epsilon="1/2",
        threshold=threshold,
        clusters=6,
        neighbours="add-remove-one",
        most_features=1,
        noise=seeded(3),
    )
    assert selection.features == tuple(expected) == tuple(range(18, 36))
    assert selection.scores == tuple(noisy[expected])
    assert noisy[expected].min() < threshold
