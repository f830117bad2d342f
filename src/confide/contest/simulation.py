"""Model of a contest for planning: teams whose entries are correlated and get better, with known true values.

Scores are normal with equal variance in both classes. All teams see one signal; each adds its own error, which shrinks
from entry to entry, and each entry adds a little of its own. The true value of every entry follows from its separation
(the distance of the two classes' means in standard deviations).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.contest.estimators import metric_values
from confide.contest.labels import MaskedLabels
from confide.contest.metric import CLIP, ContestMetric
from confide.counts import FloatArray

OWN_ERROR = 0.15
LEAST_ERROR, MOST_ERROR = 0.25, 1.5
TYPICAL_ERROR = (LEAST_ERROR + MOST_ERROR) / 2.0
_NODES = np.linspace(-9.0, 15.0, 6_001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Contest to simulate. `signal` is the separation of an entry without error."""

    rows: int
    prevalence: float
    answers: int
    teams: int
    metric: ContestMetric
    signal: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardQuality:
    """Worth of a simulated board.

    `error` is the mean absolute difference between shown and true values, `kendall_tau` the rank correlation of the
    teams' order with that of their truly best entries, and `leader_gap` the shown less the true goodness of the leader.
    """

    error: float
    kendall_tau: float
    leader_gap: float


def signal_of(auc: float) -> float:
    """Return the signal with which the last entry of a team with a typical error has this AUC."""
    from scipy.special import ndtri

    return float(math.sqrt(2.0) * ndtri(auc) * _spread(TYPICAL_ERROR))


