"""Methods without noise do what exact ones do; trials come out the same wherever they run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score as sklearn_f1
from sklearn.naive_bayes import BernoulliNB
from studies.running import run_pieces
from studies.stoddard.data import Dataset
from studies.stoddard.methods import METHODS, shown_name
from studies.stoddard.running import Ground, gathered, pieces, preparation
from studies.stoddard.selectors import Cut, Exact, SelectionTask, Training
from studies.stoddard.trials import Fold, FoldResult, Trial, f1_score, run_trials

from confide.privacy.mechanisms.feature_scores import scored

HUGE = Fraction(10**5)
K = 9


@pytest.fixture(scope="module")
def ground(datasets: tuple[Dataset, ...]) -> Ground:
    return Ground.of(datasets, folds=4, seed=3)


@pytest.fixture(scope="module")
def fold(ground: Ground) -> Fold:
    return ground.fold("sms", 1)


def test_folds_hold_out_every_row_once(ground: Ground) -> None:
    folds = [ground.fold("sms", number) for number in range(4)]
    assert sum(len(fold.test) for fold in folds) == len(ground.rows["sms"])
    assert all(len(fold.test) + len(fold.training.rows) == len(ground.rows["sms"]) for fold in folds)


def test_a_cut_takes_the_best_by_brute_force() -> None:
    scores = np.array([3.0, 9.0, 9.0, 1.0, 5.0])
    assert Cut(k=2).reached(scores).tolist() == [1, 2]
    assert Cut(k=3).level(scores) == 5.0
    assert Cut(threshold=3.0).reached(scores).tolist() == [0, 1, 2, 4]
    assert Cut(threshold=3.0).count(scores) == 4
    assert Cut(k=50).count(scores) == 5
    assert Cut(threshold=100.0).count(scores) == 1


BY_THRESHOLD = {"sparse vector", "clusters of noisy scores", "PTT", "noisycut", "clusters"}


@pytest.mark.parametrize("key", [key for key, method in METHODS.items() if method.selector is not None])
def test_without_noise_every_method_selects_high_scores(fold: Fold, key: str) -> None:
    """At an enormous epsilon no feature that is taken scores below one that is not, as the method counts rows."""
    method = METHODS[key].with_worth(fold.test.width)
    assert method.selector is not None
    asked = SelectionTask(epsilon=HUGE, cut=Cut(k=K), generator=np.random.default_rng(0))
    chosen = method.selector.features(fold.training, asked)
    assert np.array_equal(chosen, np.unique(chosen))
    score = {"TC": "total-count", "DC": "difference-count", "PI": "purity-index", "IG": "information-gain"}
    scores = scored(fold.training.rows, score[str(method.score)])
    if method.name == "clusters":  # whole clusters of two counts, whose centers start anywhere
        return
    left = np.setdiff1d(np.arange(scores.size), chosen)
    assert chosen.size >= 1
    assert scores[chosen].min() >= scores[left].max(initial=-1)
    if method.name not in BY_THRESHOLD:
        assert chosen.size == K
    elif method.name != "clusters of noisy scores":
        level = np.sort(scores)[-K]
        assert np.count_nonzero(scores > level) <= chosen.size <= np.count_nonzero(scores >= level)


def test_the_numbers_of_a_trial_reach_the_method() -> None:
    changed = METHODS["score perturbation TC"].with_worth(20)
    assert (changed.worth, getattr(changed.selector, "most", None)) == (20, 20)
    assert METHODS["peeling TC"].with_worth(20).selector == METHODS["peeling TC"].selector
    assert METHODS["PTT TC"].with_worth(None) is METHODS["PTT TC"]


def test_names_say_what_is_not_private() -> None:
    said = {key for key in METHODS if "not private" in shown_name(key)}
    assert said == {key for key in METHODS if METHODS[key].name in ("PTT", "noisycut", "clusters")}


def accuracy(fold: Fold, method: str, epsilon: Fraction | None, **numbers: Any) -> float:
    (found,) = run_trials(fold, [Trial(dataset="sms", method=method, epsilon=epsilon, **numbers)], 0)
    return found.value


def test_naive_bayes_without_noise_is_the_textbooks(fold: Fold) -> None:
    """Counts get 1 in all instead of 1 in each class: the same to within a row or two."""
    training, test = fold.training.rows, fold.test
    model = BernoulliNB(alpha=0.5).fit(training.matrix(), training.labels)
    assert abs(accuracy(fold, "no privacy, all", None) - model.score(test.matrix(), test.labels)) < 0.06
    assert accuracy(fold, "all, sampling", HUGE, worth=test.width) == accuracy(fold, "no privacy, all", None)


def test_logistic_regression_sees_the_most_frequent_words(fold: Fold) -> None:
    asked = SelectionTask(epsilon=HUGE, cut=Cut(k=K), generator=np.random.default_rng(0))
    frequent = Fold(number=0, training=Training(fold.training.rows), test=fold.test).frequent
    assert frequent.test.width == fold.test.width  # all of them, if there are fewer than the paper took
    assert Exact(score="total-count").features(frequent.training, asked).size == K
    trial = Trial(dataset="sms", method="no privacy TC", k=K, classifier="logistic regression")
    (exact,) = run_trials(fold, [trial], 0)
    assert exact.features == K
    assert exact.value > max(fold.test.class_sizes()) / len(fold.test)


def test_nothing_selected_leaves_the_majority(fold: Fold) -> None:
    """A threshold that no score reaches leaves no feature, and a classifier that guesses the larger class."""
    for classifier in ("naive Bayes", "logistic regression"):
        trial = Trial(dataset="sms", method="PTT TC", epsilon=HUGE, threshold=1e6, classifier=classifier)
        (found,) = run_trials(fold, [trial], 0)
        assert found.features == 0
        assert found.value == max(fold.test.class_sizes()) / len(fold.test)


def test_f1_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        found, wanted = rng.random(30) < 0.4, rng.random(30) < 0.3
        expected = sklearn_f1(wanted, found, zero_division=1.0)
        assert f1_score(np.flatnonzero(found), np.flatnonzero(wanted)) == pytest.approx(expected)
    assert f1_score(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)) == 1.0


def trials() -> list[Trial]:
    keys = ("all, sampling", "joint naive Bayes", "PTT TC", "peeling TC", "score perturbation DC")
    return [
        Trial(dataset=dataset, method=key, epsilon=Fraction(1), k=None if METHODS[key].selector is None else K)
        for dataset in ("sms", "reuters")
        for key in keys
    ]


def found_by(ground: Ground, asked: list[Trial], jobs: int = 1) -> dict[Trial, tuple[FoldResult, ...]]:
    found = run_pieces(pieces(asked, 4), jobs=jobs, prepare=preparation(ground))
    return gathered(asked, 4, found)


def test_results_depend_on_nothing_but_the_seed(ground: Ground) -> None:
    asked = trials()
    one = found_by(ground, asked)
    assert one == found_by(ground, asked[::-1])
    assert all(len(found) == 4 for found in one.values())
    other = found_by(Ground(rows=ground.rows, folds=4, seed=4), asked)
    assert other != one


@pytest.mark.processes
def test_processes_find_the_same(ground: Ground) -> None:
    asked = trials()[:3]
    assert found_by(ground, asked, jobs=2) == found_by(ground, asked)
