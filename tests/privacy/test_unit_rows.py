"""Rows become short whole numbers, each by itself, however they are held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array, csr_array

from confide.errors import ConfideError, DataError, ParameterError
from confide.privacy.mechanisms.unit_rows import INTERCEPT_SHARE, UNIT, UnitRows, unit_rows

numbers = st.one_of(st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False), st.just(0.0))
matrices = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=numbers)
lengths = st.floats(1e-3, 1e3)


def read(matrix: Any, *, row_norm: float = 1.0, intercept: bool = False) -> UnitRows:
    return unit_rows(matrix, np.zeros(matrix.shape[0], dtype=np.bool_), row_norm=row_norm, intercept=intercept)


@given(matrix=matrices, row_norm=lengths, intercept=st.booleans())
def test_no_row_is_longer_than_a_unit(matrix: Any, row_norm: float, intercept: bool) -> None:
    for row in read(matrix, row_norm=row_norm, intercept=intercept).matrix.tolist():
        whole = [int(value) for value in row]
        assert whole == row
        assert sum(value * value for value in whole) <= UNIT**2


@given(matrix=matrices, row_norm=lengths, intercept=st.booleans())
def test_a_row_becomes_the_same_wherever_it_stands(matrix: Any, row_norm: float, intercept: bool) -> None:
    together = read(matrix, row_norm=row_norm, intercept=intercept).matrix
    upside_down = read(matrix[::-1].copy(order="F"), row_norm=row_norm, intercept=intercept).matrix
    sparse = read(csr_array(matrix), row_norm=row_norm, intercept=intercept).matrix
    alone = [read(row[None], row_norm=row_norm, intercept=intercept).matrix[0] for row in matrix]
    for other in (upside_down[::-1], sparse.toarray(), np.array(alone)):
        np.testing.assert_array_equal(other, together)


@given(matrix=hnp.arrays(np.float64, (4, 3), elements=st.floats(-100, 100)), row_norm=lengths)
def test_rows_keep_their_direction_and_are_shortened_to_the_public_length(matrix: Any, row_norm: float) -> None:
    norms = np.linalg.norm(matrix, axis=1)
    expected = matrix / np.maximum(norms, row_norm)[:, None]
    np.testing.assert_allclose(read(matrix, row_norm=row_norm).matrix / UNIT, expected, atol=4 / UNIT)


def test_many_columns_and_many_rows_are_the_same_as_few() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(70, 3000))
    whole = read(matrix).matrix
    np.testing.assert_array_equal(np.vstack([read(row[None]).matrix for row in matrix]), whole)
    squares = np.square(whole.astype(np.int64)).sum(axis=1)
    assert squares.max() <= UNIT**2
    assert squares.min() > UNIT**2 * 0.999


def test_the_intercept_is_the_same_for_all_rows() -> None:
    rows = read(np.array([[0.0, 0.0], [3.0, 4.0], [0.1, 0.0]]), intercept=True)
    assert set(rows.matrix[:, 2]) == {float(int(INTERCEPT_SHARE * UNIT))}
    np.testing.assert_allclose(rows.matrix[1] / UNIT, [12 / 13 * 0.6, 12 / 13 * 0.8, 5 / 13], atol=3 / UNIT)
    assert rows.scales == (12 / 13, 12 / 13, 5 / 13)


def test_numbers_of_every_kind_are_read() -> None:
    matrix = np.array([[0, 1, 1], [1, 0, 0]])
    expected = read(matrix.astype(np.float64), row_norm=2.0).matrix
    for kind in (np.bool_, np.int8, np.uint64, np.float32):
        np.testing.assert_array_equal(read(matrix.astype(kind), row_norm=2.0).matrix, expected)
        np.testing.assert_array_equal(read(csr_array(matrix.astype(kind)), row_norm=2.0).matrix.toarray(), expected)


def test_entries_given_twice_add_up() -> None:
    twice = coo_array((np.array([0.25, 0.25]), (np.array([0, 0]), np.array([1, 1]))), shape=(1, 2))
    np.testing.assert_array_equal(read(twice).matrix.toarray(), [[0.0, UNIT / 2]])


@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(wrap: Any, value: float) -> None:
    with pytest.raises(DataError, match="finite"):
        read(wrap(np.array([[0.0, 1.0], [value, 0.0]])))


@pytest.mark.parametrize("row_norm", [0.0, -1.0, np.nan, np.inf, 1e10, 1e-10, True, "1"])
def test_a_length_must_be_sensible(row_norm: Any) -> None:
    with pytest.raises(ParameterError, match="row_norm"):
        read(np.zeros((1, 1)), row_norm=row_norm)


@pytest.mark.parametrize(
    ("matrix", "labels"),
    [
        (np.zeros((2, 1)), np.zeros(3, dtype=np.bool_)),
        (np.zeros((2, 0)), np.zeros(2, dtype=np.bool_)),
        (np.array([["a"], ["b"]]), np.zeros(2, dtype=np.bool_)),
        (csr_array((1, 2**20 + 1)), np.zeros(1, dtype=np.bool_)),
    ],
)
def test_what_cannot_be_read_is_refused(matrix: Any, labels: Any) -> None:
    with pytest.raises(ConfideError):
        unit_rows(matrix, labels, row_norm=1.0, intercept=False)
