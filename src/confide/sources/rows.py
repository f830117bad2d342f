"""Rows kept as rows: what paired comparison and groups need beside counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.sources.arrays import checked_scores, checked_weights, count_checked
from confide.sources.labels import binary_labels, is_missing, one_dimensional


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Labels, one or more columns of scores, and perhaps weights and groups, row by row."""

    labels: NDArray[np.bool_]
    names: tuple[str, ...]
    scores: tuple[FloatArray, ...]
    weights: CountArray | None = None
    groups: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return self.labels.size

    def __repr__(self) -> str:
        return f"Rows(<private>, names={self.names!r})"

    @classmethod
    def checked(
        cls,
        labels: ArrayLike,
        names: Sequence[str],
        scores: Sequence[ArrayLike],
        *,
        weights: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        positive: object = None,
    ) -> Rows:
        """Validate rows given as arrays."""
        columns = tuple(checked_scores(column) for column in scores)
        label = binary_labels(labels, positive)
        weight = None if weights is None else checked_weights(weights)
        group = None if groups is None else _texts(groups)
        lengths = [(f"the scores of {name!r}", column.size) for name, column in zip(names, columns, strict=True)]
        lengths += [(name, array.size) for name, array in (("weights", weight), ("groups", group)) if array is not None]
        for name, length in lengths:
            if length != label.size:
                raise ParameterError(f"{name} and labels differ in length; give one of each for every row")
        return cls(label, tuple(names), columns, weight, group)

    def counts(self) -> tuple[ScoreCounts, ...]:
        """Count each column of scores."""
        return tuple(count_checked(self.labels, column, self.weights) for column in self.scores)

    def by_group(self) -> Iterator[tuple[str, Rows]]:
        """Split the rows by group, numbers before words, each in order."""
        if self.groups is None:
            return
        names, member = np.unique(self.groups, return_inverse=True)
        for code in sorted(range(names.size), key=lambda code: _place(str(names[code]))):
            name, chosen = names[code], member == code
            weight = None if self.weights is None else self.weights[chosen]
            columns = tuple(column[chosen] for column in self.scores)
            yield str(name), Rows(self.labels[chosen], self.names, columns, weight)


def _place(name: str) -> tuple[bool, float, str]:
    """Numbers in their order, then words in theirs."""
    try:
        value = float(name)
    except ValueError:
        value = math.nan
    return (True, 0.0, name) if math.isnan(value) else (False, value, name)


def _texts(groups: ArrayLike) -> NDArray[np.object_]:
    array = one_dimensional(groups, "groups", DataError)
    return np.array([group_name(value) for value in array.tolist()], dtype=object)


def group_name(value: object) -> str:
    """Name a group; rows without one form a group of their own."""
    return "(missing)" if is_missing(value) else str(value)
