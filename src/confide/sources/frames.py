"""Rows given as a dataframe of any library that narwhals knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import ColumnError, LabelError, ParameterError, ScoreError, WeightError
from confide.sources.arrays import count_arrays, private_scores, refuse_private_weights
from confide.sources.feature_columns import spelling
from confide.sources.labels import is_missing
from confide.sources.rows import Missing, RowColumns, Rows, with_scores

_LONG_INTEGERS = ("Int128", "UInt128")
_INTEGERS = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_TYPED = ("Boolean", "Float32", "Float64", *_INTEGERS)
"""Types of columns whose values NumPy holds as they are."""


def count_frame(
    frame: Any,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    positive: object = None,
    one_class: bool = False,
) -> ScoreCounts:
    """Count the rows of a pandas, Polars, PyArrow or other dataframe, eager or lazy.

    With `one_class` rows are private, and each value is read by itself.
    """
    if one_class:
        refuse_private_weights(weight)
    columns = frame_columns(frame, [label, score] + ([weight] if weight is not None else []))
    as_array = _private_array if one_class else _array
    scores = as_array(columns[score])
    if one_class:
        scores = private_scores(scores, score)
    else:
        _refuse_missing(columns, label, [score], weight)
    return count_arrays(
        as_array(columns[label]),
        scores,
        None if weight is None else _array(columns[weight]),
        positive=positive,
        one_class=one_class,
    )


def frame_rows(frame: Any, columns: RowColumns, *, positive: object = None, missing: Missing = "refuse") -> Rows:
    """Read columns of a dataframe as rows, for groups, comparisons, clusters and folds."""
    held, left_out = frame_columns(frame, columns.names), None
    if missing == "drop":
        kept, left_out = with_scores({name: _array(held[name]) for name in columns.scores})
        if left_out.rows:
            held = {name: column.filter(kept.tolist()) for name, column in held.items()}
    _refuse_missing(held, None, columns.scores, columns.weight or columns.survey_weight)  # of labels: below

    def optional(name: str | None) -> Any:
        return None if name is None else _array(held[name])

    rows = Rows.checked(
        _array(held[columns.label]),
        columns.scores,
        [_array(held[name]) for name in columns.scores],
        weights=optional(columns.weight),
        survey_weights=optional(columns.survey_weight),
        groups={name: _objects(held[name]) for name in columns.groups},
        clusters=None if columns.cluster is None else _objects(held[columns.cluster]),
        folds=None if columns.fold is None else _objects(held[columns.fold]),
        positive=positive,
    )
    return replace(rows, missing=left_out)


def _array(column: Any) -> np.ndarray[Any, Any]:
    """Return a column as an array; as objects integers of 128 bits, and texts, whose last NULs NumPy would lose."""
    return _objects(column) if str(column.dtype) in (*_LONG_INTEGERS, "String") else column.to_numpy()


def _objects(column: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Return the values of a column as they are, one for each row."""
    values = column.to_list()
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def private_columns(frame: Any, columns: Sequence[str]) -> dict[str, list[str | None]]:
    """Return columns of a dataframe as texts, for encoding private rows each by itself.

    Each value is converted by itself. Converting a column at once would let one row decide how all others are read: a
    decimal with many digits changes the rounding of the whole column. Texts stay as they are, as in a CSV file; other
    values get their normal spelling.
    """
    held = frame_columns(frame, list(dict.fromkeys(columns)))
    return {name: [_text(value) for value in column.to_list()] for name, column in held.items()}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else spelling(value)


def _private_array(column: Any) -> np.ndarray[Any, Any]:
    """Return a column of numbers or truths as an array of its type, and any other column as its values."""
    return column.to_numpy() if str(column.dtype) in _TYPED else _objects(column)


def named_scores(scores: Any) -> dict[str, Any]:
    """Return the scores of each model by its name.

    A mapping and a dataframe name their models. A series names its one model. An array is named "score".
    """
    if isinstance(scores, Mapping):
        named = {str(name): column for name, column in scores.items()}
    elif is_frame(scores):
        import narwhals as nw

        names = nw.from_native(scores).collect_schema().names()
        named = {name: _array(column) for name, column in frame_columns(scores, names).items()}
    else:
        name = getattr(scores, "name", None)
        named = {name if isinstance(name, str) and name else "score": scores}
    if not named:
        raise ParameterError("`scores` must hold at least one model")
    return named


def is_frame(data: Any) -> bool:
    """Tell whether an object is a dataframe that narwhals reads, eager or lazy. An Ibis table is none."""
    if isinstance(data, list | tuple | np.ndarray | str) or not hasattr(type(data), "columns"):
        return False
    if hasattr(data, "to_pyarrow_batches"):
        return False
    import narwhals as nw

    try:
        nw.from_native(data)
    except (TypeError, nw.exceptions.NarwhalsError):
        return False
    return True


def _refuse_missing(columns: Mapping[str, Any], label: str | None, scores: Sequence[str], weight: str | None) -> None:
    kinds = [(label, LabelError), *((score, ScoreError) for score in scores), (weight, WeightError)]
    for name, kind in kinds:
        if name is not None and _has_missing(columns[name]):
            raise kind(f"column {name!r} has missing values; remove those rows or fill them in, then try again")


def _has_missing(column: Any) -> bool:
    if str(column.dtype) == "Object":  # pandas fails at some values, such as a signalling NaN
        return any(map(is_missing, column.to_list()))
    return bool(column.null_count())


def frame_columns(frame: Any, names: list[str]) -> dict[str, Any]:
    """Return the named columns as narwhals series."""
    import narwhals as nw

    try:
        data = nw.from_native(frame)
    except TypeError:
        raise ParameterError(
            f"a {type(frame).__name__} is not a dataframe that narwhals knows; "
            "give pandas, Polars or PyArrow, or use ScoreCounts.from_arrays"
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise ColumnError(
            f"the columns cannot be read ({type(error).__name__}); give each column its own name"
        ) from None
    known = data.collect_schema().names()
    ColumnError.require(names, known)
    if any(known.count(name) > 1 for name in names):
        raise ColumnError("two columns have the same name; give each column its own name")
    chosen = data.select(*(nw.col(name) for name in dict.fromkeys(names)))
    eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    return {name: eager.get_column(name) for name in names}
