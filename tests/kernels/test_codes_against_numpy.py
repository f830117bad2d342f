"""Places and placements of rows: the compiled sort, NumPy's and the definition agree."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.kernels.codes import code_rows
from confide.sources import arrays
from confide.sources.arrays import code_checked

RNG = np.random.default_rng(7)
SIZE = 30_000
SCORES = {
    "distinct": RNG.random(SIZE),
    "both signs": RNG.standard_normal(SIZE),
    "two digits": RNG.random(SIZE).round(2),
    "one score": np.zeros(SIZE),
    "zeros of both signs": np.where(RNG.random(SIZE) < 0.5, -0.0, 0.0),
    "many magnitudes": RNG.standard_normal(SIZE) ** 31,
    "crowded": np.where(RNG.random(SIZE) < 0.999, 1.0 + 1e-13 * RNG.random(SIZE), 1e300),
    "descending": np.arange(SIZE, 0.0, -1.0),
}


def check(labels: Any, scores: Any, found: Any) -> None:
    distinct, positives, negatives, codes, components = found
    expected, inverse = np.unique(scores + 0.0, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    assert not np.signbit(distinct[distinct == 0.0]).any()
    np.testing.assert_array_equal(codes, inverse)
    np.testing.assert_array_equal(positives, np.bincount(inverse[labels], minlength=expected.size))
    np.testing.assert_array_equal(negatives, np.bincount(inverse[~labels], minlength=expected.size))
    ours, theirs = np.sort(scores[labels]), np.sort(scores[~labels])
    below = np.searchsorted(theirs, scores, "left") + np.searchsorted(theirs, scores, "right")
    above = 2 * ours.size - np.searchsorted(ours, scores, "left") - np.searchsorted(ours, scores, "right")
    np.testing.assert_array_equal(components, np.where(labels, below, above))


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("workers", [1, 3])
def test_places_and_components_are_those_of_the_definition(name: str, workers: int) -> None:
    labels = RNG.random(SIZE) < 0.3
    *counts, numbers = code_rows(labels.view(np.uint8), SCORES[name], workers=workers)
    check(labels, SCORES[name], (*counts, numbers[:, 0], numbers[:, 1]))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.booleans(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=90)
)
def test_any_finite_scores(rows: list[tuple[bool, float]]) -> None:
    labels, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    *counts, numbers = code_rows(labels.view(np.uint8), scores)
    check(labels, scores, (*counts, numbers[:, 0], numbers[:, 1]))


@pytest.mark.parametrize("compiled", [False, True])
def test_both_routes_agree(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "use_kernel", lambda rows, kernel: compiled)
    labels = RNG.random(500) < 0.3
    scores = RNG.random(500).round(2)
    counts, codes, components = code_checked(labels, scores)
    check(labels, scores, (counts.scores, counts.positives, counts.negatives, codes, components))


def test_a_kernel_is_loaded_once_enough_rows_were_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_counted_by_numpy", 0)
    monkeypatch.delitem(sys.modules, "confide.kernels.rows")
    assert not arrays.use_kernel(arrays.COMPILED_FROM_ROWS // 2, "rows")
    assert not arrays.use_kernel(0, "rows")
    assert arrays.use_kernel(arrays.COMPILED_FROM_ROWS // 2, "rows")


def test_a_loaded_kernel_serves_smaller_inputs() -> None:
    assert "confide.kernels.codes" in sys.modules
    assert arrays.use_kernel(arrays.LOADED_FROM_ROWS, "codes")
    assert not arrays.use_kernel(arrays.LOADED_FROM_ROWS - 1, "codes")
