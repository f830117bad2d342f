"""Rows as dataframes for a site's own model: each value by a public rule, whatever the other rows hold.

In CSV and JSON a value that reads as a number is one, a missing value is NaN, and any other is text; columns that the
site lists as text are text throughout. In Parquet and in databases the columns'
types decide: numbers and true/false are float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ColumnError
from confide.federation.site.row_sources import Rows
from confide.sources.fit_rows import ExactColumn, as_number, check_type
from confide.sources.tables import as_table

_BATCH_ROWS = 1 << 16
_TYPED = (".parquet", ".pq")


def feature_frames(
    data: Rows, label: str, features: Sequence[str], text: Sequence[str]
) -> Iterator[tuple[list[Any], Any]]:
    """Yield the labels and the features, as a pandas dataframe, of one batch of rows after another."""
    table = as_table(data, as_written=True, columns=(label, *features))
    ColumnError.require([label, *features], list(table.columns))
    for name in (label, *features):
        check_type(table[name])
    written = isinstance(data, Path) and data.suffix.lower() not in _TYPED
    parsed = [name for name in features if written and name not in text]
    chosen = {
        f"value{place}": table[name].nullif("") if written else _typed(table[name], name in text)
        for place, name in enumerate(features)
    }
    numbers = {f"number{place}": table[name].try_cast("float64") for place, name in enumerate(parsed)}
    exact = ExactColumn.of(table[label], compared=False)
    rows = table.select(label=exact.code, **chosen, **numbers)
    for batch in rows.to_pyarrow_batches(chunk_size=_BATCH_ROWS):
        if not batch.num_rows:
            continue
        frame = batch.select(list(chosen)).rename_columns(list(features)).to_pandas()
        for place, name in enumerate(parsed):
            values = _numbers_or_text(batch.column(f"number{place}"), frame[name].to_numpy())
            frame[name] = _as_is(values, frame.index)
        yield exact.values(batch.column("label").to_pylist()), frame


def _typed(column: Any, text: bool) -> Any:
    kind = column.type()
    if kind.is_string() or kind.is_null():
        return column
    return column.cast("string") if text else as_number(column)


def _as_is(values: NDArray[Any], index: Any) -> Any:
    """Return a series with the type of an array. pandas would otherwise choose one by all values."""
    import pandas as pd

    return pd.Series(values, index=index, dtype=values.dtype)


def _array(column: Any) -> NDArray[Any]:
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def _numbers_or_text(numbers: Any, texts: NDArray[Any]) -> NDArray[Any]:
    """Put text where there is some that is no number, and NaN where there is nothing."""
    said = np.fromiter(
        (isinstance(text, str) and bool(text.strip()) for text in texts), dtype=np.bool_, count=len(texts)
    )
    words = _array(numbers.is_null()) & said
    found = np.asarray(_array(numbers), dtype=np.float64)
    return np.where(words, texts, found.astype(object)) if words.any() else found
