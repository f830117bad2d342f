"""CSV and JSON as they are written: text, and no row with a say in how another is read.

This is the reader of CSV for rows of which each must mean the same whatever the others are, as for private releases and
learning. DuckDB would guess separators, quotes and types from all rows together. Here the first line alone decides: it
has the names and the separator. Quotes are as RFC 4180 has them, and anything else is refused, as Python's strict
reader does. Where NumPy has found that lines are rows, and every value and quote is where it must be, DuckDB is told
all of that and reads many times as fast as Python, which reads every other file.

Of JSON, too, DuckDB would guess columns from all rows together. Here the request names the columns, and each row must
have a value for each of them, null included: otherwise a key of one row alone would reveal that row.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from confide.errors import ColumnError, UnreadableError
from confide.sources.duckdb_tables import DuckTable, quoted_name, quoted_text
from confide.sources.error_details import MORE, detail, shows_errors

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 20
_QUOTE, _RETURN, _NEWLINE = b'"\r\n'
_BOM = codecs.BOM_UTF8


def is_regular(stream: BinaryIO, separator: str, width: int) -> bool:
    """Return whether a file of UTF-8 is so plain that every reader of CSV gets the same values from it.

    Lines are rows and end alike, all have `width` values, at least two, and none is very long. Each quote opens a
    value, closes one or is doubled within one: counted from the first, a quote at an even place opens a value, behind a
    separator or a line's end, or is the second of two; one at an odd place closes a value, before a separator or a
    line's end, or is the first of two.

    >>> import io
    >>> is_regular(io.BytesIO(b'a,b\\n1,"b ""c"" d"'), ",", 2), is_regular(io.BytesIO(b'a,b\\n1,"b" c'), ",", 2)
    (True, False)
    """
    if width < 2:
        return False
    content, returns = stream.read(len(_BOM)).removeprefix(_BOM), None
    while content := content + stream.read(_BLOCK) + stream.readline(_LONGEST_LINE):
        ends = b"\r\n" if b"\r" in content else b"\n"
        if not content.endswith(b"\n"):  # the last line
            content += ends
        if returns is None:
            returns = ends
        if ends != returns or not _lines_are_rows(content, ends, ord(separator), width):
            return False
        content = b""
    return True


def _lines_are_rows(content: bytes, ends: bytes, separator: int, width: int) -> bool:
    """Return whether each of some lines is a row as `is_regular` wants it."""
    lines = content.count(b"\n")
    if b"\0" in content or content.count(b"\r") != (lines if ends == b"\r\n" else 0) or content.count(ends) != lines:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    array = np.frombuffer(content, dtype=np.uint8)
    quotes = np.flatnonzero(array == _QUOTE) if _QUOTE in content else np.empty(0, dtype=np.int64)
    last = np.flatnonzero(array == _NEWLINE)
    marks = np.flatnonzero(array == separator)
    if quotes.size:
        opening = np.arange(quotes.size) % 2 == 0
        beside = np.where(opening, array[quotes - 1], array[np.minimum(quotes + 1, array.size - 1)])
        beside[:1] = _NEWLINE if quotes[0] == 0 else beside[:1]
        fits = np.isin(beside, np.array([separator, _RETURN, _NEWLINE, _QUOTE], dtype=np.uint8))
        if not fits.all() or (np.searchsorted(quotes, last) % 2).any():  # a value of several lines
            return False
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    values = np.diff(np.searchsorted(marks, last), prepend=0) + 1
    return bool((values == width).all() and np.diff(last, prepend=-1).max() <= _LONGEST_LINE)


_SEPARATORS = (",", ";", "\t", "|")
_BATCH_ROWS = 1 << 13


def read_written(
    con: Any, file: Path, given: str | Path, *, tabs: bool, packed: bool, columns: Sequence[str] | None = None
) -> DuckTable:
    """Read a file as a table of text on a connection of DuckDB; lines that are blank are passed over.

    With `columns` the table has these alone, or all columns where the file has not all of these.
    """
    with _opened(file, packed) as lines, long_values():
        numbered = _Numbered(lines)
        try:
            first = next(line for line in numbered if line.strip())
            at_top = numbered.line == 1
            separator = "\t" if tabs else _separator(first)
            rows = csv.reader(chain([first], numbered), delimiter=separator, strict=True)
            names = distinct(next(rows))
            some = columns is not None and set(columns) <= set(names)
            wanted = list(dict.fromkeys(columns or ())) if some else names
            quickly = _read_quickly(con, file, packed, separator, names, wanted) if at_top else None
            return _read_strictly(con, rows, names, wanted) if quickly is None else quickly
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


def _read_quickly(
    con: Any, file: Path, packed: bool, separator: str, names: list[str], wanted: list[str]
) -> DuckTable | None:
    """Read with DuckDB, which has nothing to guess; None where only Python's reader can tell what is right."""
    import duckdb

    with _bytes(file, packed) as stream:
        if not is_regular(stream, separator, len(names)):
            return None
    columns = ", ".join(f"{quoted_name(name)}: 'VARCHAR'" for name in names)
    options = {
        "auto_detect": "false",
        "columns": f"{{{columns}}}",
        "header": "true",
        "delim": quoted_text(separator),
        "quote": "'\"'",
        "escape": "'\"'",
        "comment": "''",
        "force_not_null": f"[{', '.join(map(quoted_text, names))}]",
        "max_line_size": str(2 * _LONGEST_LINE),
        "hive_partitioning": "false",
    }
    listed = "".join(f", {name} = {value}" for name, value in options.items())
    source = f"read_csv({quoted_text(literally(file))}{listed})"
    try:
        return DuckTable(con, f"SELECT {', '.join(map(quoted_name, wanted))} FROM {source}").kept()  # noqa: S608  # quoted
    except duckdb.Error:
        return None


