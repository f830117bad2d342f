"""Rows given as NumPy arrays, or anything that becomes one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.blocks import map_blocks
from confide.counts import CountArray, FloatArray, ScoreCounts, check_weight_sum, merge_counts
from confide.device import on_device
from confide.errors import ParameterError, ScoreError, WeightError
from confide.kernels import compiler_installed
from confide.sources.labels import binary_labels, is_sequence, one_dimensional
from confide.sources.private_labels import is_nested, label_rows

COMPILED_FROM_ROWS = 3_000_000
"""Rows that NumPy counts in the time that loading the compiled kernels takes, in one call or in several."""

LOADED_FROM_ROWS = 5_000
"""From this many rows a compiled kernel is faster once it is loaded."""

RANKED_FROM_ROWS = 50_000
"""From this many rows, rank sums without counts come from the compiled kernel."""

_LEAST_WEIGHT = 1e-50  # products of four weights, or of their sums, are finite and above 0

_counted_by_numpy = 0


def use_kernel(rows: int, kernel: str) -> bool:
    """Return whether a compiled kernel should count this many rows; counts are the same either way.

    Loading one for the first time takes as long as counting some million rows without it. So it is loaded when that
    many rows were to be counted, be it in many calls: a short command does not wait for it, and a long one soon has it.
    """
    global _counted_by_numpy
    if not compiler_installed():
        return False
    if f"confide.kernels.{kernel}" in sys.modules:
        return rows >= min(COMPILED_FROM_ROWS, LOADED_FROM_ROWS)
    _counted_by_numpy += rows
    return rows > 0 and _counted_by_numpy >= COMPILED_FROM_ROWS


def count_arrays(
    labels: ArrayLike,
    scores: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    positive: object = None,
    one_class: bool = False,
) -> ScoreCounts:
    """Count rows: `labels` of two values (or one, if that is allowed), finite `scores`, positive `weights` if any.

    Unweighted scores on a device are counted there, unless rows are private.
    """
    if on_device(scores) and weights is None and not one_class:
        from confide.sources.device_rows import device_counts

        return device_counts(labels, scores, positive=positive)
    label, score, weight = checked_rows(labels, scores, weights, positive=positive, one_class=one_class)
    return count_checked(label, score, weight)


def checked_rows(
    labels: ArrayLike,
    scores: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    positive: object = None,
    one_class: bool = False,
) -> tuple[NDArray[np.bool_], FloatArray, CountArray | None]:
    """Validate rows and bring them to boolean labels, float64 scores and numeric weights.

    With `one_class` rows are private: each label is read by itself (see `private_labels`), and a bad score is refused
    with one message, whatever it is.
    """
    if one_class:
        refuse_private_weights(weights)
    score = private_scores(scores) if one_class else checked_scores(scores)
    label = label_rows(labels, positive) if one_class else binary_labels(labels, positive)
    weight = None if weights is None else checked_weights(weights)
    for name, array in (("labels", label), ("weights", weight)):
        if array is not None and array.size != score.size:
            raise ParameterError(f"{name} and scores differ in length; give one of each for every row")
    return label, score, weight


def count_checked(labels: NDArray[np.bool_], scores: FloatArray, weights: CountArray | None = None) -> ScoreCounts:
    """Count rows that were validated already."""
    if weights is None and use_kernel(scores.size, "rows"):
        from confide.kernels.rows import count_rows

        return _frozen(*count_rows(labels.view(np.uint8), scores))
    of_positives = _runs(scores[labels], None if weights is None else weights[labels])
    of_negatives = _runs(scores[~labels], None if weights is None else weights[~labels])
    nothing = [np.zeros_like(of_positives[1]), np.zeros_like(of_negatives[1])]
    return _frozen(
        *merge_counts([of_positives[0], of_negatives[0]], [of_positives[1], nothing[1]], [nothing[0], of_negatives[1]])
    )


def code_checked(labels: NDArray[np.bool_], scores: FloatArray) -> tuple[ScoreCounts, NDArray[Any], NDArray[Any]]:
    """Count rows that were validated already; return also what `CodedScores` holds of each row."""
    if use_kernel(scores.size, "codes"):
        from confide.kernels.codes import MOST_ROWS, code_rows

        if scores.size < MOST_ROWS:
            found, ours, theirs, numbers = code_rows(labels.view(np.uint8), scores)
            return _frozen(found, ours, theirs), numbers[:, 0], numbers[:, 1]
    distinct, codes = np.unique(scores + 0.0, return_inverse=True)
    rows, positives = np.bincount(codes, minlength=distinct.size), np.bincount(codes[labels], minlength=distinct.size)
    negatives = rows - positives
    below = 2 * np.cumsum(negatives) - negatives
    above = 2 * (positives.sum() - np.cumsum(positives)) + positives
    return _frozen(distinct, positives, negatives), codes, np.where(labels, below[codes], above[codes])


def checked_scores(scores: ArrayLike) -> FloatArray:
    """Return scores as finite float64."""
    raw = one_dimensional(scores, "scores", ScoreError)
    array = _as_float(raw, "scores", ScoreError)
    if not _all_finite(array):
        raise ScoreError("scores must be finite; remove or replace missing, NaN and infinite scores first")
    return array


def private_scores(scores: ArrayLike, column: str | None = None) -> FloatArray:
    """Return scores of private rows as finite float64; a refusal does not tell a missing score from another bad one."""
    try:
        return checked_scores(scores)
    except ScoreError:
        raise unfit_scores(column) from None
    except ParameterError:
        if is_sequence(scores) and not all(map(is_nested, scores)):
            raise unfit_scores(column) from None  # a list among the numbers is one row's bad score
        raise


def unfit_scores(column: str | None = None) -> ScoreError:
    """Return the refusal of private rows with a score that is not a finite number."""
    where = "the scores do not hold" if column is None else f"column {column!r} does not hold"
    return ScoreError(
        f"{where} a finite number in every row; check that it is the right column and that decimals have a point, and "
        "remove or replace scores that are missing, NaN or infinite"
    )


def refuse_private_weights(weights: object) -> None:
    """Refuse weights of private rows: whether all are whole, and all above 0, would depend on single rows."""
    if weights is not None:
        raise ParameterError("private rows (`one_class`) count once each; leave the weights out, or repeat rows")


def checked_weights(weights: ArrayLike) -> CountArray:
    """Return weights as positive finite numbers, integers kept as integers."""
    raw = one_dimensional(weights, "weights", WeightError)
    check_weight_sum(_whole_sum(raw))
    array: CountArray = raw.astype(np.int64) if raw.dtype.kind in "iu" else _as_float(raw, "weights", WeightError)
    if not np.isfinite(array).all():
        raise WeightError("weights must be finite; remove or replace missing, NaN and infinite weights first")
    if (array < 0).any():
        raise WeightError("weights must not be negative, as a weight counts rows; correct or remove those rows")
    if (array == 0).any():
        raise WeightError("some weights are zero; remove those rows")
    if array.dtype.kind == "f":
        check_weight_range(array.min(initial=1.0), array.max(initial=1.0))
    return array


def check_weight_range(least: float, greatest: float) -> None:
    """Refuse weights that are no whole numbers and so small or large that products of them are not finite numbers."""
    if not (least >= _LEAST_WEIGHT and greatest <= 1.0 / _LEAST_WEIGHT):
        raise WeightError(
            "weights must lie between 1e-50 and 1e50, as products of them are needed; multiply all by one number"
        )


def _whole_sum(raw: NDArray[Any]) -> float:
    """Return the sum of whole weights, about; of others, 0. Python's own integers may be of any size."""
    if raw.dtype.kind in "iu":
        return float(raw.sum(dtype=np.float64))
    whole = raw.dtype.kind == "O" and all(isinstance(value, int) for value in raw)
    return float(min(sum(raw.tolist()), 1 << 62)) if whole else 0.0


