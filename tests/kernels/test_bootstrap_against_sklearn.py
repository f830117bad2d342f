"""The compiled bootstrap against scikit-learn, plain resampling and published random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from confide.kernels import bootstrap
from confide.kernels.sums import sum_counts
from confide.kernels.threads import Counts, Labels, Scores

TIGHT = 1e-12


def splitmix64(state: int) -> tuple[int, int]:
    """The reference generator in Python integers: next state and output."""
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return state, z ^ (z >> 31)


def drawn_rows(state: int, size: int) -> tuple[int, list[int]]:
    drawn: list[int] = []
    while len(drawn) < size:
        state, word = splitmix64(state)
        halves = (word % 2**32, word >> 32) if size - len(drawn) > 1 else (word >> 32,)
        drawn += [half * size >> 32 for half in halves]
    return state, drawn


def table_scores(positives: Counts, negatives: Counts) -> tuple[Labels, Scores]:
    """Rows with these counts at scores 0, 1, 2, ..."""
    scores = [np.repeat(np.arange(counts.size, dtype=np.float64), counts) for counts in (positives, negatives)]
    return np.repeat(np.array([1, 0], np.uint8), [scores[0].size, scores[1].size]), np.concatenate(scores)


def table(kind: str) -> tuple[Counts, Counts]:
    rng = np.random.default_rng(17)
    if kind == "distinct":
        positives = (rng.random(301) < np.linspace(0.05, 0.4, 301)).astype(np.int64)
        return positives, 1 - positives
    if kind == "tied":
        return rng.integers(0, 4, 60) * np.arange(60) // 20, rng.integers(0, 9, 60)
    if kind == "coarse":
        return np.array([5, 0, 40, 61]), np.array([300, 120, 0, 77])
    return np.array([1, 0]), np.array([0, 2])  # one positive, below all negatives


TABLES = ["distinct", "tied", "coarse", "least"]


def test_splitmix64_against_published_values() -> None:
    state, outputs = 1234567, []
    for _ in range(5):
        state, output = splitmix64(state)
        assert int(bootstrap._mix(np.uint64(state))) == output
        outputs.append(output)
    assert outputs == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.statistical
@pytest.mark.parametrize("kind", TABLES)
def test_each_replicate_drawn_by_rows_against_scikit_learn(kind: str) -> None:
    positives, negatives = table(kind)
    _, scores = table_scores(positives, negatives)
    n, m = int(positives.sum()), int(negatives.sum())
    auc, ap = bootstrap.replicate_auc_ap(positives, negatives, 20, 42, _route="rows")
    labels = np.repeat([1, 0], [n, m])
    for replicate, start in enumerate(np.random.SeedSequence(42).generate_state(20, np.uint64).tolist()):
        state, first = drawn_rows(start, n)
        _, second = drawn_rows(state, m)
        resample = scores[[*first, *(n + row for row in second)]]
        assert auc[replicate] == pytest.approx(roc_auc_score(labels, resample), rel=TIGHT)
        assert ap[replicate] == pytest.approx(average_precision_score(labels, resample), rel=TIGHT)


@pytest.mark.parametrize("kind", TABLES)
def test_counted_resamples_against_scikit_learn(kind: str) -> None:
    original = table(kind)
    rng = np.random.default_rng(23)
    for _ in range(20):
        drawn = [rng.multinomial(counts.sum(), counts / counts.sum()) for counts in original]
        # Places come from the original table and hold the resample's counts, zeros included.
        at = np.flatnonzero(original[0])
        edges = np.concatenate([[0], np.stack([at, at + 1], axis=1).ravel()])
        places = np.add.reduceat(np.append(drawn[1], 0), edges).astype(np.int32)
        places[:-1][np.diff(edges) == 0] = 0  # reduceat repeats an entry where it should sum none
        result = bootstrap._auc_ap(drawn[0][at].astype(np.int32), places)
        labels, scores = table_scores(drawn[0], drawn[1])
        assert result[0] == pytest.approx(roc_auc_score(labels, scores), rel=TIGHT)
        assert result[1] == pytest.approx(average_precision_score(labels, scores), rel=TIGHT)


def test_places_of_a_small_table() -> None:
    places = bootstrap._places(np.array([0, 2, 0, 0, 1, 0]), np.array([3, 1, 4, 1, 0, 5]))
    assert places.positives.tolist() == [2, 1]
    assert places.negatives.tolist() == [3, 1, 5, 0, 5]


def plain_bootstrap(
    positives: Counts, negatives: Counts, replicates: int, *, drawn_share: float = 1.0, stratified: bool = True
) -> tuple[Scores, Scores]:
    """Resample rows with NumPy, of each class or of all; `drawn_share` makes it wrong."""
    rng = np.random.default_rng(29)
    labels, scores = table_scores(positives, negatives)
    n, size = int(positives.sum()), labels.size
    estimates = []
    for _ in range(replicates):
        if stratified:
            first = rng.integers(0, n, int(drawn_share * n))
            second = rng.integers(n, size, int(drawn_share * (size - n)))
            chosen = np.concatenate([first, second])
        else:
            chosen = rng.integers(0, size, size)
        sums = sum_counts(
            np.bincount(scores[chosen][labels[chosen] == 1].astype(int), minlength=positives.size),
            np.bincount(scores[chosen][labels[chosen] == 0].astype(int), minlength=positives.size),
        )
        estimates.append((sums.twice_wins / (2 * sums.positives * sums.negatives), sums.precision_sum / sums.positives))
    auc, ap = np.array(estimates).T
    return auc, ap


def discrepancies(left: Scores, right: Scores) -> tuple[float, float]:
    """Standardised differences of means and of variances; the latter with the fourth moment's standard error."""
    mean = (left.mean() - right.mean()) / math.sqrt(left.var() / left.size + right.var() / right.size)

    def log_variance(values: Scores) -> tuple[float, float]:
        squares = (values - values.mean()) ** 2
        return math.log(squares.mean()), squares.var() / squares.mean() ** 2 / values.size

    (left_log, left_error), (right_log, right_error) = log_variance(left), log_variance(right)
    return float(mean), (left_log - right_log) / math.sqrt(left_error + right_error)


