"""CSV and JSON as they are written: text, and no row with a say in how another is read.

DuckDB guesses separators, quotes and types from all rows together. Where each row must mean the same whatever the
others are, as for private releases and learning, the first line alone decides: it has the names and the separator.
Quotes are as RFC 4180 has them, and anything else is refused, as Python's strict reader does. PyArrow reads the rows,
many times as fast; where the two could differ, as they may on quotes that are not closed, Python reads instead.

DuckDB guesses columns and types from all rows together. Here the request names the columns, and each row must have a
value for each of them, null included: otherwise a key of one row alone would reveal that row.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from confide.errors import ColumnError, UnreadableError
from confide.sources.details import MORE, detail, shows_errors

_BLOCK = 1 << 22
_QUOTE, _RETURN, _NEWLINE = b'"\r\n'
_BOM = codecs.BOM_UTF8


def is_regular(stream: BinaryIO, separator: str) -> bool:
    """Return whether each quote opens a value, closes one or is doubled within one, and all are closed.

    Counted from the first, a quote at an even place opens a value, behind a separator or a line's end, or is the
    second of two; one at an odd place closes a value, before a separator or a line's end, or is the first of two.

    >>> import io
    >>> is_regular(io.BytesIO(b'a,"b ""c"" d"'), ","), is_regular(io.BytesIO(b'a,"b" c'), ",")
    (True, False)
    """
    ends = np.array([ord(separator), _RETURN, _NEWLINE, _QUOTE], dtype=np.uint8)
    decoder = codecs.getincrementaldecoder("utf-8")()
    quotes, before, carried = 0, ord(separator), b""
    start = stream.read(len(_BOM))
    carried = start.removeprefix(_BOM)
    while True:
        block = stream.read(_BLOCK)
        content = carried + block
        # The last byte waits for the next block, as a quote there is told by what follows it.
        carried, content = (content[-1:], content[:-1]) if block else (b"", content)
        try:
            decoder.decode(content, final=not block)
        except UnicodeDecodeError:
            return False
        after = carried[0] if carried else ord(separator)
        result = _quotes_fit(content, quotes, before, after, ends)
        if result is None:
            return False
        quotes += result
        before = content[-1] if content else before
        if not block:
            return quotes % 2 == 0


def _quotes_fit(content: bytes, earlier: int, before: int, after: int, ends: NDArray[np.uint8]) -> int | None:
    """Count the quotes of a block between two bytes; None if one is where it must not be."""
    if _QUOTE not in content:
        return 0
    array = np.frombuffer(bytes([before]) + content + bytes([after]), dtype=np.uint8)
    places = np.flatnonzero(array[1:-1] == _QUOTE) + 1
    opening = (np.arange(places.size) + earlier) % 2 == 0
    beside = np.where(opening, array[places - 1], array[places + 1])
    return int(places.size) if np.isin(beside, ends).all() else None


_SEPARATORS = (",", ";", "\t", "|")
_BATCH_ROWS = 1 << 13


def read_written(
    file: Path, given: str | Path, *, tabs: bool, packed: bool, columns: Sequence[str] | None = None
) -> Any:
    """Read a file as a PyArrow table of text; lines that are blank are passed over.

    With `columns` the table has these alone, or all columns where the file has not all of these.
    """
    with _opened(file, packed) as lines, _long_values():
        numbered = _Numbered(lines)
        try:
            first = next(line for line in numbered if line.strip())
            at_top = numbered.line == 1  # PyArrow takes a line of spaces for a row of a single column
            separator = "\t" if tabs else _separator(first)
            rows = csv.reader(chain([first], numbered), delimiter=separator, strict=True)
            names = distinct(next(rows))
            some = columns is not None and set(columns) <= set(names)
            wanted = list(dict.fromkeys(columns or ())) if some else names
            quickly = _read_quickly(file, packed, separator, names, wanted) if at_top else None
            return _read_strictly(rows, names, wanted) if quickly is None else quickly
        except (csv.Error, UnicodeDecodeError):
            line, more = detail(f" near line {numbered.line}"), "" if shows_errors() else f"; {MORE}"
            raise UnreadableError(
                f"{given} cannot be read as CSV{line}; check that each row has as many values as the first line, that "
                f'values with quotes are written "like ""this""", and that text is encoded as UTF-8{more}'
            ) from None


