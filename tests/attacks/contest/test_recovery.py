"""Labels are recovered from few answers, what is called certain is right, and total budgets of privacy stop it."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from confide.attacks.contest.oracle import UNKNOWN, Oracle, least_queries
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.disclosure import NUMBERS, Publication
from confide.errors import ParameterError
from tests.attacks.rows import labels_of


def contest(labels: np.ndarray, spec: str, limit: int | None = None) -> Oracle:
    return Oracle.of_labels(labels, Publication.parse(spec), limit=limit)


@pytest.mark.parametrize(
    ("metric", "most"), [("auc", 40), ("average_precision", 30), ("accuracy", 70), ("log_loss", 6), ("brier", 8)]
)
@pytest.mark.parametrize("prevalence", [0.5, 0.1])
def test_exact_answers_give_all_labels_with_few_submissions(metric: str, most: int, prevalence: float) -> None:
    hidden = labels_of(200, prevalence, 1)
    oracle = contest(hidden, metric)
    found = recover_labels(oracle, rng=2)
    assert (found.labels == hidden).all()
    assert found.certain.all()
    assert least_queries(200, int(hidden.sum()), metric) <= found.queries == oracle.asked <= most
    if metric in ("auc", "average_precision", "accuracy"):
        assert found.positives == hidden.sum()


@pytest.mark.parametrize(("metric", "most"), [("auc", 130), ("accuracy", 256), ("log_loss", 32)])
def test_a_thousand_labels(metric: str, most: int) -> None:
    hidden = labels_of(1000, 0.5, 4)
    found = recover_labels(contest(hidden, metric), rng=1)
    assert (found.labels == hidden).all()
    assert found.certain.all()
    assert found.queries <= most


@pytest.mark.parametrize("metric", NUMBERS)
def test_every_labeling_of_six_rows(metric: str) -> None:
    for labels in product((False, True), repeat=6):
        hidden = np.array(labels)
        if 0 < hidden.sum() < 6:
            found = recover_labels(contest(hidden, metric), rng=0)
            assert (found.labels == hidden).all()
            assert found.certain.all()
            assert found.queries <= 7


@pytest.mark.parametrize("metric", NUMBERS)
@pytest.mark.parametrize("digits", [1, 2, 3, 4, 6])
def test_what_is_called_certain_is_right_however_answers_are_rounded(metric: str, digits: int) -> None:
    rng = np.random.default_rng(digits)
    for seed in range(6):
        hidden = labels_of(int(rng.integers(4, 50)), float(rng.uniform(0.1, 0.9)), seed)
        found = recover_labels(contest(hidden, f"{metric}:digits={digits}"), budget=60, rng=seed)
        assert (found.labels[found.certain] == hidden[found.certain]).all()
        assert (found.labels[found.certain] != UNKNOWN).all()


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ("auc:digits=4", 60),
        ("auc:digits=3", 150),
        ("average_precision:digits=3", 75),
        ("accuracy:digits=3", 70),
        ("accuracy:digits=2", 256),
        ("log_loss:digits=3", 25),
        ("brier:digits=3", 70),
    ],
)
def test_rounding_slows_the_attack_and_does_not_stop_it(spec: str, most: int) -> None:
    hidden = labels_of(200, 0.5, 7)
    found = recover_labels(contest(hidden, spec), rng=3)
    assert found.agreement(hidden).right >= 195
    assert found.queries <= most


@pytest.mark.parametrize("metric", NUMBERS)
@pytest.mark.parametrize("budget", [0, 1, 5, 17])
def test_a_budget_is_kept_and_the_rest_stays_unknown(metric: str, budget: int) -> None:
    hidden = labels_of(700, 0.4, 9)
    for oracle, given in ((contest(hidden, metric), budget), (contest(hidden, metric, limit=budget), None)):
        found = recover_labels(oracle, budget=given, rng=1)
        assert found.queries == oracle.asked <= budget
        assert (found.labels[found.certain] == hidden[found.certain]).all()
        if budget == 0:
            assert (found.labels == UNKNOWN).all()
        if budget == 17:
            assert 17 < found.certain.sum() < 700


@pytest.mark.statistical
def test_epsilon_for_each_answer_protects_nothing_and_epsilon_in_total_does() -> None:
    """60 labels, of which all but 1 in 10^6 and about 51 % are right: a limit is missed with a chance below 1e-5."""
    hidden = labels_of(60, 0.5, 20)
    right = {}
    for epsilon in ("4", "1/64"):
        found = recover_labels(contest(hidden, f"accuracy:epsilon={epsilon}", limit=64), rng=1)
        assert (found.queries, found.method) == (64, "correlation")
        assert not found.certain.any()
        right[epsilon] = found.agreement(hidden).right
    assert right["4"] >= 58
    assert right["1/64"] <= 50


@pytest.mark.parametrize("spec", ["accuracy:digits=1", "brier:digits=1", "log_loss:digits=0", "brier:epsilon=40"])
def test_correlation_guesses_labels_from_scores_and_from_losses(spec: str) -> None:
    """A submission near the truth has a high accuracy and a low loss: turned round, all guesses would be wrong."""
    hidden = labels_of(60, 0.5, 21)
    found = recover_labels(contest(hidden, spec, limit=64), rng=2)
    assert found.method.endswith("correlation")
    assert found.agreement(hidden).share > 0.8


def test_agreement_counts_what_was_said() -> None:
    hidden = labels_of(100, 0.5, 3)
    found = recover_labels(contest(hidden, "log_loss"), budget=1, rng=1)
    agreement = found.agreement(hidden)
    assert (agreement.said, agreement.right, agreement.rows) == (found.certain.sum(), found.certain.sum(), 100)
    assert agreement.interval.upper == pytest.approx(1.0)
    assert 0.85 < agreement.interval.lower < 1.0
    with pytest.raises(ParameterError, match="each of 100 rows"):
        found.agreement(hidden[1:])


def test_the_result_is_plain_data() -> None:
    found = recover_labels(contest(labels_of(80, 0.5, 3), "auc:digits=5"), budget=3, rng=1)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["published"] == "auc:digits=5"
    assert [UNKNOWN if label is None else label for label in plain["labels"]] == found.labels.tolist()


def test_least_queries() -> None:
    assert least_queries(4, 2, "auc") == 1  # six labelings, nine answers
    assert least_queries(1000, 500, "accuracy") == 100
    assert least_queries(10, 10, "accuracy") == 0


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ParameterError, match="budget"):
        recover_labels(contest(labels_of(10, 0.5, 1), "auc"), budget=-1)


def test_an_oracle_that_contradicts_itself_is_answered_with_guesses() -> None:
    odd = Oracle(lambda scores: Fraction(1, 3), rows=12, published=Publication.parse("auc"))
    found = recover_labels(odd, budget=30, rng=1)
    assert not found.certain.any()


def test_answers_that_are_not_what_was_said() -> None:
    """Two digits shown as if there were five: found out, said, and nothing is called certain."""
    labels = np.random.default_rng(0).integers(0, 2, 60)
    exact = Oracle.of_labels(labels, Publication.parse("auc"))
    oracle = Oracle(lambda scores: round(Fraction(exact.ask(scores)), 2), rows=60, published="auc:digits=5")
    found = recover_labels(oracle, rng=0)
    assert "no labeling explains the answers" in found.method
    assert not found.certain.any()
