"""Rows of a file or table, encoded as binary features: in their order, each by itself.

Columns of CSV and JSON are read as they are written, so that no row changes how another is read: a column of numbers
with one word in it would otherwise turn to text, and "007" next to it from 7 to "007".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ColumnError, DataError, ParameterError
from confide.features import FeatureRows, Integers
from confide.sources.encoding import Encoding, RowEncoder
from confide.sources.feature_columns import spelling
from confide.sources.fit_rows import ExactColumn, check_type
from confide.sources.private_labels import PrivateLabels
from confide.sources.tables import as_table, discreet

KEY_RULE = 3
"""Version of the rule of `row_keys`; a new rule gets a higher number."""

_BATCH_ROWS = 1 << 15


def read_rows(source: Any, encoding: Encoding, *, label: str, positive: object = None) -> FeatureRows:
    """Read an Ibis table, the file at a path or lists of values by column, as rows with labels (see `private_labels`).

    A single class is no error, as the absence of a class is private.
    """
    if label in encoding.columns:
        raise ParameterError(f"column {label!r} is the label; remove it from the features")
    encoder, labels = RowEncoder(encoding), PrivateLabels(label, positive)
    parts = []
    with discreet(source, private=True):
        for batch in _batches(source, (label, *encoding.columns), encoding.text_columns):
            labels.add(batch[label])
            parts.append(encoder(batch))
        if not parts:
            raise DataError("the table has no rows; check the file or the query that made it")
    return _together(parts, labels.decided(), encoding.width)


def read_features(source: Any, encoding: Encoding) -> FeatureRows:
    """Read an Ibis table, or the file at a path, as rows whose labels are not known: all False. None is no error."""
    encoder = RowEncoder(encoding)
    with discreet(source, private=True):
        parts = [encoder(batch) for batch in _batches(source, encoding.columns, encoding.text_columns)]
    return _together(parts, None, encoding.width)


def row_keys(source: Any, columns: Sequence[str], *, beside: Sequence[str] = ()) -> NDArray[np.uint64]:
    """A public hash of each row's values in some columns, by which rows can be put into parts.

    Rows with the same values have the same key, whatever the other columns and rows are: name the column that tells
    persons apart to keep a person's rows together. `beside` names columns that were found there before.
    """
    if not columns:
        raise ParameterError("there is no column to tell rows by; give at least one")
    result = [np.empty(0, dtype=np.uint64)]
    with discreet(source, private=True):
        for batch in _batches(source, columns, (), beside):
            rows = zip(*(batch[column] for column in columns), strict=True)
            result.append(np.fromiter(map(_key, rows), dtype=np.uint64))
    return np.concatenate(result)


def _key(values: tuple[object, ...]) -> int:
    """Hash values with their lengths, so that no two rows read alike."""
    state = blake2b(digest_size=8)
    for value in values:
        spelled = spelling(value)
        written = b"" if spelled is None else spelled.encode("utf-8", "surrogatepass")
        state.update(len(written).to_bytes(8, "big") + written)
    return int.from_bytes(state.digest(), "big")


def _batches(
    source: Any, columns: Sequence[str], texts: Sequence[str], beside: Sequence[str] = ()
) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of one batch of rows after another, as Python values."""
    if isinstance(source, Mapping):
        ColumnError.require([*columns, *beside], list(source))
        for start in range(0, len(source[columns[0]]), _BATCH_ROWS):
            yield {name: source[name][start : start + _BATCH_ROWS] for name in columns}
        return
    table = as_table(source, as_written=True, columns=[*columns, *beside])
    ColumnError.require([*columns, *beside], list(table.columns))
    for column in columns:
        check_type(table[column], text=column in texts)
    exact = {name: ExactColumn.of(table[name], compared=False) for name in dict.fromkeys(columns)}
    rows = table.select(**{name: column.code for name, column in exact.items()})
    for batch in rows.to_pyarrow_batches(chunk_size=_BATCH_ROWS):
        if batch.num_rows:
            values = (column.values(batch.column(place).to_pylist()) for place, column in enumerate(exact.values()))
            yield dict(zip(exact, values, strict=True))


def _together(parts: Sequence[tuple[Integers, Integers]], labels: NDArray[np.bool_] | None, width: int) -> FeatureRows:
    none = np.zeros(0, dtype=np.int64)
    lengths = np.concatenate([none, *(lengths for lengths, _ in parts)])
    features = np.concatenate([none, *(features for _, features in parts)])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return FeatureRows(starts, features, np.zeros(lengths.size, dtype=np.bool_) if labels is None else labels, width)
