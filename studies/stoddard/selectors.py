"""Ways to select features that are compared: exactly, as the paper does it, and soundly.

Where a method takes a threshold, it is the exact score of the k-th best feature, and where it takes a number of
features it is k: so all are given the same number, chosen by looking at the data, as the paper's must have been.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from confide.counts import FloatArray
from confide.features import FeatureRows, Integers
from confide.learning.selection_methods import prepare_selection
from confide.privacy.mechanisms.feature_scores import scored, sensitivity_of, units_of
from confide.privacy.mechanisms.row_limits import sampled
from confide.privacy.neighbours import Neighbours
from studies.repeatable_noise import repeatable_noise
from studies.stoddard.attacks.cluster_selection import cluster_support
from studies.stoddard.attacks.noisy_cut import noisycut_support
from studies.stoddard.attacks.threshold_testing import ptt_support

ROUNDS, CENTERS = 2, 20
"""Rounds and centers of cluster selection, of which the paper says nothing."""


class Training:
    """Rows to train on; what several methods ask of them is computed once."""

    __slots__ = ("_limited", "_scores", "rows")

    def __init__(self, rows: FeatureRows) -> None:
        self.rows = rows
        self._limited: dict[int, FeatureRows] = {}
        self._scores: dict[tuple[str, int | None], FloatArray] = {}

    def limited(self, most: int | None) -> FeatureRows:
        """Return the rows with at most so many features each."""
        if most is None:
            return self.rows
        if most not in self._limited:
            self._limited[most] = sampled(self.rows, most)
        return self._limited[most]

    def scores(self, score: str, most: int | None = None) -> FloatArray:
        """Return every feature's exact score, in rows, or in rows times nats for information gain."""
        if (score, most) not in self._scores:
            self._scores[score, most] = scored(self.limited(most), score) / units_of(score)
        return self._scores[score, most]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Number of features to take, or the score from which on to take them: one of both."""

    k: int | None = None
    threshold: float | None = None

    def count(self, scores: FloatArray) -> int:
        """Return the number of features to take, at least one."""
        if self.k is not None:
            return min(self.k, scores.size)
        return max(int(np.count_nonzero(scores >= self.level(scores))), 1)

    def level(self, scores: FloatArray) -> float:
        """Return the score from which on features are to be taken."""
        if self.threshold is not None:
            return self.threshold
        place = scores.size - self.count(scores)
        return float(np.partition(scores, place)[place])

    def reached(self, scores: FloatArray) -> Integers:
        """Return the features that an exact answer has: those that reach the threshold, or k of the highest scores."""
        if self.threshold is not None:
            return np.flatnonzero(scores >= self.threshold)
        return np.sort(np.argsort(-scores, kind="stable")[: self.count(scores)])


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionTask:
    """Price of a selection, the features to take, and the source of its noise."""

    epsilon: Fraction
    cut: Cut
    generator: np.random.Generator


class Selector(Protocol):
    """Chooses features of the training rows."""

    def features(self, training: Training, task: SelectionTask) -> Integers:
        """Return the numbers of the features that are chosen, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """Highest scores, without noise."""

    score: str

    def features(self, training: Training, task: SelectionTask) -> Integers:
        """Return the k best, or those that reach the threshold."""
        return task.cut.reached(training.scores(self.score))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """One of confide's own ways, all of which are private as promised.

    `most` is how many features of a row count; None lets all count, where that makes no difference to the noise.
    """

    method: str
    score: str
    most: int | None
    neighbours: Neighbours = Neighbours.ADD_REMOVE_ONE

    def features(self, training: Training, task: SelectionTask) -> Integers:
        """Select as `confide select` would, but with noise that can be repeated."""
        prepared = prepare_selection(
            training.limited(self.most),
            method=self.method,
            epsilon=task.epsilon,
            score=self.score,
            **self._numbers(task.cut, training.scores(self.score, self.most)),
            most_features=self.most,
            neighbours=self.neighbours,
            noise=repeatable_noise(task.generator),
        )
        return np.array(prepared.draw()[0].features, dtype=np.int64)

    def _numbers(self, cut: Cut, scores: FloatArray) -> dict[str, Any]:
        if self.method in ("peeling", "permute-and-flip"):
            return {"k": cut.count(scores)}
        if self.method == "sparse-vector":
            return {"k": cut.count(scores), "threshold": cut.level(scores)}
        if self.method == "clusters" or cut.threshold is not None:
            return {"threshold": cut.level(scores)}
        return {"k": cut.count(scores)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdTesting:
    """Private threshold testing (PTT), which is not private."""

    score: str

    def features(self, training: Training, task: SelectionTask) -> Integers:
        """Features whose exact scores reach a noisy threshold, at the scale that the paper claims to be enough."""
        scores = training.scores(self.score)
        support = ptt_support(
            scores,
            task.cut.level(scores),
            task.epsilon,
            task.generator,
            sensitivity=_change(self.score, training.rows),
            monotone=self.score == "total-count",
        )
        return np.flatnonzero(support)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCut:
    """Noisycut, which does not give its epsilon."""

    score: str

    def features(self, training: Training, task: SelectionTask) -> Integers:
        """Features whose noisy scores reach a noisy threshold, however many they are."""
        scores = training.scores(self.score)
        level = task.cut.level(scores)
        return np.flatnonzero(noisycut_support(scores, level, task.epsilon, task.generator))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedClusters:
    """Cluster selection as published, which is not private."""

    score: str
    most: int

    def features(self, training: Training, task: SelectionTask) -> Integers:
        """Return all features of the clusters whose noisy centers reach the threshold."""
        rows = training.limited(self.most)
        support = cluster_support(
            rows.counts(),
            rows=len(rows),
            epsilon=task.epsilon,
            rounds=ROUNDS,
            centers=CENTERS,
            most_features=self.most,
            score=self.score,
            threshold=task.cut.level(training.scores(self.score, self.most)),
            rng=task.generator,
        )
        return np.flatnonzero(support)


def _change(score: str, rows: FeatureRows) -> float:
    """Return the sensitivity of one feature's score: 1 for counts; for information gain, that for a public N."""
    if score != "information-gain":
        return 1.0
    change = sensitivity_of(score, Neighbours.REPLACE_ONE, most_features=None, width=rows.width, rows=len(rows))
    return float(change.one) / units_of(score)
