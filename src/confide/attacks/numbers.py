"""Exact numbers that people publish, and their values for many hypothetical labelings at once.

`positives` and `negatives` have shape (labelings, scores) for ascending distinct scores. A labeling with one class
only has NaN where the metric does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.attacks.disclosure import NUMBERS, Window
from confide.counts import FloatArray, ScoreCounts
from confide.errors import DataError, OneClassError, ParameterError, did_you_mean
from confide.metrics.calibration import brier_score, log_loss
from confide.metrics.ranking import twice_wins
from confide.privacy.guarantee import Guarantee
from confide.releases.registry import prepare
from confide.releases.release import Release
from confide.sources.arrays import count_checked

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


def exact_number(counts: ScoreCounts, metric: str) -> Fraction | float:
    """Return the number itself: AUC and accuracy, which are ratios of counts, as fractions, other metrics as floats.

    >>> exact_number(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), "auc")
    Fraction(3, 4)
    """
    return _NUMBERS[metric](checked_rows(counts))


def exact_number_of(labels: NDArray[np.bool_], scores: FloatArray, metric: str) -> Fraction | float:
    """Return the same of checked rows; accuracy takes no counting of scores."""
    if metric == "accuracy":
        return Fraction(int(((scores >= 0.5) == labels).sum()), labels.size)
    return exact_number(count_checked(labels, scores), metric)


def _auc(counts: ScoreCounts) -> Fraction:
    positives, negatives = counts.both_classes()
    return Fraction(int(twice_wins(counts)), 2 * int(positives) * int(negatives))


def _accuracy(counts: ScoreCounts) -> Fraction:
    right = np.where(counts.scores >= 0.5, counts.positives, counts.negatives).sum()
    return Fraction(int(right), int(counts.total_positives + counts.total_negatives))


def _average_precision(counts: ScoreCounts) -> float:
    """Needs positives only."""
    if not counts.total_positives:
        raise OneClassError("there are no positives, so there is no average precision; add rows of that class")
    tables = (counts.positives.astype(np.float64), counts.negatives.astype(np.float64))
    return float(average_precision_of_tables(counts.scores, *tables))


_NUMBERS: Mapping[str, Callable[[ScoreCounts], Fraction | float]] = MappingProxyType(
    {
        "auc": _auc,
        "average_precision": _average_precision,
        "accuracy": _accuracy,
        "log_loss": log_loss,
        "brier": brier_score,
    }
)


def has_number(counts: ScoreCounts, metric: str) -> bool:
    """Tell whether the rows have the classes that the metric needs."""
    if metric == "auc":
        return bool(counts.total_positives and counts.total_negatives)
    return metric != "average_precision" or bool(counts.total_positives)


def check_metric(counts: ScoreCounts, metric: str) -> None:
    """Refuse rows or a metric that cannot be attacked row by row."""
    if metric not in NUMBERS:
        raise ParameterError(
            f"this attack does not take {metric!r}. {did_you_mean(metric, NUMBERS)}Choose from {', '.join(NUMBERS)}"
        )
    checked_rows(counts)
    if not len(counts):
        raise DataError("there are no rows; give at least one")
    if metric == "brier" and not counts.probabilities:
        raise DataError("a Brier score needs scores in [0, 1]; give probabilities, or attack the AUC")
    if metric == "log_loss" and not (counts.scores[0] > 0.0 and counts.scores[-1] < 1.0):
        raise DataError("log loss needs scores strictly between 0 and 1; give such probabilities, or attack the AUC")


def checked_rows(counts: ScoreCounts) -> ScoreCounts:
    """Refuse weights: a row is missing or not."""
    if counts.weighted:
        raise DataError("attacks count rows, and these have weights that are not whole; give one row each")
    return counts


def gap_to(value: Fraction | float, window: Window) -> Fraction | float:
    """Return how far a number is from a window; floats of one number that was computed in two ways count as equal."""
    if isinstance(value, float):
        if bool(window.holds(np.array([value]))[0]):
            return 0
        value = Fraction(value)
    return max(window.lower - value, value - window.upper, Fraction(0))


def released(
    counts: ScoreCounts, metric: str, *, times: int = 1, **terms: Any
) -> tuple[tuple[Release, ...], Guarantee]:
    """Release a metric several times with fresh noise. Return the values and the guarantee of one release.

    No ledger is charged, since nothing is published. `terms` are those of a release.
    """
    prepared = prepare(metric, counts, **terms)[0]
    return tuple(prepared.chosen(prepared.draw())[0] for _ in range(times)), prepared.guarantee
