"""The compiled kernels against plain NumPy, scikit-learn and exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from confide.kernels import buckets, rows
from confide.kernels.rows import Route
from confide.kernels.sums import Centre, RankSums, rank_sums, sum_counts
from confide.kernels.threads import Counts, Keys, Labels, Scores
from tests.examples import examples

ROUTES = get_args(Route)
LARGEST = float(np.finfo(np.float64).max)
TINY = 5e-324
AWKWARD = [0.0, -0.0, TINY, -TINY, 2.2e-308, 1.0, math.nextafter(1.0, 2.0), -1.0, 0.5, LARGEST, -LARGEST, 1e300]
TIGHT = 1e-12


# --- oracles -------------------------------------------------------------------------------------------------------


def exact_sums(labels: list[int], scores: list[float]) -> dict[str, Fraction]:
    """All sums by comparing every pair, in fractions."""
    positives = [Fraction(s) for y, s in zip(labels, scores, strict=True) if y]
    negatives = [Fraction(s) for y, s in zip(labels, scores, strict=True) if not y]
    n, m = len(positives), len(negatives)
    sums = dict.fromkeys(("twice_wins", "precision_sum", "positive_placement_ss", "negative_placement_ss"), Fraction(0))
    if n == 0 or m == 0:
        return sums

    def wins(a: Fraction, b: Fraction) -> int:
        return 2 * (a > b) + (a == b)

    above = [(sum(a >= s for a in positives), sum(b >= s for b in negatives)) for s in positives]
    placed_positives = [Fraction(sum(wins(a, b) for b in negatives), 2 * m) for a in positives]
    placed_negatives = [Fraction(sum(wins(a, b) for a in positives), 2 * n) for b in negatives]
    auc = sum(placed_positives, Fraction(0)) / n
    sums["twice_wins"] = 2 * n * m * auc
    sums["precision_sum"] = sum((Fraction(tp, tp + fp) for tp, fp in above), Fraction(0))
    sums["positive_placement_ss"] = sum(((v - auc) ** 2 for v in placed_positives), Fraction(0))
    sums["negative_placement_ss"] = sum(((v - auc) ** 2 for v in placed_negatives), Fraction(0))
    return sums


def plain_counts(labels: Labels, scores: Scores) -> tuple[Scores, Counts, Counts]:
    values, where = np.unique(scores, return_inverse=True)
    positives = np.bincount(where, weights=labels, minlength=values.size).astype(np.int64)
    return values, positives, np.bincount(where, minlength=values.size) - positives


def dense_ranks(scores: Scores) -> Scores:
    """Ranks with the same order and ties: scikit-learn subtracts scores, and the largest overflow."""
    return np.unique(scores, return_inverse=True)[1].astype(np.float64)


def plain_sums(labels: Labels, scores: Scores) -> RankSums:
    """All sums from sorted ranks; those of squares in integers."""
    positives, negatives = scores[labels == 1], scores[labels == 0]
    n, m = positives.size, negatives.size
    order = np.sort(negatives)
    below = np.searchsorted(order, positives, "left") + np.searchsorted(order, positives, "right")
    order = np.sort(positives)
    above = 2 * n - np.searchsorted(order, negatives, "left") - np.searchsorted(order, negatives, "right")

    def squares(placements: Counts) -> Fraction:
        total = int(placements.sum())
        return int(np.dot(placements, placements)) - Fraction(total * total, placements.size)

    return RankSums(
        positives=n,
        negatives=m,
        twice_wins=int(below.sum()),
        precision_sum=float(average_precision_score(labels, dense_ranks(scores))) * n,
        positive_placement_ss=float(squares(below) / (2 * m) ** 2),
        negative_placement_ss=float(squares(above) / (2 * n) ** 2),
    )


def assert_same_sums(actual: RankSums, expected: RankSums, tolerance: float = TIGHT) -> None:
    assert (actual.positives, actual.negatives) == (expected.positives, expected.negatives)
    assert actual.twice_wins == expected.twice_wins
    for name in ("precision_sum", "positive_placement_ss", "negative_placement_ss"):
        assert getattr(actual, name) == pytest.approx(getattr(expected, name), rel=tolerance, abs=1e-20), name


def assert_same_counts(actual: tuple[Scores, Counts, Counts], expected: tuple[Scores, Counts, Counts]) -> None:
    for left, right in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.signbit(actual[0][actual[0] == 0.0]).any()


# --- rows ----------------------------------------------------------------------------------------------------------


def all_bits(rng: np.random.Generator, size: int) -> Scores:
    scores = rng.integers(0, 2**64, size, dtype=np.uint64).view(np.float64)
    return np.where(np.isfinite(scores), scores, 0.0)


def piles(rng: np.random.Generator, size: int) -> Scores:
    return np.clip(rng.uniform(-0.5, 1.5, size), 0.0, 1.0)


def needle(rng: np.random.Generator, size: int) -> Scores:
    """A dense cluster that no even spacing resolves, in descending order, among far-flung scores."""
    scores = 1.0 + np.arange(size)[::-1] * 2.0**-52
    far = rng.random(size) < 0.05
    return np.where(far, rng.uniform(0.0, 1e10, size), scores)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    "uniform": lambda rng, size: rng.random(size),
    "rounded": lambda rng, size: rng.random(size).round(2),
    "half tied": lambda rng, size: np.where(rng.random(size) < 0.5, rng.random(size).round(1), rng.random(size)),
    "normal": lambda rng, size: rng.normal(size=size),
    "negative": lambda rng, size: -rng.exponential(size=size),
    "mostly negative": lambda rng, size: rng.normal(-3.0, size=size),
    "signed zeros": lambda rng, size: rng.choice([0.0, -0.0, TINY, -TINY], size),
    "signed zeros among normal": lambda rng, size: rng.normal(size=size) * rng.choice([0.0, 1.0], size),
    "subnormal": lambda rng, size: rng.integers(-1000, 1000, size).astype(np.float64) * TINY,
    "huge": lambda rng, size: rng.uniform(-1.0, 1.0, size) * LARGEST,
    "any bits": all_bits,
    "awkward": lambda rng, size: rng.choice(AWKWARD, size),
    "all equal": lambda rng, size: np.full(size, 0.3),
    "piles at 0 and 1": piles,
    "crowded at 0 and 1": lambda rng, size: rng.beta(0.05, 0.05, size),
    "saturated": lambda rng, size: 1.0 / (1.0 + np.exp(-9.0 * rng.normal(size=size))),
    "heavy tails": lambda rng, size: rng.standard_cauchy(size) ** 3,
    "needle": needle,
    "ascending": lambda rng, size: np.arange(size, dtype=np.float64),
    "descending": lambda rng, size: -np.arange(size, dtype=np.float64),
    "narrow": lambda rng, size: 1e6 + rng.random(size) * 1e-6,
    "periodic": lambda rng, size: np.tile([0.0, 1.0, 2.0, 3.0], size // 4 + 1)[:size] + rng.random(size) * 1e-9,
}


def some_rows(family: str, size: int, seed: int = 7) -> tuple[Labels, Scores]:
    rng = np.random.default_rng([seed, size])
    scores = FAMILIES[family](rng, size)
    ranks = np.argsort(np.argsort(scores, kind="stable")) / size
    labels = (rng.random(size) < 0.1 + 0.5 * ranks).astype(np.uint8)
    labels[:2] = (0, 1)  # both classes
    return labels, scores


@pytest.mark.few(35)
@pytest.mark.parametrize("size", [2, 3, 41, 300, 5000])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_against_numpy_and_scikit_learn(family: str, size: int) -> None:
    labels, scores = some_rows(family, size)
    expected, counts = plain_sums(labels, scores), plain_counts(labels, scores)
    auc = roc_auc_score(labels, dense_ranks(scores))
    for route in ROUTES:
        sums = rows.summarise_rows(labels, scores, _route=route)
        assert_same_sums(sums, expected)
        assert sums.twice_wins / (2 * sums.positives * sums.negatives) == pytest.approx(auc, rel=TIGHT)
        assert_same_counts(rows.count_rows(labels, scores, _route=route), counts)


@pytest.mark.few(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_many_rows_against_numpy(family: str) -> None:
    """Enough rows for every step of the partition, and for slices of threads that hold many of its buckets."""
    labels, scores = some_rows(family, 200_000)
    expected, counts = plain_sums(labels, scores), plain_counts(labels, scores)
    for workers in (1, 2, 3):
        for route in ROUTES:
            assert_same_sums(rows.summarise_rows(labels, scores, workers=workers, _route=route), expected)
        assert_same_counts(rows.count_rows(labels, scores, workers=workers), counts)


@examples(150)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1), st.one_of(st.sampled_from(AWKWARD), st.floats(allow_nan=False, allow_infinity=False))
        ),
        min_size=2,
        max_size=60,
    ),
    st.sampled_from(ROUTES),
    st.integers(1, 4),
)
def test_rows_against_every_pair(table: list[tuple[int, float]], route: Route, workers: int) -> None:
    labels, scores = [y for y, _ in table], [s for _, s in table]
    arrays = np.array(labels, np.uint8), np.array(scores)
    sums = rows.summarise_rows(*arrays, workers=workers, _route=route)
    assert (sums.positives, sums.negatives) == (sum(labels), len(labels) - sum(labels))
    for name, expected in exact_sums(labels, scores).items():
        assert getattr(sums, name) == pytest.approx(float(expected), rel=TIGHT, abs=1e-25), name
    assert_same_counts(rows.count_rows(*arrays, workers=workers, _route=route), plain_counts(*arrays))


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("size", [2, 1000])
def test_one_class_has_counts_and_no_sums(size: int, label: int, route: Route) -> None:
    labels = np.full(size, label, np.uint8)
    scores = np.random.default_rng(1).normal(size=size)
    sums = rows.summarise_rows(labels, scores, _route=route)
    assert (sums.positives, sums.negatives) == (size * label, size * (1 - label))
    assert (sums.twice_wins, sums.precision_sum) == (0, 0.0)
    assert (sums.positive_placement_ss, sums.negative_placement_ss) == (0.0, 0.0)
    assert_same_counts(rows.count_rows(labels, scores, _route=route), plain_counts(labels, scores))


@pytest.mark.parametrize("route", ROUTES)
def test_separated_classes_and_all_ties_have_no_variance_at_all(route: Route) -> None:
    labels = (np.arange(10_007) >= 7001).astype(np.uint8)
    for scores in (np.arange(10_007.0), -np.arange(10_007.0), np.zeros(10_007)):
        sums = rows.summarise_rows(labels, scores, _route=route)
        assert (sums.positive_placement_ss, sums.negative_placement_ss) == (0.0, 0.0)


def test_variance_keeps_its_digits_when_auc_is_nearly_1() -> None:
    size = 1_600_000  # so many that squares about 0 do not fit in 53 bits
    labels = (np.arange(size) >= 1_000_000).astype(np.uint8)
    labels[[999_700, 1_000_300]] ^= 1
    for scores in (np.arange(size, dtype=np.float64), np.arange(size, dtype=np.float64) // 1000):
        expected = plain_sums(labels, scores)
        assert 0.0 < expected.positive_placement_ss < 1e-5
        assert_same_sums(rows.summarise_rows(labels, scores), expected)


def test_squares_about_a_distant_centre_are_moved_exactly() -> None:
    n = 10**6 + 3
    total = (n - 1) * 1001 + 1000  # all deviations are 1001 but one
    sums = rank_sums(
        n,
        1,
        total,
        precision_sum=0.0,
        centre=Centre(0, total),
        squares_below=float((n - 1) * 1001**2 + 1000**2),
        squares_above=0.0,
    )
    assert sums.positive_placement_ss == pytest.approx((n - 1) / n / 4, rel=TIGHT)


def test_thread_count_changes_no_integer() -> None:
    labels, scores = some_rows("half tied", 100_003)
    results = [rows.summarise_rows(labels, scores, workers=w, _route="partition") for w in (1, 2, 3, 7)]
    for result in results[1:]:
        assert_same_sums(result, results[0], tolerance=1e-13)
    counts = [rows.count_rows(labels, scores, workers=w, _route="partition") for w in (1, 2, 7)]
    assert_same_counts(counts[1], counts[0])
    assert_same_counts(counts[2], counts[0])


def test_order_of_rows_changes_no_integer() -> None:
    labels, scores = some_rows("half tied", 50_000)
    order = np.random.default_rng(3).permutation(labels.size)
    expected = rows.summarise_rows(labels, scores)
    assert_same_sums(rows.summarise_rows(labels[order], scores[order]), expected, tolerance=1e-13)


def test_pairs_beyond_64_bits_are_counted_exactly() -> None:
    positives, negatives = np.array([3, 2**34, 0]), np.array([2**33, 5, 1])
    sums = sum_counts(positives, negatives)
    assert sums.twice_wins == 3 * 2**33 + 2**34 * (2 * 2**33 + 5)
    assert sums.twice_wins > 2**64


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_finite_range(workers: int) -> None:
    scores = np.random.default_rng(5).normal(size=100_001)
    assert rows.finite_range(scores, workers=workers) == (scores.min(), scores.max())
    for bad in (math.nan, math.inf, -math.inf):
        for place in (0, 40_000, scores.size - 1):
            spoiled = scores.copy()
            spoiled[place] = bad
            assert rows.finite_range(spoiled, workers=workers) is None
    assert rows.finite_range(np.array([-LARGEST, LARGEST])) == (-LARGEST, LARGEST)
    assert rows.finite_range(np.array([])) is None


def test_inputs_may_be_read_only_or_strided_and_kernels_compile_once() -> None:
    labels, scores = some_rows("uniform", 4000)
    frozen = labels.copy(), scores.copy()
    for array in frozen:
        array.flags.writeable = False
    for case in ((labels, scores), frozen, (np.repeat(labels, 2)[::2], np.repeat(scores, 2)[::2])):
        for route in ROUTES:
            assert_same_sums(rows.summarise_rows(*case, _route=route), plain_sums(labels, scores))
            assert_same_counts(rows.count_rows(*case, _route=route), plain_counts(labels, scores))
    kernels: list[Any] = [buckets._fill_hash_table, buckets.count_buckets, buckets._scatter_keys, rows._add_buckets]
    for kernel in [*kernels, rows._sort_buckets, rows._count_sorted]:
        assert len(kernel.signatures) == 1


# --- the steps of the partition ------------------------------------------------------------------------------------


@examples(200)
@given(
    st.lists(st.one_of(st.sampled_from(AWKWARD), st.floats(allow_nan=False, allow_infinity=False)), min_size=1),
    st.lists(st.one_of(st.sampled_from(AWKWARD), st.floats(allow_nan=False, allow_infinity=False)), min_size=1),
)
def test_every_bucket_map_is_monotone_and_parts_the_signs(sample: list[float], scores: list[float]) -> None:
    distinct = np.unique(np.array(sample) + 0.0)
    maps = [
        buckets._linear_map(float(distinct[0]), float(distinct[-1]), 64),
        buckets._linear_map(float(distinct[0]), 0.0, 64),
        buckets._leading_bits_map(np.sort(np.abs(distinct[distinct != 0.0])), 64),
    ]
    ordered = sorted(scores)
    for bucket_map in maps:
        if bucket_map is None:
            continue
        found = [int(buckets.bucket_of(score, bucket_map)) for score in ordered]
        assert found == sorted(found)
        assert 0 <= found[0] <= found[-1] < bucket_map.buckets
        assert [bucket < bucket_map.zero for bucket in found] == [score < 0.0 for score in ordered]


def some_keys(kind: str, size: int) -> Keys:
    rng = np.random.default_rng([11, size])
    kinds: dict[str, Callable[[], Counts]] = {
        "even": lambda: rng.integers(2**40, 2**41, size),
        "equal": lambda: np.full(size, 12345),
        "two": lambda: rng.choice([3, 2**62], size),
        "reversed": lambda: np.arange(size)[::-1],
        "crowded": lambda: np.append(np.arange(size - 1)[::-1] + 2**61, 5),
        "exponential": lambda: (2.0 ** rng.uniform(0.0, 61.0, size)).astype(np.int64),
        "whole range": lambda: rng.integers(0, 2**63 - 1, size),
    }
    return (kinds[kind]().astype(np.uint64) << np.uint64(1)) | rng.integers(0, 2, size).astype(np.uint64)


@pytest.mark.parametrize("kind", ["even", "equal", "two", "reversed", "crowded", "exponential", "whole range"])
@pytest.mark.parametrize("size", [1, 2, 40, 41, 300, 5000, 70_000])
def test_bucket_sort(kind: str, size: int) -> None:
    keys = some_keys(kind, size)
    work, spare = keys.copy(), np.empty_like(keys)
    moved = buckets.sort_bucket(work, spare, np.empty(1 << buckets.DIGIT_BITS, np.int64))
    result = spare if moved else work
    np.testing.assert_array_equal(result >> np.uint64(1), np.sort(keys >> np.uint64(1)))
    np.testing.assert_array_equal(np.sort(result), np.sort(keys))


def test_insertion_sort_gives_up_before_it_is_quadratic() -> None:
    keys = some_keys("reversed", 200_000)
    assert not buckets._insertion_sort(keys, 1000)
    np.testing.assert_array_equal(np.sort(keys >> np.uint64(1)), np.arange(keys.size))
    tied = some_keys("equal", 200_000)  # labels out of order are no reason to move anything
    assert buckets._insertion_sort(tied, 0)


def test_colliding_scores_are_not_hashed_for_ever() -> None:
    inverse = pow(int(buckets._HASH_FACTOR), -1, 2**64)
    wanted = ((0x2A5A << 49) + np.arange(200_000, dtype=object)) * inverse % 2**64
    scores = np.array(wanted.tolist(), np.uint64).view(np.float64)
    scores = np.tile(scores[np.isfinite(scores)][:8000], 10)
    labels = (np.arange(scores.size) % 3 == 0).astype(np.uint8)
    assert buckets._hash_table(labels, scores) is None
    assert_same_sums(rows.summarise_rows(labels, scores, _route="hash"), plain_sums(labels, scores))
