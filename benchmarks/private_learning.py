"""Private selection and training: how long they take, and how accurate the models are, beside their peers.

The peers are scikit-learn, which keeps nothing private, and diffprivlib where it is installed and works with the
scikit-learn that is there; confide does not depend on it. Its logistic regression hides which of two rows was there, so
that of confide is shown under replace-one beside it. Its intercept is not penalised, which its proof would need.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.feature_data import Split, splits
from benchmarks.learning_speed import print_speed
from benchmarks.parallel import in_parallel
from benchmarks.peers import diffprivlib, one_thread
from benchmarks.timing import table
from confide.learning.logistic import usual_regularization
from confide.learning.models import LOGISTIC_ROW_WEIGHT, prepare_model
from confide.learning.naive_bayes import Recipe, prepare_naive_bayes
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.mechanisms.unit_rows import FEATURE_SHARE
from confide.privacy.neighbours import Neighbours

EPSILONS = ("1", "0.1")

PUBLISHED = Recipe(limit=RowLimit(kind="sample", worth=10), keep=0, smoothing=1.0, calibration=Fraction(0))
"""Naive Bayes as Stoddard, Chen & Machanavajjhala (2014) have it: sampled rows, noisy counts, and no more."""

BAYES, OLD_BAYES = "NB", "NB as published"
OBJECTIVE, OUTPUT, REPLACED = "LR objective", "LR output", "LR objective, replace-one"
THEIR_LOGISTIC, THEIR_SAME, THEIR_BAYES = "diffprivlib LR", "diffprivlib LR, our C", "diffprivlib NB"

OURS = (BAYES, OBJECTIVE, OUTPUT, REPLACED)
THEIRS = (THEIR_LOGISTIC, THEIR_SAME, THEIR_BAYES)

_MOST_DENSE_FEATURES = 1_000  # diffprivlib's naive Bayes takes a minute for a few thousand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """One way to train, on one set of rows."""

    method: str
    data: Split
    epsilon: str
    draws: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The mean share of test rows that are classified rightly, and its standard error over draws of noise."""

    mean: float
    error: float

    @classmethod
    def of(cls, shares: Sequence[float]) -> Accuracy:
        return cls(float(np.mean(shares)), float(np.std(shares, ddof=1)) / math.sqrt(len(shares)))

    def __str__(self) -> str:
        return f"{self.mean:.3f}"

    def less(self, other: Accuracy) -> str:
        return f"{self.mean - other.mean:+.3f} ± {math.hypot(self.error, other.error):.3f}"


Accuracies = Mapping[tuple[str, str, str], Accuracy]
"""By set of rows, epsilon and method."""


def run(*, quick: bool = False) -> None:
    theirs = diffprivlib()
    if theirs is None:
        print("diffprivlib is not here, or does not work with this scikit-learn: its lines are left out")
    with one_thread():
        missed = print_speed(quick=quick, theirs=theirs)
    print(f"\ntargets missed in {missed} lines\n")
    _print_accuracy(quick, theirs is not None)


def _print_accuracy(quick: bool, with_theirs: bool) -> None:
    sets = splits(quick=quick)
    if len(sets) == 1 and not quick:
        print("the real data are not here: set CONFIDE_SHARED to the folder that holds data/")
    draws, few = (2, 2) if quick else (20, 6)
    tasks = [
        Task(method=method, data=data, epsilon=epsilon, draws=few if method in THEIRS else draws)
        for data in sets
        for method in (OLD_BAYES, *OURS, *(THEIRS if with_theirs else ()))
        if method != THEIR_BAYES or data.training.width <= _MOST_DENSE_FEATURES
        for epsilon in EPSILONS
    ]
    keys = [(task.data.name, task.epsilon, task.method) for task in tasks]
    found = dict(zip(keys, map(Accuracy.of, in_parallel(shares_right, tasks)), strict=True))
    print(f"accuracy on test rows, {draws} draws of real noise ({few} for diffprivlib); the best of a line has a star")
    exact = {data.name: exact_accuracies(data) for data in sets}
    _print_accuracies(found, exact, sets)
    print("\ndifferences of accuracies, ± one standard error over noise; those to exact models are to the better one:")
    _print_differences(found, exact, sets)


def shares_right(task: Task) -> list[float]:
    """The share of test rows that is classified rightly, for every draw."""
    with one_thread():
        draw = _private(task) if task.method in THEIRS else partial(_own, task)
        return [_right(draw(), task.data) for _ in range(task.draws)]


