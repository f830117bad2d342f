"""Rows of a table that fit a request, and small results of an engine.

A label is positive by its own spelling (see `private_labels`), and a score is a number by its own text. Whether all
rows are fit is the only thing that an error tells.

An engine groups labels by exact codes (see `ExactColumn`), and Python decides what each code means. No label goes back
into the engine: it would read a literal by rules of its own, which round numbers and follow collations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import CountArray, FloatArray
from confide.errors import ColumnError, DataError, NoRowsError, ParameterError, ScoreError
from confide.sources.arrays import unfit_scores
from confide.sources.feature_columns import spelling
from confide.sources.files import connect_duckdb
from confide.sources.private_labels import PrivateLabels


def fetch(table: Any) -> Any:
    """Return a small result as an Arrow table; from DuckDB by way of batches, which does not load pandas."""
    if table.get_backend().name != "duckdb":
        return table.to_pyarrow()
    import pyarrow as pa

    schema = table.schema().to_pyarrow()
    batches = [batch for batch in table.to_pyarrow_batches() if batch.num_rows]
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def array_of(table: Any, name: str, kind: type) -> NDArray[Any]:
    """Return a column of an Arrow table without missing values."""
    chunks = [numbers(chunk) for chunk in table.column(name).chunks]
    return np.concatenate(chunks).astype(kind) if chunks else np.empty(0, kind)


def numbers(array: Any) -> NDArray[Any]:
    """Return a column of numbers without missing ones; Arrow's own conversion would load pandas."""
    try:
        return np.from_dlpack(array)
    except (TypeError, NotImplementedError, ValueError):  # booleans, decimals and the like
        return np.asarray(array.to_numpy(zero_copy_only=False))


def check_unchanged(unchanged: bool) -> None:
    """Refuse results of several queries that do not fit together."""
    if not unchanged:
        raise DataError("the table changed while it was read; try again when nobody writes to it")


_TEXT = "column {!r} does not hold text; check that it is the right column"
_PLAIN = "column {!r} holds neither numbers nor text nor true/false; make it one of them before"
_BATCH_ROWS = 1 << 20
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
        engine = column.as_table().get_backend().name
        if kind.is_decimal() or (kind.is_integer() and engine not in _EXACT_INTEGERS):
            return cls(column.cast("string"), kind, True)
        if not kind.is_string():
            return cls(column, kind, True)
        if not compared:
            return cls(column, kind, False)
        call = _engine_functions()
        if engine in ("duckdb", "pyspark"):
            return cls(call["hex"](column), kind, True)
        if engine == "postgres":
            return cls(call["encode"](call["convert_to"](column, "UTF8"), "hex"), kind, True)
        return cls(column, kind, False)

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


@cache
def _engine_functions() -> dict[str, Any]:
    """Declare functions of engines that Ibis has no name for."""
    import ibis

    declare, text, binary = ibis.udf.scalar.builtin, ibis.dtype("string"), ibis.dtype("binary")
    return {
        "hex": declare(lambda value: None, name="hex", signature=((text,), text)),
        "convert_to": declare(lambda value, encoding: None, name="convert_to", signature=((text, text), binary)),
        "encode": declare(lambda value, form: None, name="encode", signature=((binary, text), text)),
    }


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

    def positives(self, chunks: Iterable[Any]) -> NDArray[np.bool_]:
        """Return where labels are positive. `chunks` are Arrow arrays with the codes of all rows or groups of rows."""
        places, met = [np.empty(0, dtype=np.int64)], 0
        for chunk in chunks:
            encoded = chunk.dictionary_encode("encode")
            values = self.label.values(encoded.dictionary.to_pylist())
            self.labels.add(values)
            places.append(met + encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
            met += len(values)
        decided = self.labels.decided()
        if self.unfit is not None:
            raise self.unfit
        result: NDArray[np.bool_] = decided[np.concatenate(places)]
        return result

    def grouped(self, key: Any, kind: type) -> tuple[NDArray[Any], CountArray, CountArray]:
        """Let the engine count rows by a key and by label; return the ascending keys, their positives and negatives."""
        found = fetch(self.table.group_by(key=key, code=self.table.label).aggregate(size=self.table.count()))
        positive, size = self.positives(found.column("code").chunks), array_of(found, "size", np.int64)
        keys, place = np.unique(array_of(found, "key", kind), return_inverse=True)
        counts = np.zeros((2, keys.size), dtype=np.int64)
        np.add.at(counts, ((~positive).astype(np.int64), place), size)
        return keys, counts[0], counts[1]

    def streamed(self) -> tuple[NDArray[np.bool_], FloatArray]:
        """Read the label and the score of every row."""
        scores: list[Any] = []

        def codes() -> Iterator[Any]:
            for batch in self.table.to_pyarrow_batches(chunk_size=_BATCH_ROWS):
                scores.append(batch.column("score0"))
                yield batch.column("label")

        labels = self.positives(codes())
        check_unchanged(labels.size == self.rows)
        return labels, np.concatenate([numbers(chunk) for chunk in scores])


def fit_rows(table: Any, *, label: str, score: str, positive: object, parse_text: bool) -> FitRows:
    """Check an Ibis table for private counting; with `parse_text` scores may be written as text."""
    ColumnError.require([label, score], list(table.columns))
    check_type(table[label])
    labels = PrivateLabels(label, _as_written(positive, table[label].type()))
    number = _number(table[score], score, parse_text)
    exact = ExactColumn.of(table[label])
    coded = table.select(label=exact.code, score0=number)
    if table.get_backend().name not in _KNOWN_ENGINES:
        coded = _brought_here(coded)
    # A type that the engine does not convert is refused here, whether or not there is a row.
    summary = _summary(coded)
    if not summary["rows"]:
        raise NoRowsError("the table has no rows; check the file or the query that made it")
    unfit = unfit_scores(score) if summary["bad"] else None
    return FitRows(coded, summary["rows"], summary["distinct"], exact, labels, unfit)


def _brought_here(rows: Any) -> Any:
    """Read rows into DuckDB: their engine may group text by a collation that takes two labels for one.

    Such an engine may also have no test for infinite scores. Here codes are compared as they are.
    """
    connection = connect_duckdb()
    connection.con.register("rows", rows.to_pyarrow())
    return connection.table("rows")


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
    import ibis

    score = scores.score0
    bad = score.isnull() | score.isnan() | score.isinf()
    counted = scores.aggregate(
        rows=scores.count(), distinct=score.approx_nunique(), bad=bad.ifelse(1, ibis.literal(0)).sum()
    )
    return dict(counted.to_pyarrow().to_pylist()[0])


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
