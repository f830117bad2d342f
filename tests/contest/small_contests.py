"""Small inputs that can be enumerated: scores with ties, all label vectors, all masks; and scikit-learn's metrics."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from confide.contest.labels import MaskedLabels
from confide.contest.metric import CLIP, KINDS, ContestMetric
from confide.counts import FloatArray

Bits = NDArray[np.bool_]

# Without ties, with ties within and across the threshold, in no order, and all alike.
SCORES = (
    (0.9, 0.1, 0.6, 0.3),
    (0.5, 0.5, 0.5),
    (0.2, 0.8, 0.5, 0.8, 0.2, 0.5, 0.0, 1.0),
    (0.7, 0.4, 0.7, 0.7, 0.1, 0.4, 0.9, 0.45, 0.1),
    (0.999, 0.001, 0.3, 0.3, 0.6),
)

METRICS = tuple(ContestMetric.checked(name) for name in KINDS)


def all_bits(size: int) -> Iterator[Bits]:
    """Yield every vector of bits."""
    for bits in product((False, True), repeat=size):
        yield np.array(bits)


def unmasked(labels: Bits) -> MaskedLabels:
    """Return labels that were flipped with probability zero: z is the label itself."""
    return MaskedLabels(labels, Fraction(0))


def has_value(metric: ContestMetric, labels: Bits, scores: FloatArray) -> bool:
    """Return whether the metric is defined."""
    calls = scores >= 0.5
    if metric.name in {"auc", "balanced_accuracy"}:
        return 0 < int(labels.sum()) < labels.size
    if metric.name in {"average_precision", "recall"}:
        return bool(labels.any())
    if metric.name == "specificity":
        return not labels.all()
    if metric.name == "precision":
        return bool(calls.any())
    return metric.name != "f1" or bool(labels.any() or calls.any())


def scikit_learn_value(metric: ContestMetric, labels: Bits, scores: FloatArray) -> float:
    """Return scikit-learn's value of the metric at the threshold 1/2."""
    from sklearn import metrics

    truth, calls = labels.astype(int), (scores >= 0.5).astype(int)
    cut = np.clip(scores, CLIP, 1.0 - CLIP)
    values = {
        "auc": lambda: metrics.roc_auc_score(truth, scores),
        "average_precision": lambda: metrics.average_precision_score(truth, scores),
        "accuracy": lambda: metrics.accuracy_score(truth, calls),
        "balanced_accuracy": lambda: metrics.balanced_accuracy_score(truth, calls),
        "recall": lambda: metrics.recall_score(truth, calls),
        "specificity": lambda: metrics.recall_score(truth, calls, pos_label=0),
        "precision": lambda: metrics.precision_score(truth, calls),
        "f1": lambda: metrics.f1_score(truth, calls),
        "brier": lambda: metrics.brier_score_loss(truth, scores, pos_label=1),
        "log_loss": lambda: metrics.log_loss(truth, cut, labels=[0, 1]),
        "calibration_in_the_large": lambda: (truth - scores).mean(),
    }
    return float(values[metric.name]())
