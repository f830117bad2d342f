"""Rows of binary features for tests: small dense matrices, and their neighbours under each relation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from confide.features import FeatureRows

Row = tuple[tuple[int, ...], bool]


@dataclass(frozen=True)
class Dense:
    """A matrix of zeros and ones and a label for each of its rows."""

    matrix: NDArray[np.int64]
    labels: NDArray[np.bool_]


@st.composite
def dense_rows(draw: st.DrawFn, most_rows: int = 7, most_features: int = 6) -> Dense:
    height = draw(st.integers(0, most_rows))
    width = draw(st.integers(1, most_features))
    matrix = draw(arrays.arrays(np.int64, (height, width), elements=st.integers(0, 1)))
    return Dense(matrix, draw(arrays.arrays(np.bool_, height)))


def made(dense: Dense) -> FeatureRows:
    return FeatureRows.from_matrix(dense.matrix, dense.labels)


def of_rows(rows: list[Row], width: int) -> FeatureRows:
    matrix = np.array([features for features, _ in rows], dtype=np.int64).reshape(len(rows), width)
    return FeatureRows.from_matrix(matrix, np.array([label for _, label in rows], dtype=np.bool_))


def every_row(width: int) -> list[Row]:
    return [(features, label) for features in product((0, 1), repeat=width) for label in (False, True)]


def neighbours_of(dense: Dense, relation: str) -> Iterator[FeatureRows]:
    """Every neighbour under a relation; under add-remove-one those with a row more or less."""
    width = dense.matrix.shape[1]
    rows: list[Row] = [
        (tuple(features), bool(label)) for features, label in zip(dense.matrix.tolist(), dense.labels, strict=True)
    ]
    if relation == "add-remove-one":
        yield from (of_rows([*rows, row], width) for row in every_row(width))
        yield from (of_rows(rows[:i] + rows[i + 1 :], width) for i in range(len(rows)))
    elif relation == "replace-one":
        yield from (
            of_rows([*rows[:i], row, *rows[i + 1 :]], width) for i in range(len(rows)) for row in every_row(width)
        )
    else:
        for i, (features, label) in enumerate(rows):
            yield of_rows([*rows[:i], (features, not label), *rows[i + 1 :]], width)
