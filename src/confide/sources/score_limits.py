"""Limits of submitted files, and the checks that CSV and Parquet share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confide.errors import SubmissionError, SubmissionProblem, did_you_mean
from confide.sources.score_alignment import ProblemCode, shorten

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
