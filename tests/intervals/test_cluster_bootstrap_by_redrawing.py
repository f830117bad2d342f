"""Bootstrap of clusters: replicates against rows put together by hand, and standard errors against the formula."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from confide import ScoreCounts
from confide.errors import ParameterError
from confide.intervals import clusters as module
from confide.intervals.clusters import (
    ClusteredScores,
    Score,
    cluster_bootstrap,
    cluster_estimate,
    cluster_replicates,
    draw_clusters,
)
from confide.metrics.registry import METRICS
from tests.intervals.clustered_rows import draw_stays


@pytest.mark.parametrize("weighted", [False, True])
def test_a_replicate_repeats_the_rows_of_drawn_clusters(weighted: bool) -> None:
    stays = draw_stays(np.random.default_rng(1), patients=25, decimals=1)
    weights = np.arange(stays.labels.size) % 3 + 1 if weighted else None
    prepared = ClusteredScores.prepare(stays.labels, stays.scores[0], stays.patients, weights)
    drawn = draw_clusters(25, np.random.default_rng(2))
    chosen = np.concatenate([np.flatnonzero(stays.patients == c) for c in np.repeat(np.arange(25), drawn)])
    expected = ScoreCounts.from_arrays(
        stays.labels[chosen], stays.scores[0][chosen], None if weights is None else weights[chosen]
    )
    assert drawn.sum() == 25
    assert prepared.counts(drawn) == expected


@pytest.mark.statistical
def test_standard_errors_are_near_the_formula() -> None:
    """1,000 replicates: a standard error of about 2.3 %; 10 % is four of them."""
    stays = draw_stays(np.random.default_rng(3), patients=300, likeness=0.95)
    names = ("auc", "brier", "average_precision")
    metrics = {name: METRICS[name] for name in names}
    found = cluster_bootstrap(stays.labels, stays.scores[0], stays.patients, metrics, replicates=1_000, rng=4)
    for name in names:
        formula = cluster_estimate(stays.labels, stays.scores[0], stays.patients, name)
        assert found[name].standard_error == pytest.approx(formula.standard_error, rel=0.1), name
        assert found[name].known_interval.method == "cluster bootstrap, percentile"
    alone = cluster_bootstrap(
        stays.labels, stays.scores[0], np.arange(stays.labels.size), metrics, replicates=1_000, rng=4
    )
    formula = cluster_estimate(stays.labels, stays.scores[0], stays.patients, "auc")
    assert alone["auc"].standard_error != pytest.approx(formula.standard_error, rel=0.1)  # rows taken for independent


def test_cells_keep_thresholds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    stays = draw_stays(np.random.default_rng(5), patients=200)
    metrics: dict[str, Score] = {"recall": partial(METRICS["recall"], threshold=0.3), "auc": METRICS["auc"]}

    def replicates(
        thresholds: tuple[float, ...] = (0.3,),
    ) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
        prepared = ClusteredScores.prepare(stays.labels, stays.scores[0], stays.patients, thresholds=thresholds)
        return cluster_replicates([prepared], metrics, 200, replicates=100, rng=6)

    exact = replicates()
    monkeypatch.setattr(module, "MOST_CELLS", 20)
    coarse = replicates()
    np.testing.assert_array_equal(coarse["recall"], exact["recall"])
    np.testing.assert_allclose(coarse["auc"], exact["auc"], atol=0.01)
    assert not np.array_equal(replicates(thresholds=())["recall"], exact["recall"])


def test_scores_share_the_draws() -> None:
    stays = draw_stays(np.random.default_rng(7), patients=40)
    prepared = ClusteredScores.prepare(stays.labels, stays.scores[0], stays.patients)
    found = cluster_replicates([prepared, prepared], {"auc": METRICS["auc"]}, 40, replicates=100, rng=8)
    np.testing.assert_array_equal(found["auc"][0], found["auc"][1])


def test_replicates_without_a_class_are_left_out() -> None:
    labels, scores = np.array([True, False, False, True]), np.array([0.6, 0.7, 0.2, 0.9])
    found = cluster_bootstrap(labels, scores, np.arange(4), {"auc": METRICS["auc"]}, replicates=200, rng=9)
    assert found["auc"].interval is not None
    rare = cluster_bootstrap(
        labels, scores, np.arange(4), {"lr": partial(METRICS["positive_likelihood_ratio"], threshold=0.8)}, rng=9
    )
    assert rare["lr"].interval is None


def test_few_replicates_are_refused() -> None:
    with pytest.raises(ParameterError, match="replicates must be a whole number of at least 100"):
        cluster_bootstrap(
            np.array([True, False]), np.array([0.1, 0.2]), np.arange(2), {"auc": METRICS["auc"]}, replicates=10
        )