def _read_strictly(con: Any, rows: Iterator[list[str]], names: list[str], wanted: list[str]) -> DuckTable:
    """Read the rows behind the first line with Python's reader."""
    table = f"confide_written_{secrets.token_hex(8)}"
    con.execute(f"CREATE TEMP TABLE {table} ({', '.join(f'{quoted_name(name)} VARCHAR' for name in wanted)})")
    places = [names.index(name) for name in wanted]
    lists = ", ".join("unnest(CAST(? AS VARCHAR[]))" for _ in wanted)
    for columns in _columns(rows, len(names)):
        con.execute(f"INSERT INTO {table} SELECT {lists}", [list(columns[place]) for place in places])
    return DuckTable(con, f"SELECT * FROM {table}")  # noqa: S608  # our own name


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


def literally(file: Path) -> str:
    """Write a path so that DuckDB takes it for this file, not for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


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


_LONG_VALUES = Lock()
_readers: list[int] = []  # the limit before each thread that reads now; the first one is the caller's own


@contextmanager
def long_values() -> Iterator[None]:
    """Allow values of any length: Python refuses those of more than 128 kB, by one limit for all threads."""
    with _LONG_VALUES:
        _readers.append(csv.field_size_limit(sys.maxsize))
    try:
        yield
    finally:
        with _LONG_VALUES:
            if len(_readers) == 1:
                csv.field_size_limit(_readers[0])
            _readers.pop()


def select_written(con: Any, path: str, start: bytes, given: object, columns: Sequence[str]) -> DuckTable:
    """Return a table with the named columns of a file of objects as text.

    `path` is as DuckDB reads it, and `start` the file's first byte that is no space: a list begins with a bracket.
    """
    form = "array" if start == b"[" else "unstructured"
    wanted = list(dict.fromkeys(columns))
    values = [f"json ->> {quoted_text(_pointer(name))} AS {quoted_name(name)}" for name in wanted]
    present = [
        f"count(*) FILTER (WHERE NOT coalesce(json_exists(json, {quoted_text(_pointer(name))}), false))"
        for name in wanted
    ]
    source = f"read_json_objects({quoted_text(path)}, format = '{form}')"
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
    table = DuckTable(con, f"SELECT {', '.join(values)} FROM objects").kept()  # noqa: S608 - names are quoted
    con.execute("DROP TABLE objects")
    return table


def _pointer(name: str) -> str:
    """A key as a JSON pointer (RFC 6901)."""
    return "/" + name.replace("~", "~0").replace("/", "~1")
