"""Read a submitted file of scores, CSV or Parquet, into the order of a contest's template.

Only the two columns that are needed are decoded, in one thread. The size of the file and the number of its rows and
columns are checked first. A decoder may still need much time and memory for a small file: those of strangers are read
by `score_process`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from confide.counts import FloatArray
from confide.errors import SubmissionError, SubmissionProblem, UnreadableError, UsageError
from confide.sources.id_index import IdIndex
from confide.sources.score_alignment import AlignedScores, ProblemCode, align
from confide.sources.score_csv import csv_rows
from confide.sources.score_limits import ScoreLimits
from confide.sources.score_parquet import parquet_rows

Kind = Literal["csv", "parquet"]

_GZIP = b"\x1f\x8b"

__all__ = ["IdIndex", "Kind", "ProblemCode", "ScoreLimits", "kind_of", "read_score_file", "read_scores"]


def read_scores(
    path: Path,
    kind: Kind,
    index: IdIndex,
    *,
    id_column: str = "id",
    score_column: str = "score",
    probabilities: bool = False,
    limits: ScoreLimits | None = None,
) -> FloatArray:
    """Return the scores of a file in the order of a template's ids.

    Other columns are ignored, and rows may be in any order. Ids are compared as text; whole numbers in Parquet are
    written as text. With `probabilities`, scores must lie in [0, 1]. Raises SubmissionError with everything that is
    wrong in the rows.
    """
    columns = (id_column, score_column)
    return read_score_file(path, kind, index, columns, probabilities=probabilities, limits=limits).scores


def read_score_file(
    file: Path | int,
    kind: Kind,
    index: IdIndex,
    columns: tuple[str, str],
    *,
    probabilities: bool = False,
    limits: ScoreLimits | None = None,
) -> AlignedScores:
    """Read a file as `read_scores` does; also tell whether its rows are in the template's order.

    An open file may be given by its descriptor.
    """
    limits = limits or ScoreLimits()
    content = _content(file, limits)
    read = parquet_rows if kind == "parquet" else csv_rows
    try:
        ids, scores = read(content, columns, rows=len(index), limits=limits)
    except UnreadableError as error:
        problem, _, step = str(error).partition("; ")
        raise SubmissionError([SubmissionProblem(ProblemCode.UNREADABLE, problem, step)]) from None
    return align(
        index.places(ids),
        scores,
        ids=index.ids,
        given=lambda row: str(ids[row].as_py() or ""),
        probabilities=probabilities,
    )


def kind_of(path: Path) -> Kind:
    """Return the kind of a file by the ending of its name."""
    endings: dict[str, Kind] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
    ending = path.suffix.lower()
    if ending not in endings:
        raise UsageError(f"{path}: the ending must be .csv, .parquet or .pq; save the scores as one of them")
    return endings[ending]


def _content(file: Path | int, limits: ScoreLimits) -> bytes:
    """Read a file whole, and never more than is allowed."""
    try:
        with open(file, "rb") as stream:  # also takes a descriptor
            length = os.fstat(stream.fileno()).st_size  # reading without a length makes room for all that is allowed
            content = stream.read(min(length, limits.most_bytes) + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); check the path") from None
    problem = None
    if len(content) > limits.most_bytes:
        problem = SubmissionProblem(
            ProblemCode.TOO_LARGE,
            f"the file has more than {limits.most_bytes:,} bytes",
            "keep the two columns of the template alone, or give Parquet",
        )
    elif content.startswith(_GZIP):
        problem = SubmissionProblem(ProblemCode.UNREADABLE, "the file is compressed", "give it unpacked, or as Parquet")
    if problem is not None:
        raise SubmissionError([problem])
    return content
