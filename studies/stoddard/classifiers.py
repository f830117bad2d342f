"""Classifiers that are trained on selected features, exactly or privately."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.counts import FloatArray
from confide.features import FeatureRows
from confide.learning.logistic import prepare_logistic
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes, weigh
from confide.privacy.mechanisms.feature_counts import NoisyFeatures
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours
from studies.repeatable_noise import repeatable_noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Price of the training, its neighbours, and the source of its noise."""

    epsilon: Fraction
    neighbours: Neighbours
    generator: np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """Scores of test rows, which are taken for positive above 0, and the number of features that they use."""

    scores: FloatArray
    features: int


def as_published(worth: int) -> Recipe:
    """Train the paper's naive Bayes: at most `worth` features of a row, noisy counts, one added to each count."""
    return Recipe(limit=RowLimit(kind="sample", worth=worth), keep=0.0, smoothing=1.0, calibration=Fraction(0))


def ours(worth: int) -> Recipe:
    """Confide's own naive Bayes with its defaults, but for the weight of rows."""
    return Recipe(limit=RowLimit(worth=worth))


def exact_naive_bayes(training: FeatureRows, test: FeatureRows) -> Scored:
    """Naive Bayes without any noise."""
    positives, negatives = training.class_sizes()
    counts = NoisyFeatures(features=training.counts().astype(float), sizes=(positives, negatives), scale=0.0)
    model = weigh(counts, Recipe(keep=0.0, smoothing=1.0))
    return Scored(scores=model.scores(test), features=training.width)


def private_naive_bayes(training: FeatureRows, test: FeatureRows, recipe: Recipe, budget: Budget) -> Scored:
    """Naive Bayes from noisy counts."""
    (model,) = prepare_naive_bayes(
        training,
        epsilon=budget.epsilon,
        recipe=recipe,
        neighbours=budget.neighbours,
        noise=repeatable_noise(budget.generator),
    ).draw()
    return Scored(scores=model.decision(test.matrix()), features=len(model.features))


def exact_logistic_regression(training: FeatureRows, test: FeatureRows) -> Scored:
    """Logistic regression of scikit-learn, as it comes."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(training.matrix(), training.labels)
    return Scored(scores=model.decision_function(test.matrix()), features=training.width)


def private_logistic_regression(training: FeatureRows, test: FeatureRows, budget: Budget) -> Scored:
    """Logistic regression by objective perturbation, with every row scaled to length 1 and else as it comes.

    Without any features it is the noisy share of positives that decides.
    """
    if training.width == 0:
        return private_naive_bayes(training, test, as_published(1), budget)
    (model,) = prepare_logistic(
        training.matrix(),
        training.labels,
        epsilon=budget.epsilon,
        neighbours=budget.neighbours,
        noise=repeatable_noise(budget.generator),
    ).draw()
    return Scored(scores=model.decision(test.matrix()), features=training.width)
