"""Ids and scores in memory, written as the CSV file of a submission."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from confide.errors import ParameterError, ScoreError
from confide.sources.frames import frame_columns, is_frame


def score_csv(scores: Any, *, id_column: str, score_column: str) -> bytes:
    r"""Write a dataframe, or a mapping from ids to scores, as CSV.

    Scores are written with all their digits, so that the reader gets the same floats.

    >>> score_csv({"p1": 0.1, "p2": 0.25}, id_column="id", score_column="risk")
    b'id,risk\r\np1,0.1\r\np2,0.25\r\n'
    """
    ids, values = _columns(scores, id_column, score_column)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow((id_column, score_column))
    writer.writerows(zip(map(_id, ids), map(_score, values), strict=True))
    try:
        return text.getvalue().encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError("an id has half of a character, which UTF-8 cannot hold; correct the ids") from None


def _columns(scores: Any, id_column: str, score_column: str) -> tuple[Iterable[Any], Iterable[Any]]:
    if isinstance(scores, Mapping):
        return scores.keys(), scores.values()
    if is_frame(scores):
        columns = frame_columns(scores, [id_column, score_column])
        return columns[id_column].to_list(), columns[score_column].to_list()
    raise ParameterError(
        "`scores` must be a file, a dataframe with the columns "
        f"{id_column!r} and {score_column!r}, or a mapping from ids to scores; got {type(scores).__name__}"
    )


def _id(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise ParameterError(f"ids must be text or whole numbers; got {type(value).__name__}. Convert the column to text")


def _score(value: object) -> str:
    if isinstance(value, int | float | Decimal | np.number | np.bool_):
        return repr(float(value))
    raise ScoreError("scores must be numbers, one for each row; remove or fill in what is missing")
