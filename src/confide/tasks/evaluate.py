"""Evaluate scores exactly, from arrays, dataframes, files, Ibis tables or counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.evaluation.evaluate import evaluate_counts, evaluate_rows
from confide.evaluation.evaluation import Evaluation
from confide.intervals.interval import check_level
from confide.sources.labels import labels_of
from confide.sources.rows import Rows


def evaluate(
    data: Any,
    scores: ArrayLike | Mapping[str, ArrayLike] | Any | None = None,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    weight: str | None = None,
    group: str | None = None,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    positive: object = None,
    thresholds: Sequence[float] | float | None = None,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate one score, or compare several on the same rows. The numbers are exact, not private.

    Parameters
    ----------
    data, scores
        Labels and scores as arrays or series. `scores` may be a mapping or a dataframe with one column for each
        model; the name of a series is the name of its model. Or `data` alone: a `ScoreCounts`, or a table, which is
        the path of a file (CSV, TSV, JSON lines, Parquet), a dataframe (pandas, Polars, PyArrow and others) or an
        Ibis table.
    label, score, weight, group
        Columns of a table: labels, one or more scores, weights, groups.
    weights, groups
        With arrays: the weight of each row, and its group.
    positive
        The positive label, unless labels are 0/1, -1/1 or false/true.
    thresholds
        Decision thresholds: `score >= threshold` is positive. The default is 0.5 if all scores are probabilities.
    level
        Confidence level of intervals.

    >>> evaluate([0, 0, 1, 0, 1, 1], [0.1, 0.4, 0.35, 0.2, 0.8, 0.9]).models[0].auc.value
    0.8888888888888888

    >>> from confide.examples import HEART_ATTACK
    >>> round(evaluate(HEART_ATTACK, label="died", score="logistic").models[0].auc.value, 3)
    0.805
    """
    check_level(level)
    cuts = None if thresholds is None else [float(threshold) for threshold in np.atleast_1d(thresholds)]
    columns = {"label": label, "score": score, "weight": weight, "group": group}
    arrays = {"scores": scores, "weights": weights, "groups": groups}
    if isinstance(data, ScoreCounts):
        _refuse(
            {**columns, **arrays, "positive": positive}, "cannot be given beside a ScoreCounts; give the labels instead"
        )
        return evaluate_counts(data, thresholds=cuts, level=level)
    if _is_table(data):
        _refuse(arrays, "is for arrays; name columns of the table with `label`, `score`, `weight` and `group`")
        with labels_of(label or ""):
            return _evaluate_table(data, label, score, weight, group, positive=positive, thresholds=cuts, level=level)
    _refuse(columns, "is for tables; give arrays with `scores`, `weights` and `groups`")
    if scores is None:
        raise ParameterError("scores are needed with labels: give `scores`, or a table with `label` and `score`")
    from confide.sources.frames import named_scores

    named = named_scores(scores)
    rows = Rows.checked(data, list(named), list(named.values()), weights=weights, groups=groups, positive=positive)
    return evaluate_rows(rows, thresholds=cuts, level=level)


def _evaluate_table(
    data: Any,
    label: str | None,
    score: str | Sequence[str] | None,
    weight: str | None,
    group: str | None,
    *,
    positive: object,
    thresholds: Sequence[float] | None,
    level: float,
) -> Evaluation:
    """Evaluate columns of a table. One score without groups is counted inside the engine of a file or Ibis table."""
    scores = [] if score is None else [score] if isinstance(score, str) else list(score)
    if label is None or not scores:
        raise ParameterError("name the columns of labels and scores: give `label` and `score`")
    if len(set(scores)) < len(scores):
        raise ParameterError("a score column is named twice; name each column once")
    if label in scores:
        raise ParameterError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    if not _is_engine_table(data):
        from confide.sources.frames import frame_rows

        rows = frame_rows(data, label=label, scores=scores, weight=weight, group=group, positive=positive)
        return evaluate_rows(rows, thresholds=thresholds, level=level)
    from confide.sources.tables import count_table, table_rows

    if len(scores) > 1 or group is not None:
        rows = table_rows(data, label=label, scores=scores, weight=weight, group=group, positive=positive)
        return evaluate_rows(rows, thresholds=thresholds, level=level)
    counted = count_table(data, label=label, score=scores[0], weight=weight, positive=positive)
    return evaluate_counts(
        counted.counts,
        rows=counted.rows,
        weighted=weight is not None,
        name=scores[0],
        thresholds=thresholds,
        level=level,
    )


def _is_engine_table(data: Any) -> bool:
    return isinstance(data, str | Path) or hasattr(data, "to_pyarrow_batches")


def _is_table(data: Any) -> bool:
    if _is_engine_table(data):
        return True
    from confide.sources.frames import is_frame

    return is_frame(data)


def _refuse(given: Mapping[str, object], why: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"`{name}` {why}")
