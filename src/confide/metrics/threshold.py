"""Confusion matrix at a threshold, and every measure that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.blocks import scan_blocks
from confide.counts import ScoreCounts
from confide.counts_or_arrays import accepts_predictions
from confide.curves.roc import operating_points
from confide.errors import ParameterError


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

    def expected_cost(self, cost_ratio: float, *, prevalence: float | None = None) -> float:
        """Compute the mean cost of a row, where a false positive costs 1 and a false negative `cost_ratio`.

        `C pi (1 - recall) + (1 - pi) false_positive_rate`, with the prevalence of these rows or a stated one.
        """
        _check_costs(cost_ratio, prevalence)
        share = self.prevalence if prevalence is None else prevalence
        return cost_ratio * share * (1.0 - self.recall) + (1.0 - share) * self.false_positive_rate


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
    return _highest_gain(counts)[0]


@accepts_predictions
def youden_index(counts: ScoreCounts) -> float:
    """Compute the highest recall + specificity - 1 of all thresholds: the greatest height of the ROC curve over chance.

    Its threshold is chosen on the same rows, so the value is optimistic.

    >>> youden_index(ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
    0.5
    """
    positives, negatives = counts.both_classes()
    return min(_highest_gain(counts)[1] / (positives * negatives), 1.0)  # float weights may round above


def _highest_gain(counts: ScoreCounts) -> tuple[float, float]:
    """Return the best threshold, and recall + specificity - 1 there times the number of pairs of both classes."""
    positives, negatives = counts.both_classes()
    if positives * negatives > 2**61:  # products of counts would not fit
        positives, negatives = float(positives), float(negatives)

    def best(part: slice, positives_above: float, negatives_above: float) -> tuple[float, float]:
        caught = np.cumsum(counts.positives[part][::-1]) + positives_above
        alarms = np.cumsum(counts.negatives[part][::-1]) + negatives_above
        gain = caught * negatives - alarms * positives
        place = int(np.argmax(gain))  # the first, and so the highest threshold of several
        return gain[place].item(), float(counts.scores[part.stop - 1 - place])

    gain, threshold = max(scan_blocks(best, counts.positives, counts.negatives, descending=True))
    return threshold, float(gain)


@accepts_predictions
def cost_threshold(counts: ScoreCounts, *, cost_ratio: float = 1.0, prevalence: float | None = None) -> float:
    """Find the threshold with the least expected cost on these rows; of several, the highest.

    A false negative costs `cost_ratio` times as much as a false positive: the benefit of treating a positive, in units
    of the harm of treating a negative. A stated `prevalence` replaces that of the rows, as after sampling by class.
    The result is infinite if it costs least to call no row positive. It is chosen on the same rows, so what it achieves
    there is optimistic. The same points are best for `coords(roc, "best", best.weights = c(cost_ratio, prevalence))` of
    R's pROC, which names the middle between two scores.

    >>> counts = ScoreCounts.from_arrays([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> cost_threshold(counts, cost_ratio=5), cost_threshold(counts, cost_ratio=0.5)
    (0.35, 0.8)
    """
    _check_costs(cost_ratio, prevalence)
    positives, negatives = counts.both_classes()
    points = operating_points(counts)
    missed = np.append(positives, positives - points.true_positives).astype(np.float64)
    alarms = np.append(0, points.false_positives).astype(np.float64)
    weights = (cost_ratio, 1.0)
    if prevalence is not None:
        weights = (cost_ratio * prevalence / positives, (1.0 - prevalence) / negatives)
    cost = weights[0] * missed + weights[1] * alarms
    best = int(np.argmax(cost <= cost.min() * (1.0 + 1e-12)))  # equal but for rounding
    return float(np.append(math.inf, points.thresholds)[best])


def calibrated_threshold(
    cost_ratio: float, *, prevalence: float | None = None, calibrated_at: float | None = None
) -> float:
    """Return the threshold with the least expected cost for calibrated probabilities, `1 / (1 + cost_ratio)`.

    No rows are needed. If probabilities are calibrated where the prevalence is `calibrated_at`, but used where it is
    `prevalence`, and scores of a class keep their distribution, the odds of the threshold change by the ratio of the
    odds of both prevalences.

    >>> calibrated_threshold(9)
    0.1
    >>> round(calibrated_threshold(9, prevalence=0.1, calibrated_at=0.5), 2)
    0.5
    """
    _check_costs(cost_ratio, prevalence)
    if (prevalence is None) != (calibrated_at is None):
        raise ParameterError("`prevalence` and `calibrated_at` belong together; give both, or neither")
    odds_against = cost_ratio
    if prevalence is not None and calibrated_at is not None:
        _check_costs(cost_ratio, calibrated_at, name="calibrated_at")
        odds_against *= (1.0 - calibrated_at) / calibrated_at * prevalence / (1.0 - prevalence)
    return 1.0 / (1.0 + odds_against)


def _check_costs(cost_ratio: float, prevalence: float | None, name: str = "prevalence") -> None:
    if not 0.0 < cost_ratio < math.inf:
        raise ParameterError(f"`cost_ratio` must be a positive number, for example 5; got {cost_ratio!r}")
    if prevalence is not None and not 0.0 < prevalence < 1.0:
        raise ParameterError(f"`{name}` must lie strictly between 0 and 1, for example 0.2; got {prevalence!r}")


def _ratio(numerator: Any, denominator: Any) -> float:
    """A quotient, NaN where nothing is divided by; of numbers, or of arrays of them."""
    quotient: Any
    if isinstance(denominator, np.ndarray):
        quotient = np.divide(numerator, denominator, out=np.full(denominator.shape, np.nan), where=denominator != 0)
    else:
        quotient = numerator / denominator if denominator else math.nan
    result: float = quotient
    return result