def distinct(names: Iterable[str]) -> list[str]:
    """Give each column a name of its own, letter case aside, as DuckDB does: a, a_1, and column2 for none.

    >>> distinct(["a", "A", ""])
    ['a', 'A_1', 'column2']
    """
    result: dict[str, str] = {}
    for place, name in enumerate(names):
        wanted = base = name.strip() or f"column{place}"
        number = 0
        while wanted.lower() in result:
            number += 1
            wanted = f"{base}_{number}"
        result[wanted.lower()] = wanted
    return list(result.values())


def _read_quickly(file: Path, packed: bool, separator: str, names: list[str], wanted: list[str]) -> Any:
    """Read with PyArrow; None where only Python's reader can tell what is right."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    with _bytes(file, packed) as stream:
        if not is_regular(stream, separator):
            return None
    try:
        with _bytes(file, packed) as stream:
            table = arrow.read_csv(
                stream,
                read_options=arrow.ReadOptions(column_names=names),
                parse_options=arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=arrow.ConvertOptions(
                    include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
                ),
            )
    except pa.ArrowInvalid:  # a row of another length, or longer than PyArrow takes
        return None
    return table.slice(1)  # the names were read as the first row


def _read_strictly(rows: Iterator[list[str]], names: list[str], wanted: list[str]) -> Any:
    """Read the rows behind the first line with Python's reader."""
    import pyarrow as pa

    kinds = pa.schema([(name, pa.string()) for name in names])
    batches = [pa.record_batch(columns, schema=kinds).select(wanted) for columns in _columns(rows, len(names))]
    return pa.Table.from_batches(batches, schema=pa.schema([(name, pa.string()) for name in wanted]))


class _Numbered:
    """Lines of a file, and the number of the last one read."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.line = 0
        self._lines = iter(lines)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.line += 1
        return next(self._lines)


def _opened(file: Path, packed: bool) -> Any:
    text = {"encoding": "utf-8-sig", "newline": ""}
    return gzip.open(file, "rt", **text) if packed else file.open(**text)  # type: ignore[call-overload]


def _bytes(file: Path, packed: bool) -> Any:
    return gzip.open(file, "rb") if packed else file.open("rb")


def _separator(line: str) -> str:
    """Return the separator that finds most names in the first line."""
    return max(_SEPARATORS, key=lambda separator: len(next(csv.reader([line], delimiter=separator))))


def _columns(rows: Iterable[list[str]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield the columns of one batch of rows after another."""
    whole = _of_width(rows, width)
    while batch := list(islice(whole, _BATCH_ROWS)):
        yield list(zip(*batch, strict=True))


def _of_width(rows: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    for row in rows:
        if len(row) == width:
            yield row
        elif row:
            raise csv.Error


@contextmanager
def _long_values() -> Iterator[None]:
    """Allow values of any length: Python refuses those of more than 128 kB."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def select_written(connection: Any, path: str, start: bytes, given: object, columns: Sequence[str]) -> Any:
    """Return an Ibis table with the named columns of a file of objects as text.

    `path` is as DuckDB reads it, and `start` the file's first byte that is no space: a list begins with a bracket.
    """
    form = "array" if start == b"[" else "unstructured"
    wanted = list(dict.fromkeys(columns))
    values = [f"json ->> {_quoted(_pointer(name))} AS {_name(name)}" for name in wanted]
    present = [
        f"count(*) FILTER (WHERE NOT coalesce(json_exists(json, {_quoted(_pointer(name))}), false))" for name in wanted
    ]
    source = f"read_json_objects({_quoted(path)}, format = '{form}')"
    con = connection.con
    con.execute(f"CREATE TEMP TABLE objects AS SELECT json FROM {source}")  # noqa: S608 - names are quoted
    others, *absent = con.execute(
        f"SELECT count(*) FILTER (WHERE json_type(json) <> 'OBJECT'), {', '.join(present)} FROM objects"  # noqa: S608
    ).fetchone()
    if others:
        raise UnreadableError(f"{given} has rows without named values; check that it holds one JSON object a line")
    for name, rows in zip(wanted, absent, strict=True):
        if rows:
            raise ColumnError(
                f"not every row of {given} has the key {name!r}; check the name, and write null where there is no value"
            )
    con.execute(f"CREATE TEMP TABLE written AS SELECT {', '.join(values)} FROM objects; DROP TABLE objects")  # noqa: S608
    return connection.table("written")


def _pointer(name: str) -> str:
    """A key as a JSON pointer (RFC 6901)."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
