"""Rows given as arrays on a device, and sums that work from ranks alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.device import detached, device_of, least_and_largest, namespace_of, on_device, without_subnormals
from confide.errors import LabelError, ParameterError, ScoreError
from confide.kernels.array_rows import (
    MOST_ROWS,
    SortedRows,
    count_sorted,
    distinct_scores,
    sort_rows,
    sum_rows,
    thin_sorted,
)
from confide.kernels.sums import RankSums
from confide.sources.labels import binary_labels, positive_value

CURVE_ERROR = 2e-5
"""No rate of a thinned curve is off by more than this."""

MOST_SCORES = 100_000
"""Distinct scores up to which curves are not thinned."""


def device_rows(labels: Any, scores: Any, *, positive: object = None) -> SortedRows:
    """Validate rows whose scores lie on a device, and sort them there.

    Labels may lie there too, or be anything that the host reads: they are then copied to the device.
    """
    label, score, _ = _checked_rows(labels, scores, positive)
    return sort_rows(label, score)


def device_sums(labels: Any, scores: Any, *, positive: object = None) -> RankSums:
    """Return the rank sums of rows whose scores lie on a device. Nothing else leaves it."""
    return sum_rows(*_checked_rows(labels, scores, positive))


def device_counts(labels: Any, scores: Any, *, positive: object = None) -> ScoreCounts:
    """Count rows whose scores lie on a device."""
    return counts_of(device_rows(labels, scores, positive=positive))


def counts_of(rows: SortedRows) -> ScoreCounts:
    """Count sorted rows, each distinct score apart."""
    parts = list(count_sorted(rows))
    scores, positives, size = (np.concatenate(each) for each in zip(*parts, strict=True))
    positives = positives.astype(np.int64)
    return ScoreCounts(scores.astype(np.float64) + 0.0, positives, size.astype(np.int64) - positives)


def thinned_counts(rows: SortedRows, thresholds: Sequence[float] = ()) -> tuple[ScoreCounts, float]:
    """Return counts for curves, and the most by which a rate of a curve is off.

    Few distinct scores are counted apart, and the error is 0. Many are put together in cells; no cell contains one of
    the thresholds, so what is counted there stays exact.
    """
    if rows.size <= MOST_SCORES or distinct_scores(rows) <= MOST_SCORES:
        return counts_of(rows), 0.0
    return ScoreCounts(*thin_sorted(rows, CURVE_ERROR, thresholds)), CURVE_ERROR


def _checked_rows(labels: Any, scores: Any, positive: object) -> tuple[Any, Any, tuple[float, float]]:
    """Return boolean labels, finite scores, and the least and the largest score."""
    score, ends = _checked_scores(detached(scores))
    label = _checked_labels(labels, score, positive)
    if label.shape[0] != score.shape[0]:
        raise ParameterError("labels and scores differ in length; give one of each for every row")
    return label, score, ends


def _checked_scores(scores: Any) -> tuple[Any, tuple[float, float]]:
    """Return finite scores as an array of floats, and the least and the largest of them."""
    xp = namespace_of(scores)
    _one_dimensional(scores, "scores")
    if xp.isdtype(scores.dtype, ("bool", "integral")):
        scores = xp.astype(scores, xp.float64)
    elif not xp.isdtype(scores.dtype, "real floating"):
        raise ScoreError("scores must be numbers; check that this is the right column")
    if scores.shape[0] > MOST_ROWS:
        raise ParameterError("a device evaluates at most 2^31 - 1 rows at once; count parts and add the counts")
    scores = without_subnormals(scores)
    ends = least_and_largest(xp, scores) if scores.shape[0] else (0.0, 0.0)
    if not np.isfinite(ends).all():
        raise ScoreError("scores must be finite; remove or replace missing, NaN and infinite scores first")
    return scores, ends


def _checked_labels(labels: Any, scores: Any, positive: object) -> Any:
    """Return labels as booleans on the device of the scores."""
    xp, device = namespace_of(scores), device_of(scores)
    if not (on_device(labels) and namespace_of(labels) is xp and device_of(labels) == device):
        return xp.asarray(np.array(binary_labels(labels, positive)), device=device)
    labels = detached(labels)
    _one_dimensional(labels, "labels")
    if labels.shape[0] == 0:
        raise LabelError("there are no rows; give at least one row of each class")
    chosen = positive_value(_distinct(xp, labels), positive)
    return labels if chosen is True else labels == chosen


def _distinct(xp: Any, labels: Any) -> list[Any]:
    """Return up to three distinct labels."""
    if xp.isdtype(labels.dtype, "bool"):
        every, some = bool(xp.all(labels)), bool(xp.any(labels))
        return [value for value, seen in ((False, not every), (True, some)) if seen]
    if not xp.isdtype(labels.dtype, ("integral", "real floating")):
        raise LabelError("labels must be numbers or booleans; check that these are the labels")
    whole = xp.isdtype(labels.dtype, "integral")
    low, high = (int(end) if whole else float(end) for end in (xp.min(labels), xp.max(labels)))
    if low == high or low != low:
        return [low]
    values = [low, high]
    if whole and high - low == 1:
        return values
    return [*values, (low + high) / 2] if bool(xp.any((labels != low) & (labels != high))) else values


def _one_dimensional(array: Any, name: str) -> None:
    if array.ndim != 1:
        hint = "; of predict_proba's columns give the positive one, [:, 1]" if name == "scores" else ""
        raise ParameterError(
            f"{name} must be one-dimensional, got {array.ndim} dimensions; give one value for each row{hint}"
        )
