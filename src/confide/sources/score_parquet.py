"""Rows of a submitted Parquet file: ids as text, scores as numbers. Everything is checked before it is decoded."""

from __future__ import annotations

from typing import Any

from confide.counts import FloatArray
from confide.errors import SubmissionError, SubmissionProblem, UnreadableError
from confide.sources.compact_thrift import malformed
from confide.sources.parquet_pages import check_pages, read_footer
from confide.sources.score_alignment import ProblemCode, shorten
from confide.sources.score_limits import ScoreLimits, check_rows, find_columns

_MOST_THRIFT = 1 << 18


def parquet_rows(content: bytes, columns: tuple[str, str], *, rows: int, limits: ScoreLimits) -> tuple[Any, FloatArray]:
    """Return the ids of a Parquet file as a PyArrow array of text, and its scores, NaN where one is missing.

    The array of ids is encoded by a dictionary: one long text that a file repeats for every row stays one text.
    """
    import pyarrow as pa
    from pyarrow import parquet

    footer = read_footer(content, most_row_groups=limits.most_row_groups)
    find_columns(columns, footer.columns, limits)
    _require(not footer.nested.intersection(columns[:1]), not footer.nested.intersection(columns[1:]), columns)
    check_rows(footer.rows, rows)
    needed = [chunk for chunk in footer.chunks if chunk.column in columns]
    if sum(chunk.values for chunk in needed) != 2 * footer.rows:
        raise malformed()
    check_pages(content, needed, most_bytes=limits.most_unpacked)
    try:
        file = parquet.ParquetFile(
            pa.BufferReader(content),
            read_dictionary=[columns[0]],
            pre_buffer=False,
            thrift_string_size_limit=_MOST_THRIFT,
            thrift_container_size_limit=_MOST_THRIFT,
            schema_depth_limit=16,
            arrow_extensions_enabled=False,
        )
        schema = file.schema_arrow
        _check_types(schema.field(columns[0]).type, schema.field(columns[1]).type, columns)
        table = file.read(columns=list(columns), use_threads=False)
        table.validate(full=True)  # places in a dictionary, and UTF-8: PyArrow takes them on trust
        scores = table.column(columns[1]).cast(pa.float64()).fill_null(float("nan")).to_numpy()
        return _texts(table.column(columns[0])), scores
    except (SubmissionError, UnreadableError):
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError):
        raise UnreadableError("the file cannot be read as Parquet; write it again, or give CSV") from None


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
