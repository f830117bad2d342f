"""Ids and labels of a private file. Ids are public, labels are not.

Rows are sorted by id: the order of rows in the file may depend on the labels, as when the positives come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ColumnError, DataError, NoRowsError, ParameterError
from confide.sources.engine_tables import value_batches
from confide.sources.fit_rows import ExactColumn, check_type
from confide.sources.labels import is_missing
from confide.sources.private_labels import PrivateLabels
from confide.sources.tables import as_table, discreet

_BATCH_ROWS = 1 << 15
_LONGEST = 200


@dataclass(frozen=True, slots=True, eq=False)
class LabelledIds:
    """Distinct ids in the order of their text, and the label of each."""

    ids: tuple[str, ...]
    labels: NDArray[np.bool_] = field(repr=False)


def read_labelled_ids(file: Path, *, id_column: str, label: str, positive: object = None) -> LabelledIds:
    """Read ids and labels (see `private_labels`); refuse ids that are missing, repeated or cannot be printed.

    A single class is no error, as the absence of a class is private. No message shows a value: a column that was
    named by mistake may hold labels.
    """
    if id_column == label:
        raise ParameterError(f"column {label!r} is the label; name another column of ids (`id`)")
    ids: list[str] = []
    labels = PrivateLabels(label, positive)
    with discreet(file, private=True):
        for batch in _batches(file, id_column, label):
            ids.extend(_checked(value, id_column) for value in batch[0])
            labels.add(batch[1])
        decided = labels.decided()
        if not ids:
            raise NoRowsError(f"{file} has no rows; give a file with a row for each id")
        if len(set(ids)) < len(ids):
            raise DataError(f"column {id_column!r}: an id occurs more than once; give each row an id of its own")
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    sorted_labels: NDArray[np.bool_] = decided[order]
    sorted_labels.flags.writeable = False
    return LabelledIds(tuple(ids[row] for row in order), sorted_labels)


def _batches(file: Path, id_column: str, label: str) -> Iterator[tuple[list[Any], list[Any]]]:
    table = as_table(file, as_written=True, columns=[id_column, label])
    ColumnError.require([id_column, label], list(table.columns))
    kind = table[id_column].type()
    if not (kind.is_string() or kind.is_integer() or kind.is_null()):
        raise ColumnError(f"column {id_column!r} holds neither text nor whole numbers; name the column of ids")
    check_type(table[label])
    exact = ExactColumn.of(table[label], compared=False)
    for batch in value_batches(table.select(id=table[id_column], label=exact.code), _BATCH_ROWS):
        yield batch["id"], exact.values(batch["label"])


def _checked(value: object, column: str) -> str:
    text = "" if is_missing(value) else str(value)
    if not text.strip():
        raise DataError(f"column {column!r}: some ids are missing; give each row an id of its own")
    if not text.isprintable() or len(text) > _LONGEST:
        raise DataError(
            f"column {column!r}: ids must have at most {_LONGEST} characters, all of them printable; correct them"
        )
    return text
