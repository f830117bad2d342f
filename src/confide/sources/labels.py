"""Labels with two values: find the positive one."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from confide.device import to_host
from confide.errors import DataError, LabelError, OneClassError, ParameterError

# Pairs whose meaning nobody disputes: (negative, positive), compared as text in lower case.
_WELL_KNOWN = (("0", "1"), ("-1", "1"), ("false", "true"))
_KNOWN = {text for pair in _WELL_KNOWN for text in pair}


def positive_value(values: Sequence[Any], positive: object = None, *, one_class: bool = False) -> Any:
    """Return the member of `values`, the distinct labels, that is the positive class.

    0/1, -1/1 and false/true are understood; of other labels the positive one must be named. A name
    given as text matches a value that is written so, and a number matches an equal number. With
    `one_class` a single value is no error, since a release must not reveal that a class is absent: None
    then means that no row is positive.
    """
    if any(is_missing(value) for value in values):
        raise LabelError("some labels are missing; remove those rows or fill them in, then try again")
    if len(values) > 2:
        raise LabelError(
            "labels have more than two values, and a binary classifier needs exactly two, also where `positive` is "
            "named; check the label column, or make it two values first"
        )
    if positive is None:
        chosen = _well_known(values)
    else:
        ranked = (value for same in (_equal_or_alike, _same) for value in values if same(value, positive))
        chosen = next(ranked, None)  # neighbouring whole numbers may be the same float
        if chosen is None and not (one_class and len(values) == 1):
            raise ParameterError(f"no row has the positive label {positive!r}; {_near(values, positive)}")
    if one_class and len(values) == 1 and (positive is not None or _text(values[0]) in _KNOWN):
        return chosen
    if len(values) < 2 and not one_class:
        raise OneClassError(
            "all rows have the same label, so a classifier cannot be evaluated; "
            "check the label column, or add rows of the other class"
        )
    if chosen is None:
        raise LabelError("labels are not 0/1, -1/1 or false/true; say which is the positive one (`positive`)")
    return chosen


@contextmanager
def labels_of(column: str) -> Iterator[None]:
    """Name the column in errors about labels."""
    try:
        yield
    except LabelError as error:
        raise type(error)(f"column {column!r}: {error}") from error


def binary_labels(labels: object, positive: object = None, *, one_class: bool = False) -> NDArray[np.bool_]:
    """Turn an array of two label values into booleans."""
    array = one_dimensional(labels, "labels", LabelError)
    if array.size == 0:
        raise LabelError("there are no rows; give at least one row of each class")
    if array.dtype.kind in "biu" and positive is None:
        return _from_integers(array, one_class=one_class)
    values = _distinct(array)
    return _equal(array, positive_value(values, positive, one_class=one_class))


def _from_integers(array: NDArray[Any], *, one_class: bool) -> NDArray[np.bool_]:
    """Decide the usual case, integers or booleans, without sorting."""
    low, high = array.min().item(), array.max().item()
    between = high - low > 1 and bool(((array != low) & (array != high)).any())
    values = [low] if low == high else [low, high]
    chosen = positive_value([*values, low + 1] if between else values, one_class=one_class)
    if (low, high) == (0, 1) and array.itemsize == 1:
        return np.ascontiguousarray(array).view(np.bool_)
    return _equal(array, chosen)


def _equal(array: NDArray[Any], chosen: Any) -> NDArray[np.bool_]:
    """Return where labels equal the positive one; nowhere if there is none."""
    if chosen is None:
        return np.zeros(array.size, dtype=np.bool_)
    if array.dtype.kind == "O":  # NumPy would take the NULs from the end of a text
        held, chosen = chosen, np.empty(1, dtype=object)
        chosen[0] = held
    return np.asarray(array == chosen, dtype=np.bool_)


def _distinct(array: NDArray[Any]) -> list[Any]:
    """Return up to three distinct values, and a missing one if there is any."""
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            return [float("nan")]
        result: list[Any] = [array[0].item()]
        for _ in range(2):
            others = array[~np.isin(array, result)]
            if not others.size:
                break
            result.append(others[0].item())
        return result
    seen: dict[Any, None] = {}
    for value in array.tolist():
        if value not in seen:
            seen[value] = None
            if len(seen) > 2 or is_missing(value):
                break
    return sorted(seen, key=is_missing, reverse=True)


def one_dimensional(values: object, name: str, error: type[DataError]) -> NDArray[Any]:
    """Return values as an array with one dimension and nothing masked."""
    values = to_host(values)
    try:
        array = _kept_apart(values) if name != "scores" else np.asarray(values)
    except ValueError:  # lists of different lengths inside a list
        hint = _two_dimensional_hint(values) if name == "scores" else ""
        raise ParameterError(f"{name} must be one-dimensional; give one value for each row{hint}") from None
    if array.ndim != 1:
        hint = _two_dimensional_hint(values) if name == "scores" and array.ndim == 2 else ""
        raise ParameterError(
            f"{name} must be one-dimensional, got {array.ndim} dimensions; give one value for each row{hint}"
        )
    if np.ma.is_masked(values):
        raise error(f"some {name} are missing; remove those rows or fill them in, then try again")
    return array


def is_sequence(values: object) -> TypeGuard[Sequence[Any]]:
    """Return whether values are a list or another sequence of Python values, which has no type of its own."""
    typed = isinstance(values, str | bytes | bytearray | memoryview | array) or hasattr(values, "__array__")
    return isinstance(values, Sequence) and not typed


def _kept_apart(values: Any) -> NDArray[Any]:
    """Return an array; texts and values of several types as they are.

    NumPy would turn numbers beside a text into texts, cut off NUL characters at the end of texts, and round whole
    numbers beside a float, or those of 64 bits beside a negative one.
    """
    if not is_sequence(values):
        array = np.asarray(values)
        if array.dtype.kind != "U" or not hasattr(values, "to_list"):
            return array
        values = values.to_list()  # of a series of Polars, which makes such an array itself
    kinds = set(map(type, values))
    if len(kinds) < 2 and kinds <= {bool, int, float}:
        typed = np.asarray(values)
        if kinds <= {bool, float} or typed.dtype.kind != "f":
            return typed
    elif any(issubclass(kind, Sequence) and kind is not str for kind in kinds):
        return np.asarray(values)
    result = np.empty(len(values), dtype=object)
    result[:] = list(values)
    return result


def _two_dimensional_hint(scores: object) -> str:
    if isinstance(scores, list | tuple) and any(isinstance(model, Sized) and len(model) != 2 for model in scores):
        return "; give the scores of several models as a dictionary, {'name': scores, ...}"
    return "; of predict_proba's columns give the positive one, [:, 1]"


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, pandas' NA, or one that cannot be compared with itself."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # pandas' NA, arrays, signalling NaN of decimals
        return True


def _well_known(values: Sequence[Any]) -> Any:
    texts = [_text(value) for value in values]
    if len(set(texts)) < len(texts):
        raise LabelError(
            "two labels differ only in letter case or spaces; write them alike, "
            "or say which is the positive one (`positive`)"
        )
    for negative, positive in _WELL_KNOWN:
        if set(texts) <= {negative, positive} and positive in texts:
            return values[texts.index(positive)]
    return None


def _text(value: object) -> str:
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        value = int(value)
    return str(value).strip().lower()


def _equal_or_alike(value: object, wanted: object) -> bool:
    return bool(value == wanted) or str(value) == str(wanted)


def _same(value: object, wanted: object) -> bool:
    try:
        return not isinstance(value, str) and float(value) == float(wanted)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return isinstance(value, bool) and _text(value) == _text(wanted)


def _near(values: Sequence[Any], positive: object) -> str:
    if any(_text(value) == _text(positive) for value in values):
        return "labels are compared exactly, and one differs only in letter case or spaces; correct the spelling"
    return "labels are compared exactly, letter case included: check the spelling and the label column"
