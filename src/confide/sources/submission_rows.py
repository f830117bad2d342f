"""Rows of a submitted file, CSV or Parquet, under its limits: ids as text, scores as numbers.

Everything named in a problem is the participant's own file or the public template.

This is the reader of CSV for files of scores, at the participant and at the server: the template decides columns and
types, sizes are checked before anything is parsed, and every problem is named for the participant. Python's reader is
used, which needs little memory and no package. Parquet of strangers is decoded by PyArrow, in a process with limits
(see `score_process`); a participant's own by DuckDB, which the base install has.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import SubmissionError, SubmissionProblem, UnreadableError, did_you_mean
from confide.sources.duckdb_files import connect_duckdb, outer_names
from confide.sources.duckdb_tables import DuckTable, quoted_text
from confide.sources.written_files import literally, long_values

_EXAMPLES = 3
_LONGEST = 60


class ProblemCode(StrEnum):
    """Kinds of problems in a file of scores."""

    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"
    COLUMNS = "columns"
    NO_ROWS = "no-rows"
    TOO_MANY_ROWS = "too-many-rows"
    MISSING_IDS = "missing-ids"
    UNKNOWN_IDS = "unknown-ids"
    REPEATED_IDS = "repeated-ids"
    NOT_A_NUMBER = "not-a-number"
    INFINITE = "infinite"
    OUT_OF_RANGE = "out-of-range"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlignedScores:
    """Scores in the order of the template, and whether the file had that order."""

    scores: FloatArray
    in_order: bool


def align(
    places: NDArray[np.int64],
    scores: FloatArray,
    *,
    ids: Sequence[str],
    given: Callable[[int], str],
    probabilities: bool = False,
) -> AlignedScores:
    """Return scores in the order of the template; refuse a file with missing, unknown or repeated ids, or bad scores.

    `places` are those of the file's ids in the template, -1 for unknown ones. `given` returns the id of a row of the
    file. Scores that are missing are NaN. Minus zero becomes zero, so that equal scores have equal bytes.
    """
    problems = [*_id_problems(places, ids, given), *_score_problems(scores, given, probabilities)]
    if problems:
        raise SubmissionError(problems)
    aligned = np.empty(len(ids), dtype=np.float64)
    aligned[places] = scores + 0.0
    return AlignedScores(aligned, bool((places == np.arange(len(ids))).all()))


def _id_problems(
    places: NDArray[np.int64], ids: Sequence[str], given: Callable[[int], str]
) -> Iterator[SubmissionProblem]:
    unknown = np.flatnonzero(places < 0)
    if unknown.size:
        yield SubmissionProblem(
            ProblemCode.UNKNOWN_IDS,
            f"{_rows(unknown.size)} an id that the template does not have: {_some(unknown, given)}",
            "remove these rows, or correct their ids",
        )
    counts = np.bincount(places[places >= 0], minlength=len(ids))
    repeated, missing = np.flatnonzero(counts > 1), np.flatnonzero(counts == 0)
    if repeated.size:
        yield SubmissionProblem(
            ProblemCode.REPEATED_IDS,
            f"{_ids(repeated.size, 'occurs', 'occur')} more than once: {_some(repeated, ids.__getitem__)}",
            "keep one row for each id",
        )
    if missing.size:
        yield SubmissionProblem(
            ProblemCode.MISSING_IDS,
            f"{_ids(missing.size, 'is', 'are')} missing: {_some(missing, ids.__getitem__)}",
            "score every id of the template",
        )


def _score_problems(
    scores: FloatArray, given: Callable[[int], str], probabilities: bool
) -> Iterator[SubmissionProblem]:
    absent, infinite = np.flatnonzero(np.isnan(scores)), np.flatnonzero(np.isinf(scores))
    if absent.size:
        yield SubmissionProblem(
            ProblemCode.NOT_A_NUMBER,
            f"{_rows(absent.size)} a score that is missing or NaN, at id {_some(absent, given)}",
            "give every id a finite number",
        )
    if infinite.size:
        yield SubmissionProblem(
            ProblemCode.INFINITE,
            f"{_rows(infinite.size)} an infinite score, at id {_some(infinite, given)}",
            "give every id a finite number",
        )
    outside = np.flatnonzero((scores < 0.0) | (scores > 1.0)) if probabilities else np.empty(0, dtype=np.int64)
    finite = outside[np.isfinite(scores[outside])]
    if finite.size:
        yield SubmissionProblem(
            ProblemCode.OUT_OF_RANGE,
            f"{_rows(finite.size)} a score outside 0 to 1, at id {_some(finite, given)}",
            "divide percentages by 100: the metric of this contest needs probabilities"
            if _like_percentages(scores)
            else "give probabilities, as the metric of this contest needs them",
        )


def _like_percentages(scores: FloatArray) -> bool:
    """Return whether all scores lie between 0 and 100, and one of them well above 1."""
    return bool(((scores >= 0.0) & (scores <= 100.0)).all() and scores.max() > 2.0)


def shorten(text: str) -> str:
    """Quote a text that may be long or hold anything, so that it stays within a line.

    >>> shorten("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'"
    """
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def _some(rows: NDArray[np.int64], name: Callable[[int], str]) -> str:
    shown = ", ".join(shorten(name(int(row))) for row in rows[:_EXAMPLES])
    return f"{shown} and {rows.size - _EXAMPLES:,} more" if rows.size > _EXAMPLES else shown


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"


def _ids(count: int, one: str, several: str) -> str:
    return f"1 id {one}" if count == 1 else f"{count:,} ids {several}"


MOST_BYTES = 64 << 20
"""Bytes of the largest file, unless another number is given."""

_LISTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreLimits:
    """Largest file that is read: its bytes, its columns and its row groups."""

    most_bytes: int = MOST_BYTES
    most_columns: int = 100
    most_row_groups: int = 200


def find_columns(columns: tuple[str, str], names: Sequence[str], limits: ScoreLimits) -> tuple[int, int]:
    """Return the places of the columns of ids and of scores; refuse a file that has not exactly one of each."""
    problems = []
    if len(names) > limits.most_columns:
        problems.append(
            SubmissionProblem(
                ProblemCode.COLUMNS,
                f"the file has more than {limits.most_columns} columns",
                "keep the two columns of the template alone",
            )
        )
        raise SubmissionError(problems)
    for column in columns:
        if names.count(column) > 1:
            problems.append(
                SubmissionProblem(
                    ProblemCode.COLUMNS, f"the file has more than one column {shorten(column)}", "keep one of them"
                )
            )
        elif column not in names:
            problems.append(
                SubmissionProblem(
                    ProblemCode.COLUMNS, f"the file has no column {shorten(column)}", _hint(column, names)
                )
            )
    if problems:
        raise SubmissionError(problems)
    return names.index(columns[0]), names.index(columns[1])


def check_rows(rows: int, expected: int) -> None:
    """Refuse a file with no rows, or with more rows than the template."""
    if rows > expected:
        raise SubmissionError(
            [
                SubmissionProblem(
                    ProblemCode.TOO_MANY_ROWS,
                    f"the file has {rows:,} rows, and the template {expected:,}",
                    "give one row for each id, and no blank lines",
                )
            ]
        )
    if rows < 1:
        raise SubmissionError(
            [SubmissionProblem(ProblemCode.NO_ROWS, "the file has no rows", "give one row for each id of the template")]
        )


def _hint(column: str, names: Sequence[str]) -> str:
    """Return what to do about a column that is not there."""
    separators = [one for one in (";", "\t", "|") if len(names) == 1 and one in names[0]]
    if separators:
        return "separate columns by commas, and write decimals with a point"
    by_letters = [name for name in names if name.lower() == column.lower()]
    meant = f"Did you mean {shorten(by_letters[0])}? " if by_letters else did_you_mean(column, names)
    listed = ", ".join(shorten(name) for name in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (
        f"{meant[:1].lower()}{meant[1:]}name the columns as in the template, letter case included; the file has "
        f"{listed}{more}"
    )


_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_LONGEST_NUMBER = 400
_ABSENT = {"", "na", "n/a", "#n/a", "null", "none"}
_UTF8, _UTF16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_NEWLINE, _RETURN = b"\n\r"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_NOT_UTF8 = "the file is not encoded as UTF-8; save it as CSV in UTF-8"
_NOT_CSV = "the file cannot be read as CSV; check that quotes are closed and that no row is longer than 1 MiB"
_LONGEST_ROW = 1 << 20
_LONGEST_HEADER = 1 << 16


def csv_rows(
    content: bytes, columns: tuple[str, str], *, rows: int, limits: ScoreLimits
) -> tuple[Sequence[str], FloatArray]:
    """Return the ids of a CSV file as texts, and its scores, NaN where one is missing."""
    names, begin = _header(content)
    wanted = find_columns(columns, names, limits)
    check_rows(_lines(content, begin), rows)
    ids: list[str] = []
    texts: list[str] = []
    with long_values(), io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="") as text:
        text.seek(begin)
        try:
            for row in csv.reader(text, strict=True):
                if len(row) != len(names):
                    if not row:
                        continue
                    raise UnreadableError(_other_length(len(ids) + 1, len(row), len(names)))
                if sum(map(len, row)) > _LONGEST_ROW:
                    raise UnreadableError(_NOT_CSV)
                ids.append(row[wanted[0]])
                texts.append(row[wanted[1]])
        except UnicodeDecodeError:
            raise UnreadableError(_NOT_UTF8) from None
        except csv.Error:
            raise UnreadableError(_NOT_CSV) from None
    return ids, _parse(texts, ids)


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


def _parse(texts: Sequence[str], ids: Sequence[str]) -> FloatArray:
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
        shown = ", ".join(f"{shorten(texts[row])} at id {shorten(ids[row])}" for row in bad[:3])
        some = shown if len(bad) <= 3 else f"{shown} and {len(bad) - 3:,} more"
        count = "1 score is" if len(bad) == 1 else f"{len(bad):,} scores are"
        next_step = "write decimals with a point, for example 0.25 or 1e-3"
        raise SubmissionError([SubmissionProblem(ProblemCode.NOT_A_NUMBER, f"{count} not a number: {some}", next_step)])
    return scores


def _other_length(number: int, actual: int, columns: int) -> str:
    return (
        f"row {number} has {actual} {'value' if actual == 1 else 'values'} where the header has {columns}; write one "
        "row a line, and values with commas in quotes"
    )


_MAGIC = b"PAR1"
_LONGEST_FOOTER = 1 << 18


def parquet_rows(content: bytes, columns: tuple[str, str], *, rows: int, limits: ScoreLimits) -> tuple[Any, FloatArray]:
    """Return the ids of a Parquet file as a PyArrow array of text, and its scores, NaN where one is missing.

    The array of ids is encoded by a dictionary: one long text that a file repeats for every row stays one text. What
    PyArrow does with a hostile file has no limits here: see `score_process`.
    """
    import pyarrow as pa

    _check_footer(content)
    try:
        file = _opened(content)
        schema, groups = file.schema_arrow, file.num_row_groups
        find_columns(columns, schema.names, limits)
        ids = schema.field(columns[0]).type
        _check_types(ids, schema.field(columns[1]).type, columns)
        check_rows(file.metadata.num_rows, rows)
        if groups > limits.most_row_groups:
            raise UnreadableError(f"the file has more than {limits.most_row_groups} row groups; write it with one")
        if not pa.types.is_integer(ids):
            file = _opened(content, read_dictionary=[columns[0]])
        table = file.read(columns=list(columns), use_threads=False)
        table.validate(full=True)  # places in a dictionary, and UTF-8: PyArrow takes them on trust
        if table.num_rows != file.metadata.num_rows:
            raise _unreadable()
        scores = table.column(columns[1]).cast(pa.float64()).fill_null(float("nan")).to_numpy()
        return _texts(table.column(columns[0])), scores
    except (SubmissionError, UnreadableError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError):
        raise _unreadable() from None


_USUAL_ENCODINGS = {"PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "BIT_PACKED", "BYTE_STREAM_SPLIT"}


def own_parquet_rows(
    path: Path, columns: tuple[str, str], *, rows: int, limits: ScoreLimits
) -> tuple[Sequence[str], FloatArray]:
    """Return what `parquet_rows` returns, of a file that is the caller's own, and refuse what that refuses."""
    import duckdb

    _check_footer(path.read_bytes())
    file = quoted_text(literally(path))
    try:
        with connect_duckdb() as con:
            table = DuckTable(con, f"SELECT * FROM read_parquet({file}, hive_partitioning = false)")  # noqa: S608
            schema = con.execute(f"SELECT name, num_children FROM parquet_schema({file})").fetchall()  # noqa: S608
            # By place: DuckDB gives a column a new name if another differs from it in letter case alone.
            id_name, score_name = (table.columns[place] for place in find_columns(columns, outer_names(schema), limits))
            ids, scores = table[id_name].type(), table[score_name].type()
            _require(ids.is_string() or ids.is_integer(), scores.is_floating() or scores.is_integer(), columns)
            about = f"FROM parquet_metadata({file})"
            (groups,) = con.execute(f"SELECT count(DISTINCT row_group_id) {about}").fetchone()
            (counted,) = table.aggregate(rows=table.count()).rows()
            check_rows(counted["rows"], rows)
            if groups > limits.most_row_groups:
                raise UnreadableError(f"the file has more than {limits.most_row_groups} row groups; write it with one")
            of_ids = f"SELECT DISTINCT encodings {about} WHERE path_in_schema = {quoted_text(columns[0])}"
            used = {each.strip() for (encodings,) in con.execute(of_ids).fetchall() for each in encodings.split(",")}
            if not used <= _USUAL_ENCODINGS:
                raise _unreadable()
            found = table.select(id=table[id_name].cast("string"), score=table[score_name].cast("float64")).arrays()
    except duckdb.Error:
        raise _unreadable() from None
    missing = [np.nan if score is None else score for score in found["score"].tolist()]
    return [one or "" for one in found["id"].tolist()], np.array(missing, dtype=np.float64)


def _opened(content: bytes, **options: Any) -> Any:
    """Open a file without trust in the lengths that its footer names."""
    import pyarrow as pa
    from pyarrow import parquet

    return parquet.ParquetFile(
        pa.BufferReader(content),
        pre_buffer=False,
        thrift_string_size_limit=_LONGEST_FOOTER,
        thrift_container_size_limit=_LONGEST_FOOTER,
        schema_depth_limit=16,
        arrow_extensions_enabled=False,
        **options,
    )


def _unreadable() -> UnreadableError:
    return UnreadableError("the file cannot be read as Parquet; write it again with usual settings, or give CSV")


def _check_footer(content: bytes) -> None:
    """Refuse a file without the signs of Parquet, and a footer that is too long."""
    if len(content) < 12 or not content.startswith(_MAGIC) or not content.endswith(_MAGIC):
        raise UnreadableError("the file is not Parquet; check the ending of its name, or give CSV")
    if not 0 < int.from_bytes(content[-8:-4], "little") <= min(_LONGEST_FOOTER, len(content) - 12):
        raise UnreadableError("the footer of the file is too long; write the two columns of the template alone")


def _check_types(ids: Any, scores: Any, columns: tuple[str, str]) -> None:
    """Refuse columns by their PyArrow types."""
    import pyarrow as pa

    kinds = pa.types
    inner = ids.value_type if kinds.is_dictionary(ids) else ids
    text = kinds.is_string(inner) or kinds.is_large_string(inner) or kinds.is_string_view(inner)
    _require(text or kinds.is_integer(inner), kinds.is_floating(scores) or kinds.is_integer(scores), columns)


def _require(ids_fit: bool, scores_fit: bool, columns: tuple[str, str]) -> None:
    problems = []
    if not ids_fit:
        problems.append(
            SubmissionProblem(
                ProblemCode.COLUMNS,
                f"column {shorten(columns[0])} holds neither text nor whole numbers",
                "write ids as text, as in the template",
            )
        )
    if not scores_fit:
        problems.append(
            SubmissionProblem(
                ProblemCode.COLUMNS, f"column {shorten(columns[1])} does not hold numbers", "write scores as float64"
            )
        )
    if problems:
        raise SubmissionError(problems)


def _texts(column: Any) -> Any:
    """Return ids as one array of text, encoded by a dictionary where the file is; missing ids are empty."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).combine_chunks().fill_null("")
    return column.unify_dictionaries().combine_chunks()
