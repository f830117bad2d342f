"""AUC of clustered rows: Obuchowski's (1997) definition by loops over pairs of rows."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import f, ttest_ind
from scipy.stats import t as student

from confide.errors import DataError, ParameterError
from confide.intervals.clusters import checked_clusters, cluster_codes, cluster_placements, compare_aucs_clustered
from confide.intervals.comparison import compare_aucs
from confide.intervals.differences import against_rest, compare_models
from tests.intervals.clustered_rows import Stays, draw_stays


def wins(ours: float, theirs: float) -> float:
    return 1.0 if ours > theirs else 0.5 if ours == theirs else 0.0


def covariance_by_loops(stays: Stays) -> tuple[list[float], NDArray[np.float64]]:
    """Return AUCs and their covariance as the article defines them (section 2), one sum at a time."""
    names = sorted(set(stays.patients.tolist()))
    labels = stays.labels.tolist()
    positives, negatives = labels.count(True), labels.count(False)
    aucs, of_positives, of_negatives = [], [], []
    for scores in (column.tolist() for column in stays.scores):
        ours = [score for score, label in zip(scores, labels, strict=True) if label]
        theirs = [score for score, label in zip(scores, labels, strict=True) if not label]
        auc = sum(wins(x, y) for x in ours for y in theirs) / (positives * negatives)
        aucs.append(auc)
        sums = {name: [0.0, 0.0] for name in names}
        for score, label, name in zip(scores, labels, stays.patients.tolist(), strict=True):
            if label:
                sums[name][0] += sum(wins(score, y) for y in theirs) / negatives - auc
            else:
                sums[name][1] += sum(wins(x, score) for x in ours) / positives - auc
        of_positives.append([sums[name][0] for name in names])
        of_negatives.append([sums[name][1] for name in names])
    with_positives = len({n for n, label in zip(stays.patients.tolist(), labels, strict=True) if label})
    with_negatives = len({n for n, label in zip(stays.patients.tolist(), labels, strict=True) if not label})
    models = len(aucs)
    covariance = np.empty((models, models))
    for r in range(models):
        for s in range(models):
            s10 = sum(a * b for a, b in zip(of_positives[r], of_positives[s], strict=True))
            s01 = sum(a * b for a, b in zip(of_negatives[r], of_negatives[s], strict=True))
            s11 = sum(a * b for a, b in zip(of_positives[r], of_negatives[s], strict=True))
            s11 += sum(a * b for a, b in zip(of_positives[s], of_negatives[r], strict=True))
            covariance[r, s] = (
                with_positives / (with_positives - 1) * s10 / positives**2
                + with_negatives / (with_negatives - 1) * s01 / negatives**2
                + len(names) / (len(names) - 1) * s11 / (positives * negatives)
            )
    return aucs, covariance


def named(stays: Stays) -> dict[str, NDArray[np.float64]]:
    return {f"model {i}": scores for i, scores in enumerate(stays.scores)}


@pytest.mark.parametrize("decimals", [None, 1])
def test_covariance_is_the_published_one(decimals: int | None) -> None:
    stays = draw_stays(np.random.default_rng(1), patients=40, models=3, decimals=decimals)
    aucs, covariance = covariance_by_loops(stays)
    found = compare_aucs_clustered(stays.labels, named(stays), stays.patients)
    np.testing.assert_allclose(found.aucs, aucs, atol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-14)
    first = found.differences[0]
    expected = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    assert first.standard_error**2 == pytest.approx(expected, rel=1e-9)
    assert first.z == pytest.approx(first.difference / first.standard_error)
    assert first.simultaneous is not None
    assert first.simultaneous.width > first.interval.width
    assert first.interval.method == "paired Obuchowski, clustered"


def test_one_row_a_cluster_is_delong() -> None:
    stays = draw_stays(np.random.default_rng(2), models=2, decimals=1)
    found = compare_aucs_clustered(stays.labels, named(stays), np.arange(stays.labels.size))
    delong = compare_aucs(stays.labels, named(stays))
    np.testing.assert_allclose(found.covariance, delong.covariance, rtol=1e-12)
    # One difference: Hotelling's F is Student's t squared, with as many degrees of freedom as clusters less one.
    tail = 2.0 * student.sf(abs(delong.differences[0].z), stays.labels.size - 1)
    assert found.p_value == pytest.approx(tail, rel=1e-9)
    assert found.differences[0].p_value == pytest.approx(tail, rel=1e-9)


def test_few_clusters_use_student_as_estimates_do() -> None:
    """Five clusters: a z-test rejects a true hypothesis in 10 to 14 % of datasets, and t in 3 to 5 %."""
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(5), 30)
    labels = rng.random(150) < 0.4
    scores = {name: 1.0 / (1.0 + np.exp(rng.normal(size=150) - 1.0 * labels)) for name in "abc"}
    found = compare_aucs_clustered(labels, scores, clusters)
    others = compare_models(labels, scores, "brier", clusters=clusters)
    groups = np.where(rng.random(150) < 0.5, "x", "y")
    for each in (*found.differences, *others, *against_rest(labels, scores["a"], groups, "brier", codes=clusters)):
        assert each.p_value == pytest.approx(2.0 * student.sf(abs(each.z), 4), rel=1e-9)
        reach = student.ppf(0.975, 4) * each.standard_error
        assert each.interval.upper == pytest.approx(each.difference + reach, rel=1e-9)
        # Of two groups, one difference is the other reversed: both intervals are then the same but for rounding.
        assert each.simultaneous is None or each.simultaneous.width > each.interval.width * (1.0 - 1e-9)
    statistic = found.chi_squared * (4 - 2 + 1) / (2 * 4)
    assert found.p_value == pytest.approx(f.sf(statistic, 2, 3), rel=1e-9)


@pytest.mark.parametrize("sizes", [(3, 17), (5, 5), (2, 9, 6)])
def test_a_group_of_whole_clusters_is_compared_by_welchs_test(sizes: tuple[int, ...]) -> None:
    """With clusters of one size, the Brier score of a group is the mean of its clusters' means."""
    rng, rows = np.random.default_rng(21), 12
    clusters = np.repeat(np.arange(sum(sizes)), rows)
    groups = np.repeat(np.repeat(np.array(list("abc"))[: len(sizes)], sizes), rows)
    labels, scores = rng.random(clusters.size) < 0.4, np.clip(rng.random(clusters.size) + 0.1 * (clusters % 3), 0, 1)
    means = ((scores - labels) ** 2).reshape(-1, rows).mean(axis=1)
    for found in against_rest(labels, scores, groups, "brier", codes=clusters):
        inside = groups[::rows] == found.first
        expected = ttest_ind(means[inside], means[~inside], equal_var=False)
        interval = expected.confidence_interval()
        assert found.z == pytest.approx(expected.statistic, rel=1e-9)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
        assert (found.interval.lower, found.interval.upper) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_a_weight_repeats_a_row_in_its_cluster() -> None:
    stays = draw_stays(np.random.default_rng(3), models=2)
    times = np.random.default_rng(4).integers(1, 4, stays.labels.size)
    weighted = cluster_placements(stays.labels, stays.scores, stays.patients, times)
    repeated = cluster_placements(
        np.repeat(stays.labels, times),
        [np.repeat(score, times) for score in stays.scores],
        np.repeat(stays.patients, times),
    )
    np.testing.assert_allclose(weighted.covariance(), repeated.covariance(), rtol=1e-12)


