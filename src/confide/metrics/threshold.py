"""Confusion matrix at a threshold, and every measure that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.curves.operating import operating_points
from confide.errors import ParameterError
from confide.predictions import accepts_predictions


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionMatrix:
    """Confusion matrix: its four cells, and the measures of Table 2.3.

    A measure whose denominator is zero is NaN. The four may be arrays: then every measure is one.
    """

    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float

    @property
    def positives(self) -> float:
        """Number of positive rows."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> float:
        """Number of negative rows."""
        return self.false_positives + self.true_negatives

    @property
    def total(self) -> float:
        """Number of rows."""
        return self.positives + self.negatives

    @property
    def prevalence(self) -> float:
        """Share of the positives."""
        return _ratio(self.positives, self.total)

    @property
    def accuracy(self) -> float:
        """Share of rows labelled correctly."""
        return _ratio(self.true_positives + self.true_negatives, self.total)

    @property
    def recall(self) -> float:
        """Share of positives called positive; sensitivity, true-positive rate."""
        return _ratio(self.true_positives, self.positives)

    @property
    def false_positive_rate(self) -> float:
        """Share of negatives called positive."""
        return _ratio(self.false_positives, self.negatives)

    @property
    def specificity(self) -> float:
        """Share of negatives called negative."""
        return _ratio(self.true_negatives, self.negatives)

    @property
    def precision(self) -> float:
        """Share of those called positive that are; positive predictive value."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def negative_predictive_value(self) -> float:
        """Share of those called negative that are."""
        return _ratio(self.true_negatives, self.true_negatives + self.false_negatives)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of recall and specificity."""
        return (self.recall + self.specificity) / 2.0

    @property
    def youden(self) -> float:
        """Recall + specificity - 1."""
        return self.recall + self.specificity - 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self.f_beta(1.0)

    def f_beta(self, beta: float) -> float:
        """Compute the weighted harmonic mean of precision and recall; recall weighs `beta` times as much."""
        if not beta > 0.0:
            raise ParameterError(f"beta must be positive, got {beta!r}")
        square = beta * beta
        hits = (1.0 + square) * self.true_positives
        return _ratio(hits, hits + square * self.false_negatives + self.false_positives)

    def skew_aware_f(self, beta: float = 1.0) -> float:
        """F of recall and of precision's gain over chance, `(p - pi)/(1 - pi)`; 0 at or below chance.

        For beta = 1 it is `2(p - pi) r / (p - pi + (1 - pi) r)` (dissertation, section 3.4).
        """
        if not beta > 0.0:
            raise ParameterError(f"beta must be positive, got {beta!r}")
        precision, recall, pi = self.precision, self.recall, self.prevalence
        if math.isnan(precision) or math.isnan(recall):
            return math.nan
        if precision <= pi:
            return 0.0
        gain, square = (precision - pi) / (1.0 - pi), beta * beta
        return (1.0 + square) * gain * recall / (square * gain + recall)

    @property
    def matthews_correlation(self) -> float:
        """Correlation between prediction and label."""
        called = self.true_positives + self.false_positives
        passed = self.true_negatives + self.false_negatives
        spread = called**0.5 * passed**0.5 * self.positives**0.5 * self.negatives**0.5
        return _ratio(self.true_positives * self.true_negatives - self.false_positives * self.false_negatives, spread)

    @property
    def positive_likelihood_ratio(self) -> float:
        """Factor by which a positive call raises the odds of being positive."""
        return _ratio(self.recall, self.false_positive_rate)

    @property
    def negative_likelihood_ratio(self) -> float:
        """Factor by which a negative call changes the odds of being positive."""
        return _ratio(1.0 - self.recall, self.specificity)

    def net_benefit(self, threshold: float) -> float:
        """True positives less false positives at the odds of the threshold, per row (Vickers & Elkin 2006)."""
        if not 0.0 <= threshold < 1.0:
            raise ParameterError(f"a threshold probability must lie in [0, 1), got {threshold!r}")
        odds = threshold / (1.0 - threshold)
        return _ratio(self.true_positives - odds * self.false_positives, self.total)


MEASURES = (
    "accuracy",
    "recall",
    "false_positive_rate",
    "specificity",
    "precision",
    "negative_predictive_value",
    "f1",
    "balanced_accuracy",
    "matthews_correlation",
    "youden",
    "positive_likelihood_ratio",
    "negative_likelihood_ratio",
)
"""The measures that need nothing but the confusion matrix."""


@accepts_predictions
def confusion_matrix(counts: ScoreCounts, threshold: float) -> ConfusionMatrix:
    """Call `score >= threshold` positive and count.

    >>> matrix = confusion_matrix(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 0.4)
    >>> matrix.true_positives, matrix.false_positives, matrix.recall
    (1, 1, 0.5)
    """
    if math.isnan(threshold):
        raise ParameterError("threshold must be a number, got NaN")
    first = int(np.searchsorted(counts.scores, threshold, side="left"))
    return ConfusionMatrix(
        true_positives=counts.positives[first:].sum().item(),
        false_positives=counts.negatives[first:].sum().item(),
        false_negatives=counts.positives[:first].sum().item(),
        true_negatives=counts.negatives[:first].sum().item(),
    )


@accepts_predictions
def youden_threshold(counts: ScoreCounts) -> float:
    """Find the threshold with the highest recall + specificity; of several, the highest threshold.

    It is chosen on the same rows, so what it achieves there is optimistic.
    """
    positives, negatives = counts.both_classes()
    points = operating_points(counts)
    if positives * negatives > 2**61:  # products of counts would not fit
        positives, negatives = float(positives), float(negatives)
    gain = points.true_positives * negatives - points.false_positives * positives
    return float(points.thresholds[int(np.argmax(gain))])


def _ratio(numerator: Any, denominator: Any) -> float:
    """A quotient, NaN where nothing is divided by; of numbers, or of arrays of them."""
    quotient: Any
    if isinstance(denominator, np.ndarray):
        quotient = np.divide(numerator, denominator, out=np.full(denominator.shape, np.nan), where=denominator != 0)
    else:
        quotient = numerator / denominator if denominator else math.nan
    result: float = quotient
    return result
