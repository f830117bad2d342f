"""Local and smooth sensitivities by the papers' formulas, and the exact ones beside them."""

from __future__ import annotations

import numpy as np

from confide.counts import FloatArray
from confide.privacy.mechanisms.average_precision_sensitivity import local_sensitivity
from confide.privacy.neighbours import Neighbours


def printed_sensitivities(metric: str, rows: int) -> FloatArray:
    """Return the local sensitivity that the papers print for each number of positives from 0 to all rows.

    AUC: theorem 3 (5.1). Average precision: theorem 5 (5.3), which is above 1 for few positives.

    >>> printed_sensitivities("auc", 4).tolist()
    [1.0, 1.0, 0.5, 1.0, 1.0]
    >>> printed_sensitivities("average_precision", 2).round(2).tolist()
    [1.0, 1.0, 3.46]
    """
    positives = np.arange(rows + 1.0)
    if metric == "auc":
        smaller: FloatArray = np.maximum(np.minimum(positives, rows - positives), 1.0)
        return 1.0 / smaller
    n = np.maximum(positives, 2.0)
    negative = np.log(n + 1.0) / n
    removed = np.maximum(negative, (9.0 + np.log(n - 1.0)) / (4.0 * (n - 1.0)))
    added = np.maximum(negative, (9.0 + np.log(n)) / (4.0 * n))
    return np.where(positives > 1.0, removed + added, 1.0)


def exact_sensitivities(metric: str, rows: int) -> FloatArray:
    """Return the most that a row can change, for each number of positives from 0 to all rows."""
    if metric == "auc":
        return printed_sensitivities(metric, rows)
    return local_sensitivity(rows, Neighbours.REPLACE_ONE).floats(np.arange(rows + 1.0))


def smooth_sensitivity(local: FloatArray, positives: int, beta: float) -> float:
    """Return `max over i of local(i) exp(-beta |i - n|)`: theorems 4 and 6 (5.2 and 5.4).

    >>> smooth_sensitivity(printed_sensitivities("auc", 1000), 500, 0.0)
    1.0
    """
    if np.isinf(beta):
        return float(local[positives])
    return float((local * np.exp(-beta * np.abs(np.arange(local.size) - positives))).max())


def smooth_sensitivities(local: FloatArray, beta: float) -> FloatArray:
    """Return the smooth sensitivity for every number of positives."""
    if np.isinf(beta):
        return local
    # In logs it is a running maximum of local + beta i upward, and of local - beta i downward.
    logs, steps = np.log(local), beta * np.arange(local.size)
    upward = np.maximum.accumulate(logs + steps) - steps
    downward = np.maximum.accumulate((logs - steps)[::-1])[::-1] + steps
    smooth: FloatArray = np.exp(np.maximum(upward, downward))
    return smooth
