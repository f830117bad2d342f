"""Rows of a submitted CSV file: ids as text, scores as numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.counts import FloatArray
from confide.errors import SubmissionError, SubmissionProblem, UnreadableError
from confide.sources.score_alignment import ProblemCode, shorten
from confide.sources.score_limits import ScoreLimits, check_rows, find_columns

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_LONGEST_NUMBER = 400
_ABSENT = {"", "na", "n/a", "#n/a", "null", "none"}
_UTF8, _UTF16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_NEWLINE, _RETURN = b"\n\r"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_NOT_UTF8 = "the file is not encoded as UTF-8; save it as CSV in UTF-8"
_BLOCK = 1 << 20
_LONGEST_HEADER = 1 << 16


def csv_rows(content: bytes, columns: tuple[str, str], *, rows: int, limits: ScoreLimits) -> tuple[Any, FloatArray]:
    """Return the ids of a CSV file as a PyArrow array of text, and its scores, NaN where one is missing."""
    import pyarrow as pa

    names, begin = _header(content)
    wanted = find_columns(columns, names, limits)
    check_rows(_lines(content, begin), rows)
    reader = _Reader(content, begin, names, wanted)
    try:
        ids, scores = reader.read(pa.float64())
        return ids, scores.fill_null(float("nan")).to_numpy()
    except pa.ArrowInvalid:
        _require_utf8(content)
    try:
        ids, texts = reader.read(pa.string(), explained=True)  # perhaps a number that PyArrow does not take, such as +1
    except pa.ArrowInvalid:
        raise UnreadableError(_problem(reader.wrong, len(names))) from None
    return ids, _parse(texts.to_pylist(), ids)


class _Reader:
    """Reads two columns of the bytes behind the header, and remembers rows of another length than the header."""

    def __init__(self, content: bytes, begin: int, names: Sequence[str], wanted: tuple[int, int]) -> None:
        self._content, self._begin = content, begin
        self._names = [str(place) for place in range(len(names))]
        self._wanted = [str(place) for place in wanted]
        self.wrong: list[tuple[int | None, int]] = []

    def _refuse(self, row: Any) -> str:
        self.wrong.append((row.number, row.actual_columns))
        return "error"

    def read(self, scores: Any, *, explained: bool = False) -> tuple[Any, Any]:
        """Read ids as text and scores as the given type. With `explained`, remember rows that do not fit."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        table = arrow.read_csv(
            pa.BufferReader(pa.py_buffer(self._content).slice(self._begin)),
            read_options=arrow.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=self._names),
            parse_options=arrow.ParseOptions(invalid_row_handler=self._refuse if explained else None),
            convert_options=arrow.ConvertOptions(
                include_columns=self._wanted,
                column_types={self._wanted[0]: pa.string(), self._wanted[1]: scores},
                strings_can_be_null=False,
            ),
        )
        return table.column(0).combine_chunks(), table.column(1).combine_chunks()


def _lines(content: bytes, begin: int) -> int:
    """Count the lines behind the header, blank ones included. A line ends with LF, CR or both."""
    if begin == len(content):
        return 0
    rows = np.frombuffer(content, dtype=np.uint8, offset=begin)
    ends = np.count_nonzero(rows == _NEWLINE)
    if content.find(b"\r", begin) >= 0:
        alone = rows == _RETURN
        alone[:-1] &= rows[1:] != _NEWLINE
        ends += np.count_nonzero(alone)
    return int(ends) + (0 if rows[-1] in (_NEWLINE, _RETURN) else 1)


def _header(content: bytes) -> tuple[list[str], int]:
    """Return the names of the columns, and where the first row begins."""
    if content.startswith(_UTF16):
        raise UnreadableError(_NOT_UTF8)
    begin = len(_UTF8) if content.startswith(_UTF8) else 0
    start = content[begin : begin + _LONGEST_HEADER]
    begin += len(start) - len(start.lstrip(b"\r\n"))
    line = _LINE.match(content, begin, begin + _LONGEST_HEADER)
    if line is None or not line.group().strip():
        raise UnreadableError("the file is empty; give a header and a row for each id of the template")
    try:
        (names,) = csv.reader([line.group().decode("utf-8").rstrip("\r\n")], strict=True)
    except (csv.Error, ValueError):
        raise UnreadableError(
            "the first line is not a header in UTF-8; write the names of the columns with a comma between them"
        ) from None
    return [name.strip() for name in names], line.end()


def _parse(texts: Sequence[str], ids: Any) -> FloatArray:
    """Read numbers as people write them; refuse other texts."""
    scores = np.full(len(texts), np.nan)
    bad = []
    for row, text in enumerate(texts):
        written = text.strip()
        if len(written) <= _LONGEST_NUMBER and _NUMBER.fullmatch(written):
            scores[row] = float(written)
        elif written.lower() not in _ABSENT:
            bad.append(row)
    if bad:
        shown = ", ".join(f"{shorten(texts[row])} at id {shorten(str(ids[row].as_py()))}" for row in bad[:3])
        some = shown if len(bad) <= 3 else f"{shown} and {len(bad) - 3:,} more"
        count = "1 score is" if len(bad) == 1 else f"{len(bad):,} scores are"
        next_step = "write decimals with a point, for example 0.25 or 1e-3"
        raise SubmissionError([SubmissionProblem(ProblemCode.NOT_A_NUMBER, f"{count} not a number: {some}", next_step)])
    return scores


def _require_utf8(content: bytes) -> None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError(_NOT_UTF8) from None


def _problem(wrong: Sequence[tuple[int | None, int]], columns: int) -> str:
    """Describe why rows cannot be read, and what to do."""
    if not wrong:
        return "the file cannot be read as CSV; check that quotes are closed and that no row is longer than 1 MiB"
    number, actual = wrong[0]
    where = "a row" if number is None else f"row {number}"
    return (
        f"{where} has {actual} {'value' if actual == 1 else 'values'} where the header has {columns}; write one row a "
        "line, and values with commas in quotes"
    )
