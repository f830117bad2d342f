"""Labels of private rows: each row is positive or negative by its own label, whatever the others are.

If the positive label is named, every other label is negative. Neither a third value nor the absence of the named one
is an error: both would reveal something about single rows. If it is not named, labels must be 0/1, -1/1 or false/true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import LabelError, ParameterError
from confide.sources.details import shows_errors
from confide.sources.feature_columns import spelling
from confide.sources.labels import one_dimensional, positive_value

_PAIRS = ({"0", "1"}, {"-1", "1"}, {"false", "true"})
_POSITIVE = {"1", "true"}


class PrivateLabels:
    """Labels of a column, added batch by batch and checked at the end.

    >>> labels = PrivateLabels("died", "yes")
    >>> labels.add(["yes", "no", "unknown"])
    >>> labels.decided()
    array([ True, False, False])
    """

    def __init__(self, column: str | None = None, positive: object = None) -> None:
        self._where = "" if column is None else f"column {column!r}: "
        self._positive = spelling(positive)
        if positive is not None and self._positive is None:
            raise ParameterError("the positive label is empty; name the label of positive rows")
        self._spellings: set[str | None] = set()
        self._batches: list[NDArray[np.bool_]] = [np.zeros(0, dtype=np.bool_)]

    def add(self, values: Sequence[Any]) -> None:
        """Add the labels of further rows."""
        spelt = {value: spelling(value) for value in set(values)}
        self._spellings.update(spelt.values())
        wanted = _POSITIVE if self._positive is None else {self._positive}
        positive = {value: spelled in wanted for value, spelled in spelt.items()}
        self._batches.append(np.fromiter(map(positive.__getitem__, values), dtype=np.bool_, count=len(values)))

    def decided(self) -> NDArray[np.bool_]:
        """Return where labels are positive; refuse labels that are missing or of unknown meaning."""
        if None in self._spellings:
            raise LabelError(f"{self._where}some labels are missing; remove those rows or fill them in, then try again")
        spelled = {spelt for spelt in self._spellings if spelt is not None}
        if shows_errors():
            positive_value(sorted(spelled), self._positive, one_class=True)
        if self._positive is None and not any(spelled <= pair for pair in _PAIRS):
            raise LabelError(
                f"{self._where}labels are not 0/1, -1/1 or false/true alone; "
                "name the positive one (`positive`), or correct them"
            )
        return np.concatenate(self._batches)


def one_against_rest(labels: ArrayLike, positive: object) -> NDArray[np.bool_]:
    """Return where an array of labels has the positive one."""
    array = one_dimensional(labels, "labels", LabelError)
    if array.size == 0:
        raise LabelError("there are no rows; give at least one row")
    result = PrivateLabels(positive=positive)
    result.add(array.tolist())
    return result.decided()
