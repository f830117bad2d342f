"""A trial: one method with its numbers on one dataset; and what a fold makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from confide.features import FeatureRows, Integers
from studies.repeatable_noise import generator_for
from studies.stoddard.classifiers import (
    Budget,
    Scored,
    as_published,
    exact_logistic_regression,
    exact_naive_bayes,
    ours,
    private_logistic_regression,
    private_naive_bayes,
)
from studies.stoddard.methods import METHODS, Method
from studies.stoddard.selectors import Cut, SelectionTask, Training

Measure = Literal["accuracy", "f1"]
Classifier = Literal["naive Bayes", "logistic regression"]


FREQUENT = 5000
"""The words that stand for all words in logistic regression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tried: a method by its key, with the numbers that differ between trials.

    "accuracy" trains on the selected features and counts what is right of the held-out rows; "f1" compares the selected
    features with those that reach the threshold, all of epsilon being for the selection. `share` and `worth` replace
    those of the method.
    """

    dataset: str
    method: str
    epsilon: Fraction | None = None
    k: int | None = None
    threshold: float | None = None
    share: Fraction | None = None
    worth: int | None = None
    measure: Measure = "accuracy"
    classifier: Classifier = "naive Bayes"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without what is not given."""
        given = {
            "dataset": self.dataset,
            "method": self.method,
            "measure": self.measure,
            "classifier": self.classifier if self.measure == "accuracy" else None,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "k": self.k,
            "threshold": self.threshold,
            "share": None if self.share is None else float(self.share),
            "row_weight": self.worth,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldResult:
    """What a fold found: the measure, and how many features were selected."""

    value: float
    features: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Fold:
    """Training rows and held-out rows of one fold."""

    number: int
    training: Training
    test: FeatureRows

    @classmethod
    def of(cls, rows: FeatureRows, fold: Integers, number: int) -> Fold:
        """Hold out the rows of one fold."""
        return cls(number=number, training=Training(rows.rows(fold != number)), test=rows.rows(fold == number))

    @cached_property
    def frequent(self) -> Fold:
        """The same rows with the most frequent words of the training rows alone, as the paper has them for ERM."""
        chosen = Cut(k=FREQUENT).reached(self.training.scores("total-count"))
        training = Training(self.training.rows.only(chosen))
        return Fold(number=self.number, training=training, test=self.test.only(chosen))


def run_trials(fold: Fold, trials: Iterable[Trial], seed: int) -> list[FoldResult]:
    """Run trials on a fold, each with noise of its own."""
    return [_run(fold, trial, seed) for trial in trials]


def _run(fold: Fold, trial: Trial, seed: int) -> FoldResult:
    generator = generator_for(seed, fold.number, *trial.to_dict().items())
    method = METHODS[trial.method].with_worth(trial.worth)
    if trial.measure == "f1":
        return _f1(fold, trial, method, generator)
    words = fold.frequent if trial.classifier == "logistic regression" else fold
    return _accuracy(words, trial, method, generator)


def _accuracy(fold: Fold, trial: Trial, method: Method, generator: np.random.Generator) -> FoldResult:
    share = method.share if trial.share is None else trial.share
    chosen = _selected(fold, trial, method, share, generator)
    sides = (fold.training.rows, fold.test)
    training, test = sides if chosen is None else (rows.only(chosen) for rows in sides)
    if trial.epsilon is None:
        scored = _EXACT[trial.classifier](training, test)
    else:
        budget = Budget(epsilon=trial.epsilon * (1 - share), neighbours=method.neighbours, generator=generator)
        scored = _private(training, test, trial, method, budget)
    return FoldResult(value=float(np.mean((scored.scores > 0.0) == test.labels)), features=scored.features)


_EXACT = {"naive Bayes": exact_naive_bayes, "logistic regression": exact_logistic_regression}


def _private(training: FeatureRows, test: FeatureRows, trial: Trial, method: Method, budget: Budget) -> Scored:
    if trial.classifier == "logistic regression":
        return private_logistic_regression(training, test, budget)
    recipe = ours(method.worth) if method.joint else as_published(method.worth)
    return private_naive_bayes(training, test, recipe, budget)


def _selected(
    fold: Fold, trial: Trial, method: Method, share: Fraction, generator: np.random.Generator
) -> Integers | None:
    if method.selector is None:
        return None
    cut = Cut(k=trial.k, threshold=trial.threshold)
    epsilon = Fraction(1) if trial.epsilon is None else trial.epsilon * share
    return method.selector.features(fold.training, SelectionTask(epsilon=epsilon, cut=cut, generator=generator))


def _f1(fold: Fold, trial: Trial, method: Method, generator: np.random.Generator) -> FoldResult:
    cut = Cut(k=trial.k, threshold=trial.threshold)
    chosen = _selected(fold, trial, method, Fraction(1), generator)
    wanted = cut.reached(fold.training.scores("total-count"))
    found = np.zeros(0, dtype=np.int64) if chosen is None else chosen
    return FoldResult(value=f1_score(found, wanted), features=found.size)


def f1_score(found: Integers, wanted: Integers) -> float:
    """The harmonic mean of precision and recall of a set of features; 1 if both sets are empty.

    >>> f1_score(np.array([1, 2, 3]), np.array([2, 3, 4, 5, 6]))
    0.5
    """
    if not found.size + wanted.size:
        return 1.0
    return 2.0 * np.intersect1d(found, wanted).size / (found.size + wanted.size)