def draw_labels(scenario: Scenario, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return labels with the planned number of positives, and at least one of each class."""
    positives = min(max(round(scenario.rows * scenario.prevalence), 1), scenario.rows - 1)
    return rng.permutation(np.arange(scenario.rows) < positives)


def draw_signal(scenario: Scenario, labels: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return the signal that all teams see."""
    noise = rng.standard_normal(scenario.rows, dtype=np.float32)
    noise[labels] += np.float32(scenario.signal)
    return noise


def entry_scores(
    scenario: Scenario, seen: NDArray[np.float32], own: NDArray[np.float32], error: float, rng: np.random.Generator
) -> FloatArray:
    """Return the scores of an entry: numbers for metrics of ranking, calibrated probabilities for others."""
    fresh = rng.standard_normal(scenario.rows, dtype=np.float32)
    scores: FloatArray = (seen + np.float32(error) * own + np.float32(OWN_ERROR) * fresh).astype(np.float64)
    if not (scenario.metric.kind.probabilities or scenario.metric.kind.threshold):
        return scores
    return _posterior(scores / _spread(error), separation(scenario, error), scenario.prevalence)


def separation(scenario: Scenario, error: float) -> float:
    """Return the separation of an entry whose team's error is given."""
    return scenario.signal / _spread(error)


def true_value(metric: ContestMetric, separation: float, prevalence: float) -> float:
    """Return the metric of calibrated normal scores in the population."""
    from scipy.special import ndtr

    if metric.name == "auc":
        return float(ndtr(separation / math.sqrt(2.0)))
    step = _NODES[1] - _NODES[0]
    positives = prevalence * _density(_NODES - separation) * step
    negatives = (1.0 - prevalence) * _density(_NODES) * step
    risk = _posterior(_NODES, separation, prevalence)
    if metric.name == "average_precision":
        above = np.cumsum(positives[::-1])[::-1]
        precision = above / np.maximum(above + np.cumsum(negatives[::-1])[::-1], 1e-300)
        return float((positives * precision).sum() / prevalence)
    if metric.name == "brier":
        return float((positives * (1.0 - risk) ** 2 + negatives * risk**2).sum())
    if metric.name == "log_loss":
        cut = np.clip(risk, CLIP, 1.0 - CLIP)
        return float(-(positives * np.log(cut) + negatives * np.log1p(-cut)).sum())
    return _true_call_value(metric, separation, prevalence)


def simulate_board(scenario: Scenario, flips: Sequence[float], rng: np.random.Generator) -> tuple[BoardQuality, ...]:
    """Simulate one contest; return the worth of its board for each probability of flipped labels."""
    labels = draw_labels(scenario, rng)
    several = [_masked(labels, flip, rng) for flip in flips]
    seen = draw_signal(scenario, labels, rng)
    teams, answers = scenario.teams, scenario.answers
    own = rng.standard_normal((teams, scenario.rows), dtype=np.float32)
    least_error = rng.uniform(LEAST_ERROR, MOST_ERROR, teams)
    team = rng.permutation(np.arange(answers) % teams)
    each, submitted = math.ceil(answers / teams), np.zeros(teams, dtype=int)
    truth, shown = np.empty(answers), np.empty((answers, len(flips)))
    for k, t in enumerate(team):
        error = least_error[t] * (2.0 - submitted[t] / each)
        submitted[t] += 1
        scores = entry_scores(scenario, seen, own[t], error, rng)
        truth[k] = true_value(scenario.metric, separation(scenario, error), scenario.prevalence)
        shown[k] = metric_values(scenario.metric, scores, several)
    sign = scenario.metric.goodness(1.0)
    return tuple(_quality(sign * shown[:, j], sign * truth, team, teams) for j in range(len(flips)))


def _quality(shown: FloatArray, truth: FloatArray, team: NDArray[np.int64], teams: int) -> BoardQuality:
    best = np.array([_best_of(shown, team == t) for t in range(teams)])
    possible = np.array([truth[team == t].max() for t in range(teams)])
    leader = int(np.argmax(shown[best]))
    return BoardQuality(
        error=float(np.abs(shown[best] - truth[best]).mean()),
        kendall_tau=kendall_tau(shown[best], possible),
        leader_gap=float(shown[best[leader]] - truth[best[leader]]),
    )


def _best_of(shown: FloatArray, own: NDArray[np.bool_]) -> int:
    entries = np.flatnonzero(own)
    return int(entries[np.argmax(shown[entries])])


def kendall_tau(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's rank correlation, corrected for ties (tau-b).

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    one, two = (np.sign(values[:, None] - values[None, :]) for values in (first, second))
    pairs = math.sqrt(float((one * one).sum()) * float((two * two).sum()))
    return float((one * two).sum()) / pairs if pairs else 0.0


def _masked(labels: NDArray[np.bool_], flip: float, rng: np.random.Generator) -> MaskedLabels:
    return MaskedLabels(labels ^ (rng.random(labels.size) < flip), Fraction(flip))


def _true_call_value(metric: ContestMetric, separation: float, prevalence: float) -> float:
    from scipy.special import logit, ndtr

    threshold = 0.5 if metric.threshold is None else metric.threshold
    if not 0.0 < threshold < 1.0:
        cut = -math.inf if threshold <= 0.0 else math.inf
    else:
        cut = float(logit(threshold) - logit(prevalence)) / separation + separation / 2.0
    recall, specificity = float(ndtr(separation - cut)), float(ndtr(cut))
    hits, false_alarms = prevalence * recall, (1.0 - prevalence) * (1.0 - specificity)
    calls = hits + false_alarms
    return {
        "recall": recall,
        "specificity": specificity,
        "balanced_accuracy": (recall + specificity) / 2.0,
        "accuracy": hits + (1.0 - prevalence) * specificity,
        "precision": hits / calls if calls else 0.0,
        "f1": 2.0 * hits / (prevalence + calls),
    }[metric.name]


def _posterior(scores: FloatArray, separation: float, prevalence: float) -> FloatArray:
    """Return the probability of a positive at a score in standard deviations above the negatives' mean."""
    odds = separation * scores - separation**2 / 2.0 + math.log(prevalence / (1.0 - prevalence))
    risk: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0)))
    return risk


def _density(x: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-(x**2) / 2.0) / math.sqrt(2.0 * math.pi)
    return density


def _spread(error: float) -> float:
    return math.sqrt(1.0 + error**2 + OWN_ERROR**2)
