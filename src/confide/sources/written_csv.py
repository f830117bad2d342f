"""CSV as it is written: all columns text, and no row with a say in how another is read.

DuckDB guesses separators, quotes and types from all rows together. Where each row must mean the same whatever the
others are, as for private releases and learning, the first line alone decides: it has the names and the separator.
Quotes are as RFC 4180 has them, and anything else is refused, as Python's strict reader does. PyArrow reads the rows,
many times as fast; where the two could differ, as they may on quotes that are not closed, Python reads instead.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from confide.errors import UnreadableError
from confide.sources.csv_quotes import is_regular
from confide.sources.details import MORE, detail, shows_errors

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
