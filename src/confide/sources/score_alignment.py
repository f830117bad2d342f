"""Rules for the rows of a submission: every id of the template once, and with it a finite score.

Everything named in a problem is the participant's own file or the public template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import SubmissionError, SubmissionProblem

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
