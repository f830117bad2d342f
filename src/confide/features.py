"""Rows of binary features with labels, for private selection and learning.

The list of features is public; the features of a row, and its label, are private. Rows are stored as the lists of their
features, so memory grows with the number of ones, not with rows times features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.errors import DataError, ParameterError

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FeatureRows:
    """Rows as lists of the features that they have, and their labels.

    Row i has the features `features[starts[i]:starts[i + 1]]`, ascending and each once; there are `width` features
    in all. The arrays are read-only. The text form shows nothing of the data.
    """

    starts: Integers
    features: Integers
    labels: NDArray[np.bool_]
    width: int

    def __post_init__(self) -> None:
        starts = np.ascontiguousarray(self.starts, dtype=np.int64)
        features = np.ascontiguousarray(self.features, dtype=np.int64)
        labels = np.ascontiguousarray(self.labels, dtype=np.bool_)
        if self.width < 0:
            raise ParameterError("width must not be negative")
        if starts.ndim != 1 or starts.size != labels.size + 1 or starts[0] != 0 or starts[-1] != features.size:
            raise ParameterError("starts must hold where each row begins, and the number of features last")
        if (np.diff(starts) < 0).any():
            raise ParameterError("starts must not descend")
        if features.size:
            if int(features.min()) < 0 or int(features.max()) >= self.width:
                raise ParameterError("features must be numbers from 0 to width - 1")
            rising = np.diff(features) > 0
            rising[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < features.size)] - 1] = True
            if not rising.all():
                raise ParameterError("the features of a row must ascend, each once; use FeatureRows.from_matrix")
        for name, array in (("starts", starts), ("features", features), ("labels", labels)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_matrix(cls, matrix: Any, labels: NDArray[np.bool_]) -> FeatureRows:
        """Read a matrix of zeros and ones, sparse (SciPy) or dense.

        >>> rows = FeatureRows.from_matrix([[0, 1, 1], [0, 0, 0]], np.array([True, False]))
        >>> rows.features, len(rows), rows.width
        (array([1, 2]), 2, 3)
        """
        starts, features, width = _read_matrix(matrix)
        if starts.size - 1 != np.size(labels):
            raise DataError("features and labels must have the same number of rows")
        return cls(starts, features, np.asarray(labels, dtype=np.bool_), width)

    def __len__(self) -> int:
        return int(self.labels.size)

    def __repr__(self) -> str:
        return f"<FeatureRows of {self.width} features>"

    @property
    def row_of_each(self) -> Integers:
        """Row of each entry of `features`."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))

    def counts(self) -> Integers:
        """Count the positives (first row) and negatives (second row) that have each feature."""
        positive = self.labels[self.row_of_each]
        ours = np.bincount(self.features[positive], minlength=self.width)
        every = np.bincount(self.features, minlength=self.width)
        return np.vstack((ours, every - ours)).astype(np.int64)

    def class_sizes(self) -> tuple[int, int]:
        """Number of positive and of negative rows."""
        positives = int(np.count_nonzero(self.labels))
        return positives, len(self) - positives

    def rows(self, chosen: NDArray[np.bool_]) -> FeatureRows:
        """Return the chosen rows."""
        lengths = np.diff(self.starts)
        starts = np.concatenate(([0], np.cumsum(lengths[chosen])))
        return FeatureRows(starts, self.features[np.repeat(chosen, lengths)], self.labels[chosen], self.width)

    def only(self, chosen: Integers) -> FeatureRows:
        """Return the rows with the chosen features only, renumbered in the given (ascending) order."""
        place = np.full(self.width, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen), dtype=np.int64)
        kept = place[self.features] >= 0
        return self.kept(kept, numbers=place, width=len(chosen))

    def kept(
        self, kept: NDArray[np.bool_], *, numbers: Integers | None = None, width: int | None = None
    ) -> FeatureRows:
        """Return the rows with only the kept entries."""
        lengths = np.add.reduceat(np.append(kept, False), self.starts[:-1], dtype=np.int64) if len(self) else _NONE
        lengths = np.where(np.diff(self.starts) > 0, lengths, 0)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        features = self.features[kept]
        return FeatureRows(
            starts,
            features if numbers is None else numbers[features],
            self.labels,
            self.width if width is None else width,
        )

    def matrix(self) -> Any:
        """A SciPy matrix of zeros and ones."""
        from scipy.sparse import csr_array

        ones = np.ones(self.features.size)
        return csr_array((ones, self.features, self.starts), shape=(len(self), self.width))


_NONE = np.zeros(0, dtype=np.int64)

_DENSE_ROWS = 1 << 14  # dense rows are packed so many at a time, to bound memory


def row_products(matrix: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inner product of each row with the weights, as a function of that row alone.

    Dense products (BLAS) add up in an order that depends on how many rows there are, and so do last digits. Here the
    entries of a row that are not 0 are added up one by one, by ascending column, in every format.

    >>> rows = np.array([[0.1, 0.2, 0.3], [0.0, 1.0, 0.0]])
    >>> row_products(rows, np.ones(3)).tolist()  # 0.1 + 0.2 first
    [0.6000000000000001, 1.0]
    """
    if hasattr(matrix, "tocsr"):
        return _packed_products(matrix.tocsr(), weights)
    from scipy.sparse import csr_array

    dense = np.asarray(matrix, dtype=np.float64)
    parts = (csr_array(dense[first : first + _DENSE_ROWS]) for first in range(0, len(dense), _DENSE_ROWS))
    return np.concatenate([np.zeros(0), *(_packed_products(part, weights) for part in parts)])


def _packed_products(packed: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    if not packed.has_canonical_format:
        packed = packed.copy()
        packed.sum_duplicates()
    return np.asarray(packed @ weights, dtype=np.float64)


def _read_matrix(matrix: Any) -> tuple[Integers, Integers, int]:
    if hasattr(matrix, "tocsr"):
        packed = matrix.tocsr()
        if packed.data.size and not np.isin(packed.data, (0, 1)).all():
            raise DataError(_NOT_BINARY)
        packed = packed.astype(np.int64)
        packed.sum_duplicates()
        packed.eliminate_zeros()
        packed.sort_indices()
        if packed.data.size and packed.data.max() > 1:
            raise DataError(_NOT_BINARY)
        return packed.indptr.astype(np.int64), packed.indices.astype(np.int64), int(packed.shape[1])
    dense = np.asarray(matrix)
    if dense.ndim != 2:
        raise DataError("features must be a matrix with a row for each person and a column for each feature")
    if dense.dtype.kind not in "biuf" or not np.isin(dense, (0, 1)).all():
        raise DataError(_NOT_BINARY)
    rows, features = np.nonzero(dense)
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=dense.shape[0]))))
    return starts.astype(np.int64), features.astype(np.int64), int(dense.shape[1])


_NOT_BINARY = (
    "features must be 0 or 1; cut other values at public points first (a point taken from the data would give it away)"
)
