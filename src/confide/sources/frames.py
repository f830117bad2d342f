"""Rows given as a dataframe of any library that narwhals knows."""

from __future__ import annotations

from typing import Any

from confide.counts import ScoreCounts
from confide.errors import ColumnError, LabelError, ParameterError, ScoreError, WeightError
from confide.sources.arrays import count_arrays


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
    for name, kind in ((label, LabelError), (score, ScoreError), (weight, WeightError)):
        if name is not None and columns[name].null_count():
            raise kind(f"column {name!r} has missing values; remove those rows or fill them in, then try again")
    return count_arrays(
        columns[label].to_numpy(),
        columns[score].to_numpy(),
        None if weight is None else columns[weight].to_numpy(),
        positive=positive,
        one_class=one_class,
    )


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
