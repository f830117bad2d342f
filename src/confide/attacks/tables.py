"""Metrics of many hypothetical labelings at once: tables of counts, one row for each labeling.

`positives` and `negatives` have shape (labelings, scores) for ascending distinct scores. A labeling with one class
only has NaN where the metric does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray

TableMetric: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""From scores, positives and negatives to a number for each labeling."""


def auc_of_tables(scores: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the AUC of each labeling."""
    below = np.cumsum(negatives, axis=-1) - negatives / 2.0
    pairs = positives.sum(axis=-1) * negatives.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((positives * below).sum(axis=-1) / pairs)


def average_precision_of_tables(scores: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the average precision of each labeling; rows with one score are taken in together."""
    found = np.cumsum(positives[..., ::-1], axis=-1)[..., ::-1]
    called = found + np.cumsum(negatives[..., ::-1], axis=-1)[..., ::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(called > 0.0, found / called, 0.0)
        return np.asarray((positives * precision).sum(axis=-1) / found[..., 0])


def accuracy_of_tables(scores: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the share of rows on the right side of one half."""
    called = scores >= 0.5
    right = np.where(called, positives, negatives).sum(axis=-1)
    return np.asarray(right / (positives + negatives).sum(axis=-1))


def log_loss_of_tables(scores: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the mean negative log-likelihood of each labeling; scores strictly between 0 and 1."""
    total = -(positives * np.log(scores) + negatives * np.log1p(-scores)).sum(axis=-1)
    return np.asarray(total / (positives + negatives).sum(axis=-1))


def brier_of_tables(scores: FloatArray, positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the mean squared error of each labeling."""
    total = (positives * (1.0 - scores) ** 2 + negatives * scores**2).sum(axis=-1)
    return np.asarray(total / (positives + negatives).sum(axis=-1))


TABLE_METRICS: Mapping[str, TableMetric] = MappingProxyType(
    {
        "auc": auc_of_tables,
        "average_precision": average_precision_of_tables,
        "accuracy": accuracy_of_tables,
        "log_loss": log_loss_of_tables,
        "brier": brier_of_tables,
    }
)
