"""Three estimators of AUCPR for many resamples of one sample without ties, as compiled loops.

A sample is its labels from the highest score down. A resample says how often each row occurs; folds of a
cross-validation are resamples in which rows occur once or not at all. The results are those of
`confide.metrics.aucpr_score` on the resampled rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.kernels.bootstrap import Owners, resample
from confide.kernels.threads import compiled

ESTIMATORS = ("average_precision", "lower_trapezoid", "interpolated_median")
"""Estimators that the dissertation recommends, in the order of the kernels' results."""

Labels = NDArray[np.bool_]
Times = NDArray[np.int32]


def bootstrap_estimates(labels: Labels, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Return the three estimates of each stratified resample, a row for each."""
    positives, negatives = (np.flatnonzero(of_class).astype(np.uint32) for of_class in (labels, ~labels))
    found = np.empty((replicates, len(ESTIMATORS)))
    _bootstrap(labels, positives, negatives, rng.integers(2**64, size=replicates, dtype=np.uint64), found)
    return found


def fold_estimates(labels: Labels, folds: int, rng: np.random.Generator) -> FloatArray:
    """Return the three estimates of each fold of a stratified cross-validation, a row for each."""
    fold = np.empty(labels.size, dtype=np.int64)
    for of_class in (labels, ~labels):
        fold[of_class] = rng.permutation(np.arange(np.count_nonzero(of_class)) % folds)
    found = np.empty((folds, len(ESTIMATORS)))
    for number in range(folds):
        _estimates(labels, (fold == number).astype(np.int32), np.empty(labels.size + 1), found[number])
    return found


def resample_estimates(labels: Labels, times: NDArray[np.int64]) -> FloatArray:
    """Return the three estimates of one resample.

    >>> resample_estimates(np.array([True, False, True]), np.array([1, 1, 1])).round(4)
    array([0.8333, 0.7917, 0.7237])
    """
    found = np.empty(len(ESTIMATORS))
    _estimates(labels, times.astype(np.int32), np.empty(labels.size + 1), found)
    return found


@compiled
def _bootstrap(
    labels: Labels, positives: Owners, negatives: Owners, states: NDArray[np.uint64], found: FloatArray
) -> None:
    ours, theirs = np.empty(labels.size, np.int32), np.empty(labels.size, np.int32)
    room = np.empty(labels.size + 1)
    for replicate in range(found.shape[0]):
        state = resample(states[replicate], positives, positives.size, ours)
        resample(state, negatives, negatives.size, theirs)
        _estimates(labels, ours + theirs, room, found[replicate])


@compiled
def _estimates(labels: Labels, times: Times, room: FloatArray, found: FloatArray) -> None:
    """Write average precision, lower trapezoid and interpolated median.

    A level holds the precisions at one recall: after its positive, and after each negative down to the next positive.
    `room` keeps the false positives of a level's points.
    """
    n = 0
    for row in range(labels.size):
        if labels[row]:
            n += times[row]
    found[:] = 0.0
    true, false, points, step = 0, 0, 0, 0
    lowest = 1.0
    recall_before, per_positive_before = 0.0, 0.0
    for row in range(labels.size + 1):
        last = row == labels.size
        if not last and times[row] == 0:
            continue
        if last or labels[row]:
            if points > 0:  # close the level
                recall = true / n
                highest = true / (true + room[0])
                one, other = room[(points - 1) // 2], room[points // 2]
                median = (true / (true + one) + true / (true + other)) / 2.0
                per_positive = recall * (1.0 - median) / median
                height = step / n
                found[0] += height * highest
                found[1] += height * (lowest + highest) / 2.0
                found[2] += _curved(recall_before, recall, per_positive_before, per_positive)
                lowest = true / (true + room[points - 1])
                recall_before, per_positive_before = recall, per_positive
            elif false > 0:
                lowest = 0.0
            if not last:
                step = times[row]
                true += step
                room[0] = false
                points = 1
        else:
            false += times[row]
            if points > 0:
                room[points] = false
                points += 1


@compiled
def _curved(start: float, end: float, left: float, right: float) -> float:
    """Return the area of a piece that is straight in ROC space (Theorem 4.2); see `hyperbolic_area`."""
    height, before, after = end - start, start + left, end + right
    if before <= 0.0:
        return height * end / after
    x = (after - before) / before
    if abs(x) < 0.02:
        one, two = 0.0, 0.0
        for k in range(10, 0, -1):
            one = 1.0 / k - x * one
            two = 1.0 / (k + 1) - x * two
    else:
        log = np.log1p(x)
        one, two = log / x, (x - log) / (x * x)
    return height / before * (start * one + height * two)
