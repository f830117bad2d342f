"""Boards of many entries: ranks are those of the plain matrix of all pairs, without the matrix in memory."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from confide.contest.board import (
    Board,
    Covariance,
    IndependentValues,
    InfluenceCovariance,
    MatrixCovariance,
    Standing,
    influence_covariance,
    influence_variances,
    make_board,
)
from confide.contest.metric import ContestMetric
from confide.contest.ranks import BLOCK, critical_value
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.intervals.interval import Interval

SIZES = (0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7)
MEBIBYTE = 2**20


def plain_ranks(goodness: FloatArray, covariance: FloatArray, *, zero: bool) -> list[tuple[int, int]]:
    """Return lowest and highest rank of each entry, from matrices of all pairs at once."""
    variances = np.diag(covariance)
    spread = np.maximum(variances[:, None] + variances[None, :] - 2.0 * covariance, 0.0)
    if zero:
        spread = np.maximum(spread, np.maximum(variances[:, None] + variances[None, :] + 2.0 * covariance, 0.0))
    np.fill_diagonal(spread, 0.0)
    better = goodness[None, :] - goodness[:, None] > critical_value(goodness.size, 0.95) * np.sqrt(spread)
    return [
        (1 + int(up), goodness.size - int(down))
        for up, down in zip(better.sum(axis=1), better.sum(axis=0), strict=True)
    ]


def ranked(values: FloatArray, covariance: Covariance, metric: str = "auc") -> Board:
    terms = ContestTerms(
        name="heart",
        title="Heart",
        metric=ContestMetric.checked(metric),
        rows=1_000,
        public_rows=1_000,
        epsilon=Fraction(2),
        flip=Fraction(3, 25),
    )
    interval = Interval(lower=0.0, upper=1.0, level=0.95, method="test")
    standings = [
        Standing(name=f"{place:05d}", submission="one", value=float(value), sample=interval, population=interval)
        for place, value in enumerate(values)
    ]
    return make_board(terms, standings, covariance, scored=len(standings), as_of=datetime(2026, 5, 1, tzinfo=UTC))


def found(board: Board) -> list[tuple[int, int]]:
    return [(one.rank_lowest, one.rank_highest) for one in sorted(board.entries, key=lambda entry: entry.name)]


def simulated(entries: int, rows: int = 60) -> tuple[FloatArray, FloatArray]:
    """Return values, some of them alike, and influences that share a part, so that some pairs differ and some tie."""
    generator = np.random.default_rng(entries)
    influences = generator.standard_normal((entries, rows)) + 0.8 * generator.standard_normal(rows)
    values = np.round(generator.normal(0.0, 2.0, entries), 2)
    return values, influences.astype(np.float32)


@pytest.mark.parametrize("entries", SIZES)
@pytest.mark.parametrize("metric", ["auc", "brier", "calibration_in_the_large"])
def test_ranks_are_those_of_the_matrix_of_all_pairs(entries: int, metric: str) -> None:
    values, influences = simulated(entries)
    exact = influences.astype(np.float64)
    goodness = np.array([ContestMetric.checked(metric).goodness(float(value)) for value in values])
    expected = plain_ranks(goodness, exact @ exact.T / 60**2, zero=metric == "calibration_in_the_large")
    assert found(ranked(values, InfluenceCovariance(list(influences)), metric)) == expected
    if entries > BLOCK:
        assert len(set(expected)) > 20  # the case decides something


@pytest.mark.parametrize("entries", SIZES)
def test_values_with_independent_noise_are_ranked_as_by_a_diagonal_matrix(entries: int) -> None:
    generator = np.random.default_rng(entries)
    values, variances = generator.normal(0.0, 1.0, entries), generator.random(entries) * 0.01
    expected = plain_ranks(values, np.diag(variances), zero=False)
    assert found(ranked(values, IndependentValues(variances))) == expected


def test_entries_that_share_a_submission_share_a_row_of_the_matrix() -> None:
    values, influences = simulated(300)
    places = np.random.default_rng(1).integers(0, 300, 700)
    exact = influences.astype(np.float64)
    matrix = exact @ exact.T / 60**2
    expected = plain_ranks(values[places], matrix[np.ix_(places, places)], zero=False)
    assert found(ranked(values[places], MatrixCovariance(matrix, places))) == expected


def test_blocks_and_variances_are_parts_of_the_matrix() -> None:
    _, influences = simulated(2 * BLOCK + 7)
    covariance = InfluenceCovariance(list(influences))
    matrix = influence_covariance(list(influences))
    assert influence_variances(list(influences)) == pytest.approx(np.diag(matrix), rel=1e-12)
    first, second = slice(BLOCK, 2 * BLOCK), slice(0, 9)
    assert covariance.block(first, second) == pytest.approx(matrix[first, second], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("masked", [True, False])
def test_memory_does_not_grow_with_the_square_of_the_entries(masked: bool) -> None:
    """The matrix of 3,000 entries takes 69 MiB; the blocks and the board of all of them take less than 20."""
    values, influences = simulated(3_000, rows=20)
    rows = list(influences)
    tracemalloc.start()
    covariance = InfluenceCovariance(rows) if masked else IndependentValues(np.full(3_000, 0.01))
    board = ranked(values, covariance)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(board.entries) == 3_000
    assert peak < 20 * MEBIBYTE


def test_the_matrix_of_all_pairs_would_be_noticed() -> None:
    """The broken twin: a matrix of 3,000 entries alone exceeds the limit of the test of memory."""
    _, influences = simulated(3_000, rows=20)
    tracemalloc.start()
    influence_covariance(list(influences))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak > 60 * MEBIBYTE