@pytest.mark.few(2)
@pytest.mark.statistical
@pytest.mark.parametrize("stratified", [True, False])
@pytest.mark.parametrize("route", ["rows", "cells"])
@pytest.mark.parametrize("kind", ["distinct", "tied", "coarse"])
def test_replicates_have_the_bootstrap_distribution(kind: str, route: bootstrap.Route, stratified: bool) -> None:
    """Four z-tests at 5 standard errors in each of 12 cases: a right kernel fails at a new seed once in 35,000 times.

    Power: `test_wrong_bootstraps_are_told_apart` shows that the same test rejects two wrong bootstraps.
    """
    positives, negatives = table(kind)
    expected = plain_bootstrap(positives, negatives, 3000, stratified=stratified)
    actual = bootstrap.replicate_auc_ap(positives, negatives, 20_000, 31, within_classes=stratified, _route=route)
    for left, right in zip(actual, expected, strict=True):
        assert max(map(abs, discrepancies(left, right))) < 5.0


@pytest.mark.statistical
def test_wrong_bootstraps_are_told_apart() -> None:
    positives, negatives = table("coarse")
    actual = bootstrap.replicate_auc_ap(positives, negatives, 20_000, 31)
    fewer = plain_bootstrap(positives, negatives, 3000, drawn_share=0.7)
    assert abs(discrepancies(actual[0], fewer[0])[1]) > 5.0
    pooled = plain_bootstrap(positives, negatives, 3000, stratified=False)
    assert abs(discrepancies(actual[1], pooled[1])[1]) > 5.0


@pytest.mark.few(1)
@pytest.mark.parametrize("stratified", [True, False])
@pytest.mark.parametrize("route", ["rows", "cells"])
def test_replicates_depend_on_the_seed_and_not_on_threads(route: bootstrap.Route, stratified: bool) -> None:
    positives, negatives = np.tile(table("tied"), 300)  # several chunks of the multinomial route
    results = [
        bootstrap.replicate_auc_ap(
            positives, negatives, 101, 5, within_classes=stratified, workers=workers, _route=route
        )
        for workers in (1, 2, 3, 7)
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    other = bootstrap.replicate_auc_ap(positives, negatives, 101, 6, _route=route)
    assert not np.isin(results[0][0], other[0]).all()
    assert np.unique(results[0][0]).size > 95  # replicates differ from one another


@pytest.mark.parametrize("stratified", [True, False])
def test_first_replicates_stay_when_more_are_asked_for(stratified: bool) -> None:
    positives, negatives = table("distinct")
    few, many = (
        bootstrap.replicate_auc_ap(positives, negatives, count, 5, within_classes=stratified) for count in (10, 200)
    )
    np.testing.assert_array_equal(few, [estimates[:10] for estimates in many])


@pytest.mark.parametrize("route", ["rows", "cells"])
def test_resamples_of_one_class_have_no_value(route: bootstrap.Route) -> None:
    auc, ap = bootstrap.replicate_auc_ap(
        np.array([0, 1]), np.array([2, 0]), 2_000, 1, within_classes=False, _route=route
    )
    np.testing.assert_array_equal(np.isnan(auc), np.isnan(ap))
    assert 0.28 < np.isnan(auc).mean() < 0.39  # 1/3, and five standard errors
    assert (auc[~np.isnan(auc)] == 1.0).all()


@pytest.mark.parametrize("route", ["rows", "cells"])
def test_large_ties_do_not_overflow(route: bootstrap.Route) -> None:
    auc, ap = bootstrap.replicate_auc_ap(np.array([0, 300_000]), np.array([0, 100_000]), 5, 1, _route=route)
    assert auc.tolist() == [0.5] * 5
    assert ap.tolist() == [0.75] * 5


def test_counts_beyond_single_rows_are_drawn_by_cell() -> None:
    positives, negatives = np.array([2**29, 2**30]), np.array([2**30, 2**29])
    auc, _ = bootstrap.replicate_auc_ap(positives, negatives, 200, 1)
    truth = 0.5 + 0.5 * (1 / 3)
    assert auc.mean() == pytest.approx(truth, abs=5e-6)
    assert 0.0 < auc.std() < 1e-4


@pytest.mark.parametrize(
    ("positives", "negatives", "route"),
    [
        ([0, 0], [1, 2], "auto"),
        ([1, 2], [0, 0], "auto"),
        ([2**24, 1], [1, 0], "rows"),
        ([1, 0], [1, 2**24], "rows"),
        ([2**31, 1], [1, 0], "auto"),
    ],
)
def test_what_cannot_be_resampled_is_refused(
    positives: list[int], negatives: list[int], route: bootstrap.Route
) -> None:
    with pytest.raises(ValueError, match="positives and negatives"):
        bootstrap.replicate_auc_ap(np.array(positives), np.array(negatives), 10, 1, _route=route)
