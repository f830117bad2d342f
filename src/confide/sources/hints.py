"""Hints about likely mistakes in exact evaluations: swapped columns, hard predictions, percentages, odd thresholds.

Hints depend on the rows. They are for those who may see the rows: a private release must not call these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import ScoreCounts
from confide.device import on_device, to_host
from confide.errors import LabelError, ParameterError
from confide.sources.engine_tables import fetch_rows, is_engine_table

_LEAST_PERCENTAGE = 10.0  # scores that never exceed this are hardly percentages
_LOOKED_AT = 10_000


def check_thresholds(thresholds: Sequence[float], models: Sequence[ScoreCounts]) -> None:
    """Refuse a threshold outside [0, 1] if all scores of all models lie inside.

    >>> check_thresholds([20], [ScoreCounts.from_arrays([0, 1], [0.1, 0.9])])
    Traceback (most recent call last):
    confide.errors.ParameterError: `thresholds` must lie in [0, 1], as all scores do; got 20. Did you mean 0.2?
    """
    if not all(counts.probabilities for counts in models):
        return
    for threshold in thresholds:
        if not 0.0 <= threshold <= 1.0:
            raise ParameterError(
                f"`thresholds` must lie in [0, 1], as all scores do; got {threshold:g}.{_as_probability(threshold)}"
            )


def _as_probability(threshold: float) -> str:
    return f" Did you mean {threshold / 100.0:g}?" if 1.0 < threshold <= 100.0 else ""


def score_hints(name: str, counts: ScoreCounts, thresholds: Sequence[float] = ()) -> Iterator[str]:
    """Yield what is unusual about the scores of a model, as sentences."""
    if len(counts) == 1:
        yield f"{name} gives every row the same score, so it ranks nothing: check that this is the right column."
    elif len(counts) == 2:
        yield (
            f"{name} has two values alone, as predicted classes have: its AUC is that of one threshold, the mean of "
            "recall and specificity. Evaluate the scores behind the classes, such as predict_proba's, if there are any."
        )
    elif _like_percentages(counts):
        yield (
            f"{name} lies between 0 and 100: if these are percentages, divide them by 100, and calibration and net "
            "benefit follow."
        )
        for threshold in thresholds:
            if 0.0 < threshold < 1.0:
                yield f"The threshold {threshold:g} is low for {name}: did you mean {100 * threshold:g}?"


def _like_percentages(counts: ScoreCounts) -> bool:
    return len(counts) > 0 and bool(counts.scores[0] >= 0.0 and _LEAST_PERCENTAGE < counts.scores[-1] <= 100.0)


def look_swapped(labels: ArrayLike, scores: ArrayLike) -> bool:
    """Return whether labels have more than two values while scores have two.

    >>> look_swapped([0.1, 0.7, 0.4], [0, 1, 1]), look_swapped([0, 1, 1], [0.1, 0.7, 0.4])
    (True, False)
    """
    return _kinds(labels) > 2 and _kinds(scores) == 2


def _kinds(values: ArrayLike) -> int:
    """Return the number of distinct values, at most 3."""
    seen: set[Any] = set()
    for value in np.asarray(_leading(values), dtype=object).ravel()[:_LOOKED_AT].tolist():
        seen.add(value)
        if len(seen) > 2:
            break
    return len(seen)


def _leading(values: Any) -> Any:
    """Return values that NumPy reads: of an array on a device the first ones alone."""
    return to_host(values[: min(_LOOKED_AT, values.shape[0])]) if on_device(values) else values


@contextmanager
def explaining_swaps(read: Callable[[], tuple[ArrayLike, ArrayLike]], advice: str) -> Iterator[None]:
    """Add advice to an error about labels if labels and scores look swapped.

    `read` returns labels and scores. It is called after an error alone.
    """
    try:
        yield
    except LabelError as error:
        if not look_swapped(*read()):
            raise
        raise type(error)(f"{error}. Labels and scores look swapped: {advice}") from error


def first_rows(table: Any, label: str, score: str) -> tuple[list[Any], list[Any]]:
    """Return the labels and scores of the first rows of a file, a table or a dataframe."""
    if isinstance(table, str | Path):
        from confide.sources.duckdb_files import open_file

        table = open_file(table)
    if is_engine_table(table):
        both = {role: _readable(table[name]) for role, name in (("label", label), ("score", score))}
        rows = fetch_rows(table.select(**both).limit(_LOOKED_AT))
        return [row["label"] for row in rows], [row["score"] for row in rows]
    import narwhals as nw

    frame = nw.from_native(table).select(label, score).head(_LOOKED_AT).lazy().collect()
    return frame[label].to_list(), frame[score].to_list()


def _readable(column: Any) -> Any:
    """Return decimals as text: Arrow's have neither every digit nor NaN."""
    return column.cast("string") if column.type().is_decimal() else column