def exact_accuracies(data: Split) -> tuple[float, float]:
    """Of scikit-learn's naive Bayes and logistic regression, as they come."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB

    matrix, labels = data.training.matrix(), data.training.labels
    models = BernoulliNB().fit(matrix, labels), LogisticRegression(max_iter=1_000).fit(matrix, labels)
    bayes, logistic = (_right(model.predict(data.test.matrix()), data) for model in models)
    return bayes, logistic


def _right(predicted: NDArray[np.bool_], data: Split) -> float:
    return float(np.mean(predicted == data.test.labels))


def _own(task: Task) -> NDArray[np.bool_]:
    rows = task.data.training
    if task.method in (BAYES, OLD_BAYES):
        recipe = PUBLISHED if task.method == OLD_BAYES else None
        prepared = prepare_naive_bayes(rows, epsilon=task.epsilon, recipe=recipe)
    else:
        neighbours = Neighbours.REPLACE_ONE if task.method == REPLACED else Neighbours.ADD_REMOVE_ONE
        how = {"perturb": "output" if task.method == OUTPUT else "objective"}
        prepared = prepare_model(rows, "logistic-regression", how, epsilon=task.epsilon, neighbours=neighbours)
    (model,) = prepared.draw()
    positive: NDArray[np.bool_] = model.decision(task.data.test.matrix()) > 0.0
    return positive


def _private(task: Task) -> Callable[[], NDArray[np.bool_]]:
    """How diffprivlib draws a model and predicts with it."""
    theirs, epsilon = diffprivlib(), float(task.epsilon)
    matrix, test = task.data.training.matrix().toarray(), task.data.test.matrix().toarray()
    norm = math.sqrt(LOGISTIC_ROW_WEIGHT)

    def draw() -> NDArray[np.bool_]:
        if task.method == THEIR_BAYES:
            model = theirs.GaussianNB(epsilon=epsilon, bounds=(0, 1))
        else:
            C = our_strength_as_c(Fraction(task.epsilon), matrix.shape[1]) if task.method == THEIR_SAME else 1.0
            model = theirs.LogisticRegression(epsilon=epsilon, data_norm=norm, C=C, max_iter=1_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about options of scikit-learn that are to go
            predicted: NDArray[np.bool_] = model.fit(matrix, task.data.training.labels).predict(test)
        return predicted

    return draw


def our_strength_as_c(epsilon: Fraction, features: int) -> float:
    """The `C` for features as they are that stands for our usual regularisation of shortened rows."""
    strength = usual_regularization("objective", epsilon, Neighbours.REPLACE_ONE, features + 1)
    return FEATURE_SHARE**2 / LOGISTIC_ROW_WEIGHT / float(strength)


def _print_accuracies(found: Accuracies, exact: Mapping[str, tuple[float, float]], sets: Sequence[Split]) -> None:
    methods = [method for method in (OLD_BAYES, *OURS, *THEIRS) if any(key[2] == method for key in found)]
    lines = []
    for data in sets:
        for epsilon in EPSILONS:
            cells = [found.get((data.name, epsilon, method)) for method in methods]
            best = max(cell.mean for cell in cells if cell is not None)
            lines.append(
                (
                    f"{data.name}, {len(data.training):,} x {data.training.width:,}, epsilon {epsilon}",
                    f"{data.majority:.3f}",
                    *(f"{accuracy:.3f}" for accuracy in exact[data.name]),
                    *("" if cell is None else f"{cell}{'*' if cell.mean == best else ' '}" for cell in cells),
                )
            )
    table(("", "majority", "exact NB", "exact LR", *methods), lines)


def _print_differences(found: Accuracies, exact: Mapping[str, tuple[float, float]], sets: Sequence[Split]) -> None:
    pairs = [(BAYES, OLD_BAYES), (OBJECTIVE, OUTPUT), (REPLACED, THEIR_LOGISTIC), (REPLACED, THEIR_SAME)]
    pairs = [pair for pair in pairs if any(key[2] == pair[1] for key in found)]
    lines = []
    for data in sets:
        for epsilon in EPSILONS:
            own = max((found[data.name, epsilon, method] for method in OURS), key=lambda each: each.mean)
            fixed = (Accuracy(max(exact[data.name]), 0.0), Accuracy(data.majority, 0.0))
            lines.append(
                (
                    f"{data.name}, epsilon {epsilon}",
                    *(found[data.name, epsilon, a].less(found[data.name, epsilon, b]) for a, b in pairs),
                    *(own.less(other) for other in fixed),
                )
            )
    table(("", *(f"{a} - {b}" for a, b in pairs), "best of ours - exact", "best of ours - majority"), lines)