def test_clusters_have_any_names() -> None:
    assert cluster_codes(np.array(["b", "a", "b"], dtype=object)).tolist() == [1, 0, 1]
    assert cluster_codes([7, 3, 7]).tolist() == [1, 0, 1]
    assert cluster_codes(np.array([0.5, 0.25, 0.5])).tolist() == [1, 0, 1]


def test_missing_and_too_few_clusters_are_refused() -> None:
    with pytest.raises(DataError, match="some clusters are missing"):
        cluster_codes(np.array(["a", None], dtype=object))
    with pytest.raises(DataError, match="some clusters are missing"):
        cluster_codes([1.0, float("nan")])
    with pytest.raises(ParameterError, match="clusters and labels differ in length"):
        checked_clusters([1, 2], 3)
    labels, scores = np.array([True, True, False, False]), [np.array([0.9, 0.4, 0.3, 0.6])]
    with pytest.raises(DataError, match="at least two clusters with rows of each class"):
        cluster_placements(labels, scores, np.array([0, 0, 1, 2]))


def test_hundred_thousand_rows_take_less_than_a_second() -> None:
    rng = np.random.default_rng(5)
    labels, patients = rng.random(100_000) < 0.1, rng.integers(60_000, size=100_000)
    scores = [rng.standard_normal(100_000) + labels for _ in range(2)]
    start = time.process_time()  # whatever else the machine does
    cluster_placements(labels, scores, cluster_codes(patients)).covariance()
    assert time.process_time() - start < 1.0
