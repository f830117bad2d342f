"""CSV as it is written: all columns text, and no row with a say in how another is read.

DuckDB guesses separators, quotes and types from all rows together; told what they are, it drops rows without a word
where a quote is never closed. Where each row must mean the same whatever the others are, as for private learning, the
first line alone decides: it has the names and the separator. Quotes are as RFC 4180 has them, and anything else is
refused.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from confide.errors import UnreadableError

_SEPARATORS = (",", ";", "\t", "|")
_BATCH_ROWS = 1 << 13


def read_written(file: Path, given: str | Path, *, tabs: bool, packed: bool) -> Any:
    """Read a file as a PyArrow table of text; lines that are blank are passed over."""
    import pyarrow as pa

    with _opened(file, packed) as lines, _long_values():
        numbered = _Numbered(lines)
        try:
            first = next(line for line in numbered if line.strip())
            rows = csv.reader(chain([first], numbered), delimiter="\t" if tabs else _separator(first), strict=True)
            names = distinct(next(rows))
            kinds = pa.schema([(name, pa.string()) for name in names])
            batches = [pa.record_batch(columns, schema=kinds) for columns in _columns(rows, len(names))]
        except (csv.Error, UnicodeDecodeError):
            raise UnreadableError(
                f"{given} cannot be read as CSV near line {numbered.line}; check that each row has as many values as "
                'the first line, that values with quotes are written "like ""this""", and that text is encoded as UTF-8'
            ) from None
    return pa.Table.from_batches(batches, schema=kinds)


def distinct(names: Iterable[str]) -> list[str]:
    """Give each column a name of its own, letter case aside, as DuckDB does: a, a_1, and column2 for none.

    >>> distinct(["a", "A", ""])
    ['a', 'A_1', 'column2']
    """
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        wanted = base = name.strip() or f"column{place}"
        number = 0
        while wanted.lower() in found:
            number += 1
            wanted = f"{base}_{number}"
        found[wanted.lower()] = wanted
    return list(found.values())


class _Numbered:
    """The lines of a file, and the number of the last that was read."""

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


def _separator(line: str) -> str:
    """The separator that finds most names in the first line."""
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
