"""Rows of a table that fit a request, and small results of an engine.

A label is positive by its own spelling (see `private_labels`), and a score is a number by its own text. Whether all
rows are fit is the only thing that an error tells.

An engine groups labels by exact codes (see `ExactColumn`), and Python decides what each code means. No label goes back
into the engine: it would read a literal by rules of its own, which round numbers and follow collations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray
from confide.errors import ColumnError, NoRowsError, ParameterError, ScoreError
from confide.sources.arrays import unfit_scores
from confide.sources.duckdb_files import connect_duckdb
from confide.sources.duckdb_tables import DuckTable
from confide.sources.engine_tables import (
    BATCH_ROWS,
    check_unchanged,
    engine_of,
    exact_text,
    fetch_columns,
    fetch_rows,
    numbers,
)
from confide.sources.feature_columns import spelling
from confide.sources.private_labels import PrivateLabels

_TEXT = "column {!r} does not hold text; check that it is the right column"
_PLAIN = "column {!r} holds neither numbers nor text nor true/false; make it one of them before"
_KNOWN_ENGINES = ("duckdb", "postgres", "pyspark")  # which count rows themselves; others send them
_EXACT_INTEGERS = ("duckdb", "postgres")  # whose whole numbers Ibis reads as they are, beside missing ones too


@dataclass(frozen=True, slots=True, repr=False)
class ExactColumn:
    """A column by codes that its engine compares and sends without changing them, whatever its collation.

    Text is coded by the hexadecimal digits of its UTF-8 bytes, in engines that are known to have a function for that;
    in others, and where the engine only sends rows, `exact` is False, and text is its own code. A decimal is coded by
    its digits, as Arrow has a fixed number of them. So is a whole number in engines that Ibis reads by way of pandas,
    such as Spark: pandas makes floats of a column in which one row has no value. Other values are their own codes.
    """

    code: Any
    kind: Any
    exact: bool

    @classmethod
    def of(cls, column: Any, *, compared: bool = True) -> ExactColumn:
        """Code a column of numbers, text or true and false. Unless `compared`, its engine only sends the rows."""
        kind = column.type()
        engine = engine_of(column.as_table())
        if kind.is_decimal() or (kind.is_integer() and engine not in _EXACT_INTEGERS):
            return cls(column.cast("string"), kind, True)
        if not kind.is_string():
            return cls(column, kind, True)
        code = exact_text(column) if compared else None
        return cls(column, kind, False) if code is None else cls(code, kind, True)

    def values(self, codes: Sequence[Any]) -> list[Any]:
        """Return the values of codes that the engine has sent, as they are written; None for a missing one.

        A float of 32 or 16 bits is the number that its own shortest digits say: 0.1 is 0.1, as in a file of text.
        """
        read: Callable[[Any], Any]
        if self.kind.is_decimal():
            read = _digits
        elif self.kind.is_string() and self.exact:
            read = _decoded
        elif self.kind.is_integer() and self.code.type().is_string():
            read = int
        elif self.kind.is_float32() or self.kind.is_float16():
            narrow = np.float32 if self.kind.is_float32() else np.float16
            read = lambda code: float(str(narrow(code)))  # noqa: E731
        else:
            return list(codes)
        return [None if code is None else read(code) for code in codes]


def _digits(code: str) -> str | None:
    number = Decimal(code)
    return None if number.is_nan() else format(number, "f")


def _decoded(code: str) -> str:
    return bytes.fromhex(code).decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, repr=False)
class FitRows:
    """A table with the columns `label`, an exact code, and `score0`; and its size.

    Its methods refuse labels that are missing or of unknown meaning, and then scores that are not finite.
    """

    table: Any
    rows: int
    distinct: int
    label: ExactColumn
    labels: PrivateLabels
    unfit: ScoreError | None

    def _positives(self, codes: Sequence[Any]) -> NDArray[np.bool_]:
        """Return which of the codes, given in batches of the rows or each once, are of positive labels."""
        self.labels.add(self.label.values(codes))
        decided = self.labels.decided()
        if self.unfit is not None:
            raise self.unfit
        return decided

    def grouped(self, key: Any, kind: type) -> tuple[NDArray[Any], CountArray, CountArray]:
        """Let the engine count rows by a key and by label; return the ascending keys, their positives and negatives."""
        found = self.table.group_by(key=key, code=self.table.label).aggregate(size=self.table.count())
        columns = fetch_columns(found, {"key": kind, "code": object, "size": np.int64})
        positive = self._positives(columns["code"].tolist())
        key_of: NDArray[Any] = columns["key"].astype(kind)
        keys, place = np.unique(key_of, return_inverse=True)
        counts = np.zeros((2, keys.size), dtype=np.int64)
        np.add.at(counts, ((~positive).astype(np.int64), place), columns["size"])
        return keys, counts[0], counts[1]

    def streamed(self) -> tuple[NDArray[np.bool_], FloatArray]:
        """Read the label and the score of every row."""
        labels, scores = self._numbered() if isinstance(self.table, DuckTable) else self._from_arrow()
        check_unchanged(labels.size == scores.size == self.rows)
        return labels, scores

    def _numbered(self) -> tuple[NDArray[np.bool_], FloatArray]:
        """Let DuckDB number the distinct codes, and send the number of each row's code with its score."""
        codes, placed = self.table.numbered("label", "place")
        positive = self._positives(codes)
        found = fetch_columns(placed, {"place": np.int64, "score0": np.float64})
        result: NDArray[np.bool_] = positive[found["place"]]
        return result, found["score0"]

    def _from_arrow(self) -> tuple[NDArray[np.bool_], FloatArray]:
        scores, places, met = [], [], 0
        codes: list[Any] = []
        for batch in self.table.to_pyarrow_batches(chunk_size=BATCH_ROWS):
            scores.append(numbers(batch.column("score0")))
            encoded = batch.column("label").dictionary_encode("encode")
            codes.extend(encoded.dictionary.to_pylist())
            places.append(met + encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
            met = len(codes)
        positive = self._positives(codes)
        none = np.empty(0, dtype=np.int64)
        return positive[np.concatenate([none, *places])], np.concatenate([none.astype(np.float64), *scores])


def fit_rows(table: Any, *, label: str, score: str, positive: object, parse_text: bool) -> FitRows:
    """Check a table for private counting; with `parse_text` scores may be written as text."""
    ColumnError.require([label, score], list(table.columns))
    check_type(table[label])
    labels = PrivateLabels(label, _as_written(positive, table[label].type()))
    number = _number(table[score], score, parse_text)
    exact = ExactColumn.of(table[label])
    coded = table.select(label=exact.code, score0=number)
    if engine_of(table) not in _KNOWN_ENGINES:
        coded = _brought_here(coded)
    # A type that the engine does not convert is refused here, whether or not there is a row.
    summary = _summary(coded)
    if not summary["rows"]:
        raise NoRowsError("the table has no rows; check the file or the query that made it")
    unfit = unfit_scores(score) if summary["bad"] else None
    return FitRows(coded, summary["rows"], summary["distinct"], exact, labels, unfit)


def _brought_here(rows: Any) -> DuckTable:
    """Read rows into DuckDB: their engine may group text by a collation that takes two labels for one.

    Such an engine may also have no test for infinite scores. Here codes are compared as they are.
    """
    connection = connect_duckdb()
    connection.register("rows", rows.to_pyarrow())
    return DuckTable(connection, "SELECT * FROM rows")


def _as_written(positive: object, kind: Any) -> object:
    """Return the positive label as a column of this type has it; refuse one that it cannot have."""
    spelled = spelling(positive)
    if not kind.is_boolean() or spelled is None:
        return positive
    truth = {"true": True, "1": True, "false": False, "0": False}.get(spelled)
    if truth is None:
        raise ParameterError("labels in this column are true or false; name one of them as the positive label")
    return truth


def as_number(column: Any) -> Any:
    """Return a column of numbers, or of true and false, as float64.

    Decimals are read by their digits: engines round by the scale of the column, which other rows may have decided, or
    divide two numbers that they have rounded.
    """
    kind = column.type()
    if kind.is_decimal():
        return column.cast("string").cast("float64")
    return (column.cast("int32") if kind.is_boolean() else column).cast("float64")


def _summary(scores: Any) -> dict[str, Any]:
    """Return the number of rows, of distinct scores, about, and of those that are no finite number."""
    score = scores.score0
    bad = score.isnull() | score.isnan() | score.isinf()
    (found,) = fetch_rows(
        scores.aggregate(rows=scores.count(), distinct=score.approx_nunique(), bad=bad.ifelse(1, 0).sum())
    )
    return found


def check_type(column: Any, *, text: bool = False) -> None:
    """Refuse a column by its type alone, whether or not any row has a value."""
    kind, name = column.type(), column.get_name()
    if kind.is_string() or kind.is_null() or (not text and (kind.is_numeric() or kind.is_boolean())):
        return
    raise ColumnError((_TEXT if text else _PLAIN).format(name))


def _number(column: Any, name: str, parse_text: bool) -> Any:
    kind = column.type()
    if kind.is_string() and parse_text:
        return column.try_cast("float64")
    if kind.is_numeric() or kind.is_boolean() or kind.is_null():
        return as_number(column)
    raise ScoreError(f"column {name!r} does not hold numbers; check that it is the right column")
