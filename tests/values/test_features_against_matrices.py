"""Rows of binary features against plain matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from confide.errors import DataError, ParameterError
from confide.features import FeatureRows
from tests.features import Dense, dense_rows, made


@given(dense_rows())
def test_a_matrix_is_read_and_given_back(dense: Dense) -> None:
    rows = made(dense)
    assert len(rows) == len(dense.labels)
    assert rows.width == dense.matrix.shape[1]
    np.testing.assert_array_equal(rows.matrix().toarray(), dense.matrix)
    for kind in (csr_array, csc_array):
        np.testing.assert_array_equal(FeatureRows.from_matrix(kind(dense.matrix), dense.labels).features, rows.features)


@given(dense_rows())
def test_counts_are_sums_by_class(dense: Dense) -> None:
    rows = made(dense)
    expected = [dense.matrix[dense.labels].sum(axis=0), dense.matrix[~dense.labels].sum(axis=0)]
    np.testing.assert_array_equal(rows.counts(), expected)
    assert rows.class_sizes() == (dense.labels.sum(), (~dense.labels).sum())


@given(dense_rows(), st.data())
def test_rows_and_features_are_chosen(dense: Dense, data: st.DataObject) -> None:
    rows = made(dense)
    chosen = data.draw(arrays.arrays(np.bool_, len(rows)))
    features = np.flatnonzero(data.draw(arrays.arrays(np.bool_, rows.width)))
    some = rows.rows(chosen)
    np.testing.assert_array_equal(some.matrix().toarray(), dense.matrix[chosen])
    np.testing.assert_array_equal(some.labels, dense.labels[chosen])
    if features.size:
        np.testing.assert_array_equal(rows.only(features).matrix().toarray(), dense.matrix[:, features])


def test_no_feature_at_all_can_be_chosen() -> None:
    none = made(Dense(np.ones((3, 2), dtype=np.int64), np.array([True, False, True]))).only(np.zeros(0, dtype=np.int64))
    assert (none.width, len(none), none.features.size) == (0, 3, 0)
    assert none.class_sizes() == (2, 1)


@pytest.mark.parametrize(
    "matrix", [[[0, 2]], [[0.5, 1]], [["a", "b"]], [0, 1], csr_array(np.array([[0.0, 3.0]])), [[np.nan, 1.0]]]
)
def test_what_is_not_binary_is_refused_without_showing_it(matrix: object) -> None:
    with pytest.raises(DataError, match="must be") as raised:
        FeatureRows.from_matrix(matrix, np.array([True]))
    assert "2" not in str(raised.value)
    assert "3" not in str(raised.value)


@pytest.mark.parametrize(
    ("starts", "features", "labels", "width"),
    [
        ([0, 1], [2], [True], 2),  # no such feature
        ([0, 2], [1, 1], [True], 2),  # one feature twice
        ([0, 2], [1, 0], [True], 2),  # descending
        ([0, 2, 1], [0, 1], [True, False], 2),
        ([0, 1], [0, 1], [True], 2),
        ([1, 2], [0, 1], [True], 2),
        ([0, 1], [0], [True, False], 2),
    ],
)
def test_what_are_no_rows_is_refused(starts: list[int], features: list[int], labels: list[bool], width: int) -> None:
    with pytest.raises(ParameterError):
        FeatureRows(np.array(starts), np.array(features), np.array(labels), width)


def test_a_feature_of_the_last_row_may_follow_a_higher_one_of_the_row_before() -> None:
    rows = FeatureRows(np.array([0, 0, 2, 3, 3]), np.array([0, 4, 1]), np.zeros(4, dtype=np.bool_), 5)
    expected: NDArray[np.float64] = np.zeros((4, 5))
    expected[1, [0, 4]] = expected[2, 1] = 1
    np.testing.assert_array_equal(rows.matrix().toarray(), expected)


def test_the_text_form_shows_nothing_of_the_data() -> None:
    rows = made(Dense(np.ones((7, 3), dtype=np.int64), np.ones(7, dtype=np.bool_)))
    assert repr(rows) == "<FeatureRows of 3 features>"
