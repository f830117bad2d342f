"""Rank sums of arrays on a device equal those of the compiled kernels, whichever library holds the arrays."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide.kernels import array_rows
from confide.kernels.array_rows import count_sorted, distinct_scores, sort_rows, sum_sorted, thin_sorted
from confide.kernels.sums import RankSums, sum_counts
from tests.devices import LIBRARIES, Move

TIGHT = 1e-12
FLOATS = ("precision_sum", "positive_placement_ss", "negative_placement_ss")


@pytest.fixture(params=LIBRARIES)
def move(request: pytest.FixtureRequest) -> Move:
    return LIBRARIES[request.param]()


def plain_counts(labels: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    values, where = np.unique(scores.astype(np.float64), return_inverse=True)
    positives = np.bincount(where, labels, values.size).astype(np.int64)
    return values, positives, np.bincount(where, minlength=values.size) - positives


def assert_same(found: RankSums, expected: RankSums) -> None:
    assert (found.positives, found.negatives) == (expected.positives, expected.negatives)
    assert found.twice_wins == expected.twice_wins
    for name in FLOATS:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=TIGHT, abs=1e-300), name


RNG = np.random.default_rng(5)
SIZE = 20_000
LABELS = RNG.random(SIZE) < 0.3
NORMAL = RNG.standard_normal(SIZE) + LABELS
ROWS = {
    "distinct": (LABELS, NORMAL),
    "single precision": (LABELS, NORMAL.astype(np.float32)),
    "ties": (LABELS, NORMAL.round(1)),
    "long ties": (LABELS, NORMAL.round(0)),
    "one score": (LABELS, np.full(SIZE, 0.25)),
    "both zeros": (LABELS, np.where(RNG.random(SIZE) < 0.5, -0.0, 0.0)),
    "separated": (LABELS, LABELS + RNG.random(SIZE) / 2),
    "nearly separated": (LABELS, np.where(np.arange(SIZE) < 5, 9.0, LABELS) + RNG.random(SIZE) / 2),
    "reversed": (LABELS, -1.0 * LABELS + RNG.random(SIZE) / 2),
    "one positive": (np.arange(SIZE) == 7, NORMAL),
    "extreme": (LABELS, np.where(LABELS, 1.7e308, -1.7e308) * RNG.choice([1.0, 5e-324], SIZE)),
}


@pytest.mark.few(18)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("chunk", [None, 1_000, 64])
def test_sums_equal_those_of_counts(move: Move, rows: str, chunk: int | None) -> None:
    labels, scores = ROWS[rows]
    _, positives, negatives = plain_counts(labels, scores)
    found = sum_sorted(sort_rows(move(labels), move(scores)), chunk=chunk)
    assert_same(found, sum_counts(positives, negatives))


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([-2.5, -0.0, 0.0, 1e-300, 0.1, 0.3, 7.0])), min_size=1),
    st.integers(1, 9),
)
def test_any_few_rows_in_any_chunks(rows: list[tuple[bool, float]], chunk: int) -> None:
    labels, scores = np.array([label for label, _ in rows]), np.array([score for _, score in rows])
    values, positives, negatives = plain_counts(labels, scores)
    for library in ("numpy", "array-api-strict"):
        move = LIBRARIES[library]()
        ranked = sort_rows(move(labels), move(scores))
        assert_same(sum_sorted(ranked, chunk=chunk), sum_counts(positives, negatives))
        assert distinct_scores(ranked) == values.size


def test_sums_equal_fractions_by_comparing_every_pair(move: Move) -> None:
    labels, scores = LABELS[:60], NORMAL[:60].round(1)
    ours, theirs = scores[labels], scores[~labels]
    wins = 2 * (ours[:, None] > theirs) + (ours[:, None] == theirs)
    found = sum_sorted(sort_rows(move(labels), move(scores)), chunk=7)
    assert found.twice_wins == wins.sum()
    for axis, squares in ((1, found.positive_placement_ss), (0, found.negative_placement_ss)):
        placed = [Fraction(int(each), 2 * wins.shape[axis]) for each in wins.sum(axis=axis)]
        mean = sum(placed, Fraction(0)) / len(placed)
        assert squares == pytest.approx(float(sum(((each - mean) ** 2 for each in placed), Fraction(0))), rel=TIGHT)
    precision = [Fraction(int((ours >= each).sum()), int((scores >= each).sum())) for each in ours]
    assert found.precision_sum == pytest.approx(float(sum(precision, Fraction(0))), rel=TIGHT)


def test_a_full_chunk_fits_float64() -> None:
    assert 2 * (array_rows.LARGEST_CHUNK // 2) ** 2 <= 2**53


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("chunk", [None, 1_000])
def test_counts_equal_those_of_the_host(move: Move, rows: str, chunk: int | None) -> None:
    labels, scores = ROWS[rows]
    values, positives, negatives = plain_counts(labels, scores)
    ranked = sort_rows(move(labels), move(scores))
    found = [np.concatenate(part) for part in zip(*count_sorted(ranked, chunk=chunk), strict=True)]
    assert np.array_equal(found[0], values)
    assert np.array_equal(found[1], positives)
    assert np.array_equal(found[2], positives + negatives)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # the sums of extreme scores
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("error", [0.2, 0.01])
def test_cells_are_small_or_single_scores(move: Move, rows: str, error: float) -> None:
    labels, scores = ROWS[rows]
    values, positives, negatives = plain_counts(labels, scores)
    thresholds = [float(values[len(values) // 3]), 0.123]
    means, ours, theirs = thin_sorted(sort_rows(move(labels), move(scores)), error, thresholds)
    assert (np.diff(means) > 0).all()
    assert (ours.sum(), theirs.sum()) == (positives.sum(), negatives.sum())
    assert (means[0], means[-1]) == (values[0], values[-1])
    # A cell that is a single score has that score, and all its rows.
    where = np.minimum(np.searchsorted(values, means), values.size - 1)
    single = (values[where] == means) & (positives[where] == ours) & (negatives[where] == theirs)
    for size, count in ((ours, positives), (theirs, negatives)):
        assert (size[~single] <= max(1, error * count.sum())).all()
    for threshold in thresholds:
        assert ours[means >= threshold].sum() == positives[values >= threshold].sum()
        assert theirs[means >= threshold].sum() == negatives[values >= threshold].sum()
    through = np.cumsum(positives), np.cumsum(negatives)
    corners = set(zip(*(each.tolist() for each in through), strict=True))
    assert set(zip(np.cumsum(ours).tolist(), np.cumsum(theirs).tolist(), strict=True)) <= corners


def test_means_of_cells_are_those_of_their_rows(move: Move) -> None:
    labels, scores = ROWS["distinct"]
    means, ours, theirs = thin_sorted(sort_rows(move(labels), move(scores + 1e6)), 0.01)
    edges = np.concatenate([[0], np.cumsum(ours + theirs)])
    ordered = np.sort(scores + 1e6)
    expected = [ordered[low:high].mean() for low, high in pairwise(edges)]
    np.testing.assert_allclose(means - 1e6, np.array(expected) - 1e6, rtol=0, atol=1e-8)


@pytest.mark.parametrize("rows", ["distinct", "ties"])
def test_memory_is_a_few_bytes_a_row(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting needs most: places and sorted scores. NumPy tells tracemalloc what it holds."""
    monkeypatch.setattr(array_rows, "_SMALLEST_CHUNK", 1 << 10)
    labels, scores = (np.tile(part, 10) for part in ROWS[rows])
    if rows == "distinct":
        scores = scores + np.repeat(np.arange(10), SIZE)
    tracemalloc.start()
    try:
        sum_sorted(sort_rows(labels, scores))
        held = tracemalloc.get_traced_memory()[1] / scores.size
    finally:
        tracemalloc.stop()
    assert held + scores.itemsize + labels.itemsize <= 50
