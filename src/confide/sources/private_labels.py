"""Labels of private rows: each row is positive or negative by its own label, whatever the others are.

If the positive label is named, every other label is negative. Neither a third value nor the absence of the named one
is an error: both would reveal something about single rows. If it is not named, labels must be 0/1, -1/1 or false/true.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.device import to_host
from confide.errors import LabelError, NoRowsError, ParameterError
from confide.sources.error_details import shows_errors
from confide.sources.feature_columns import spelling
from confide.sources.labels import is_sequence, one_dimensional, positive_value

_PAIRS = ({"0", "1"}, {"-1", "1"}, {"false", "true"})
_POSITIVE = {"1", "true"}
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_PLAIN = (str, bool, int, float)
_REMEMBERED = 1 << 18
_WHOLE = re.compile("0|-?[1-9][0-9]*")
_MISSING = "some labels are missing; remove those rows or fill them in, then try again"
_UNKNOWN = "labels are not 0/1, -1/1 or false/true alone; say which is the positive one (`positive`), or correct them"


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
        known: defaultdict[type, dict[Any, bool]] = defaultdict(lambda: _Judged(self._judge))
        known.update((kind, _Remembered(self._judge)) for kind in _PLAIN)
        positive = [known[type(value)][value] for value in values]  # by type too, as True == 1 == 1.0
        self._batches.append(np.array(positive, dtype=np.bool_))

    def _judge(self, value: object) -> bool:
        """Return whether a label is positive, and remember its spelling."""
        spelled = spelling(value)
        self._spellings.add(spelled)
        return spelled in _POSITIVE if self._positive is None else spelled == self._positive

    def decided(self) -> NDArray[np.bool_]:
        """Return where labels are positive; refuse labels that are missing or of unknown meaning."""
        if None in self._spellings:
            raise LabelError(f"{self._where}{_MISSING}")
        spelled = {spelt for spelt in self._spellings if spelt is not None}
        if shows_errors():
            positive_value(sorted(spelled), self._positive, one_class=True)
        if self._positive is None and not any(spelled <= pair for pair in _PAIRS):
            raise LabelError(f"{self._where}{_UNKNOWN}")
        return np.concatenate(self._batches)


class _Judged(dict[Any, bool]):
    """Labels of one type, each judged whenever it comes."""

    def __init__(self, judge: Callable[[object], bool]) -> None:
        super().__init__()
        self._judge = judge

    def __getitem__(self, value: object) -> bool:
        return self._judge(value)


class _Remembered(dict[Any, bool]):
    """Labels of one type whose equal values have one spelling, each judged once."""

    def __init__(self, judge: Callable[[object], bool]) -> None:
        super().__init__()
        self._judge = judge

    def __missing__(self, value: object) -> bool:
        if len(self) >= _REMEMBERED:
            self.clear()
        result = self[value] = self._judge(value)
        return result


def label_rows(labels: Any, positive: object = None) -> NDArray[np.bool_]:
    """Return where labels in an array, or in a list of any values, are positive.

    The type of an array is public, and numbers and truths of one type are compared at once. Values of a list and of an
    array of objects are judged one by one: an array made of them would have a type that one row can decide.
    """
    held = to_host(labels)
    array = None if is_sequence(held) else one_dimensional(held, "labels", LabelError)
    values = held if array is None else array
    if not len(values):
        raise NoRowsError("there are no rows; give at least one row")
    result = PrivateLabels(positive=positive)
    if array is not None and not shows_errors():
        typed = _typed(array, spelling(positive))
        if typed is not None:
            return typed
    if array is None and any(map(is_nested, values)):
        raise ParameterError("labels must be one-dimensional; give one value for each row")
    result.add(held if array is None else list(array) if array.dtype.kind in "mM" else array.tolist())
    return result.decided()


def is_nested(value: object) -> bool:
    """Return whether a value is a list, a tuple or an array of several values."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _typed(array: NDArray[Any], positive: str | None) -> NDArray[np.bool_] | None:
    """Return where an array of truths, integers or floats is positive; None for arrays of other types."""
    kind = array.dtype.kind
    if kind == "b":
        truth = True if positive is None else _TRUTHS.get(positive)
        if truth is None:
            raise ParameterError("labels are true or false; name one of them as the positive label")
        return np.ascontiguousarray(array) if truth else ~array
    if kind not in "iuf" or array.dtype.itemsize > 8:
        return None
    if kind == "f" and np.isnan(array).any():
        raise LabelError(_MISSING)
    if positive is not None:
        number = _number_spelt(positive, array.dtype)
        return np.zeros(array.size, dtype=np.bool_) if number is None else np.asarray(array == number)
    low, high = array.min(), array.max()
    if low == 0 and high <= 1 and array.dtype.itemsize == 1:
        return np.ascontiguousarray(array).view(np.bool_)
    ours = np.asarray(array == 1)
    if not ((ours | (array == 0)).all() or (ours | (array == -1)).all()):
        raise LabelError(_UNKNOWN)
    return ours


def _number_spelt(positive: str, kind: np.dtype[Any]) -> Any:
    """Return the number of this type that is spelled so; None if there is none."""
    if kind.kind == "f":
        try:
            number = float(positive)
        except ValueError:
            return None
        with np.errstate(over="ignore"):
            narrow = kind.type(number)
        return narrow if spelling(number) == positive and float(narrow) == number else None
    if not _WHOLE.fullmatch(positive):
        return None
    limits = np.iinfo(kind)
    return kind.type(int(positive)) if len(positive) < 21 and limits.min <= int(positive) <= limits.max else None