def _as_float(raw: NDArray[Any], name: str, error: type[ScoreError] | type[WeightError]) -> FloatArray:
    if raw.dtype.kind == "O" and any(value is None for value in raw):
        raise error(f"some {name} are missing; remove those rows or fill them in, then try again")
    # NumPy would read numbers out of texts and days out of dates, and drop imaginary parts: none is meant as a score.
    other = (str, bytes, np.complexfloating)
    readable = raw.dtype.kind in "biuf" or (raw.dtype.kind == "O" and not any(isinstance(v, other) for v in raw))
    try:
        if readable:
            with np.errstate(over="ignore"):  # of wider floats, which are then infinite
                return np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        pass  # the error would quote the value that cannot be read
    except OverflowError:
        raise error(f"{name} must be finite; remove or replace those that are too large for a float") from None
    raise error(f"{name} must be numbers; check that this is the right column")


def _all_finite(array: FloatArray) -> bool:
    return all(map_blocks(lambda part: bool(np.isfinite(array[part]).all()), array.size))


def _runs(scores: FloatArray, weights: CountArray | None) -> tuple[FloatArray, CountArray]:
    """Distinct sorted scores of one class with the weight at each."""
    if not scores.size:
        return scores, np.empty(0, dtype=np.int64 if weights is None else weights.dtype)
    if weights is None:
        ordered = np.sort(scores) + 0.0  # minus zero and zero are one score
        starts = _starts(ordered)
        return ordered[starts], np.diff(starts, append=ordered.size)
    order = np.lexsort((weights, scores))  # a fixed order of addition, whatever the order of rows
    ordered = scores[order] + 0.0
    starts = _starts(ordered)
    return ordered[starts], np.add.reduceat(weights[order], starts)


def _starts(ordered: FloatArray) -> NDArray[np.int64]:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _frozen(scores: FloatArray, positives: CountArray, negatives: CountArray) -> ScoreCounts:
    for array in (scores, positives, negatives):
        if isinstance(array.base, np.ndarray):
            array.base.flags.writeable = False
        array.flags.writeable = False
    return ScoreCounts(scores, positives, negatives)
