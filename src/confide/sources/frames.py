"""Rows given as a dataframe of any library that narwhals knows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import ColumnError, LabelError, ParameterError, ScoreError, WeightError
from confide.sources.arrays import count_arrays
from confide.sources.feature_columns import spelling
from confide.sources.rows import Rows


def count_frame(
    frame: Any,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    positive: object = None,
    one_class: bool = False,
) -> ScoreCounts:
    """Count the rows of a pandas, Polars, PyArrow or other dataframe, eager or lazy."""
    columns = frame_columns(frame, [label, score] + ([weight] if weight is not None else []))
    _refuse_missing(columns, label, [score], weight)
    return count_arrays(
        columns[label].to_numpy(),
        columns[score].to_numpy(),
        None if weight is None else columns[weight].to_numpy(),
        positive=positive,
        one_class=one_class,
    )


def frame_rows(
    frame: Any,
    *,
    label: str,
    scores: Sequence[str],
    weight: str | None = None,
    group: str | None = None,
    positive: object = None,
) -> Rows:
    """Read columns of a dataframe as rows, for groups and comparisons."""
    extra = [name for name in (weight, group) if name is not None]
    columns = frame_columns(frame, [label, *scores, *extra])
    _refuse_missing(columns, label, scores, weight)
    return Rows.checked(
        columns[label].to_numpy(),
        scores,
        [columns[name].to_numpy() for name in scores],
        weights=None if weight is None else columns[weight].to_numpy(),
        groups=None if group is None else columns[group].to_list(),
        positive=positive,
    )


def private_frame_table(frame: Any, *, label: str, score: str) -> Any:
    """Return labels and scores of a dataframe as an Ibis table, for counting private rows each by itself.

    Each value is converted by itself, to text or to a float. Converting a column at once would let one row decide how
    all others are read: a decimal with many digits changes the rounding of the whole column.
    """
    import ibis
    import pyarrow as pa

    columns = frame_columns(frame, [label, score])
    labels = [spelling(value) for value in columns[label].to_list()]
    scores = [_number(value) for value in columns[score].to_list()]
    return ibis.memtable(pa.table({label: pa.array(labels, pa.string()), score: pa.array(scores, pa.float64())}))


def private_text_table(frame: Any, columns: Sequence[str]) -> Any:
    """Return columns of a dataframe as an Ibis table of texts, for encoding private rows each by itself.

    Each value is converted by itself, as in `private_frame_table`. Texts stay as they are, as in a CSV file; other
    values get their normal spelling.
    """
    import ibis
    import pyarrow as pa

    held = frame_columns(frame, list(dict.fromkeys(columns)))
    texts = {name: [_text(value) for value in column.to_list()] for name, column in held.items()}
    return ibis.memtable(pa.table({name: pa.array(values, pa.string()) for name, values in texts.items()}))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else spelling(value)


def _number(value: object) -> float:
    """Return a score as a float; NaN, which counting refuses, for anything that is not a number."""
    if isinstance(value, int | float | Decimal | np.number | np.bool_):
        return float(value)
    return math.nan


def named_scores(scores: Any) -> dict[str, Any]:
    """Return the scores of each model by its name.

    A mapping and a dataframe name their models. A series names its one model. An array is named "score".
    """
    if isinstance(scores, Mapping):
        named = {str(name): column for name, column in scores.items()}
    elif is_frame(scores):
        import narwhals as nw

        names = nw.from_native(scores).collect_schema().names()
        named = {name: column.to_numpy() for name, column in frame_columns(scores, names).items()}
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


def _refuse_missing(columns: Mapping[str, Any], label: str, scores: Sequence[str], weight: str | None) -> None:
    kinds = [(label, LabelError), *((score, ScoreError) for score in scores), (weight, WeightError)]
    for name, kind in kinds:
        if name is not None and columns[name].null_count():
            raise kind(f"column {name!r} has missing values; remove those rows or fill them in, then try again")


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
