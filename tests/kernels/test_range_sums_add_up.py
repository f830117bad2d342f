"""Sums of ranges add up to the sums of all rows, however rows are divided and however many there are."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.kernels.rows import sum_range
from confide.kernels.sums import RangeSums, RangeTotal, RankSums, about_mean, sum_counts

FLOATS = ("precision_sum", "positive_placement_ss", "negative_placement_ss")


def test_sums_of_billions_of_rows_are_exact() -> None:
    """No 64-bit number holds these squares; the sums of ranges are added as Python's integers."""
    parts = [(10**9, 3 * 10**9), (2, 10**9 + 1), (5 * 10**9 + 7, 1), (10**9, 10**9)]
    n, m = sum(p for p, _ in parts), sum(q for _, q in parts)
    total = RangeTotal(n, m)
    for p, q in parts:
        total.add_tie(p, q)
    below = [2 * sum(q for _, q in parts[:i]) + parts[i][1] for i in range(len(parts))]
    wins = sum(p * b for (p, _), b in zip(parts, below, strict=True))
    squares = sum(p * (b - Fraction(wins, n)) ** 2 for (p, _), b in zip(parts, below, strict=True)) / (4 * m * m)
    found = total.sums()
    assert found.twice_wins == wins
    assert found.positive_placement_ss == pytest.approx(float(squares), rel=1e-15)


ROWS = st.lists(st.tuples(st.booleans(), st.sampled_from([-2.5, -0.0, 0.0, 0.1, 0.3, 7.0])), min_size=1, max_size=60)


def ranges_of(rows: list[tuple[bool, float]], cuts: list[float]) -> tuple[RankSums, RankSums]:
    """Return the sums of rows divided at the cuts, and those of all rows at once."""
    rows = sorted(rows, key=lambda row: row[1])
    labels = np.array([label for label, _ in rows], dtype=np.uint8)
    scores = np.array([score for _, score in rows])
    total = RangeTotal(int(labels.sum()), int((1 - labels).sum()))
    edges = [0, *np.searchsorted(scores, sorted(cuts)).tolist(), labels.size]
    for first, last in pairwise(sorted(set(edges))):
        above = int(labels[last:].sum())
        total.add(sum_range(labels[first:last], scores[first:last], above=(above, labels.size - last - above)))
    values, place = np.unique(scores, return_inverse=True)
    positives = np.bincount(place, labels, values.size).astype(np.int64)
    return total.sums(), sum_counts(positives, np.bincount(place, minlength=values.size) - positives)


def assert_same(found: RankSums, expected: RankSums) -> None:
    assert (found.positives, found.negatives) == (expected.positives, expected.negatives)
    assert found.twice_wins == expected.twice_wins
    for name in FLOATS:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-14), name


@given(ROWS, st.lists(st.sampled_from([-3.0, -1.0, 0.05, 0.2, 0.3, 5.0, 9.0])))
def test_rows_may_be_divided_anywhere(rows: list[tuple[bool, float]], cuts: list[float]) -> None:
    assert_same(*ranges_of(rows, cuts))


@pytest.mark.parametrize("size", [3_000, 60_000])
def test_compiled_sums_of_ranges(size: int) -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(size) < 0.3
    rows = list(zip(labels.tolist(), (rng.standard_normal(size) + labels).tolist(), strict=True))
    assert_same(*ranges_of(rows, [-2.0, 0.5, 1.0, 4.0]))


def test_squares_about_a_mean_far_from_zero_are_exact() -> None:
    values = [10**15, 10**15 + 1, 10**15 + 5]
    assert about_mean(sum(v * v for v in values), sum(values), 3) == 14.0
    assert about_mean(26.0, sum(values), 3, 10**15) == 14.0


def test_one_class_has_no_sums() -> None:
    total = RangeTotal(2, 0)
    part = RangeSums(positives=2, negatives=0, twice_wins=0, precision_sum=2.0, squares_below=0.0, squares_above=0.0)
    total.add(part)
    assert total.sums().twice_wins == 0
    assert total.sums().precision_sum == 0.0
