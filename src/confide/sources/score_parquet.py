"""Rows of a submitted Parquet file: ids as text, scores as numbers."""

from __future__ import annotations

from typing import Any

from confide.counts import FloatArray
from confide.errors import SubmissionError, SubmissionProblem, UnreadableError
from confide.sources.score_alignment import ProblemCode, shorten
from confide.sources.score_limits import ScoreLimits, check_rows, find_columns

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
