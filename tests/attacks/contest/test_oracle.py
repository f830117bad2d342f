"""A contest's oracle answers with the metric itself, counts its answers, and stops."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn import metrics as sk

from confide.attacks.contest.oracle import Oracle, OutOfQueries, label_by_two_queries
from confide.attacks.disclosure import Publication
from confide.errors import OneClassError, ParameterError, ScoreError, UsageError

LABELS = np.random.default_rng(5).random(60) < 0.4
SCORES = np.random.default_rng(6).integers(1, 20, 60) / 20.0  # with ties

AGAINST_SKLEARN = {
    "auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "log_loss": sk.log_loss,
    "brier": sk.brier_score_loss,
}


def oracle(spec: str, **options: int) -> Oracle:
    return Oracle.of_labels(LABELS, Publication.parse(spec), **options)


@pytest.mark.parametrize("metric", AGAINST_SKLEARN)
def test_the_answer_is_the_metric(metric: str) -> None:
    assert float(oracle(metric).ask(SCORES)) == pytest.approx(AGAINST_SKLEARN[metric](LABELS, SCORES), abs=1e-12)


def test_auc_and_accuracy_are_exact_fractions() -> None:
    pairs = [
        Fraction(1) if ours > theirs else Fraction(1, 2) if ours == theirs else Fraction(0)
        for ours in SCORES[LABELS]
        for theirs in SCORES[~LABELS]
    ]
    right = sum(bool(score >= 0.5) == bool(label) for score, label in zip(SCORES, LABELS, strict=True))
    for metric, value in (("auc", sum(pairs, Fraction(0)) / len(pairs)), ("accuracy", Fraction(right, 60))):
        answer = oracle(metric).ask(SCORES)
        assert isinstance(answer, Fraction)
        assert answer == value


@pytest.mark.parametrize("metric", [*AGAINST_SKLEARN, "accuracy"])
@pytest.mark.parametrize("digits", [1, 3, 6])
def test_rounded_answers_are_decimals_whose_window_holds_the_exact_number(metric: str, digits: int) -> None:
    rounded = oracle(f"{metric}:digits={digits}")
    answer = rounded.ask(SCORES)
    window = rounded.window(answer)
    exact = Fraction(oracle(metric).ask(SCORES))
    assert window is not None
    assert round(float(answer), digits) == float(answer)
    assert window.lower <= exact <= window.upper
    assert window.upper - window.lower == Fraction(1, 10**digits)


@pytest.mark.parametrize("metric", ["auc", "average_precision", "accuracy", "brier"])
def test_private_answers_are_fresh_releases(metric: str) -> None:
    private = oracle(f"{metric}:epsilon=1")
    answers = {float(private.ask(SCORES)) for _ in range(6)}
    assert len(answers) > 1
    assert private.window(answers.pop()) is None
    if metric != "average_precision":  # its grid costs something even without noise
        assert float(oracle(f"{metric}:epsilon=10000").ask(SCORES)) == pytest.approx(
            float(oracle(metric).ask(SCORES)), abs=0.01
        )


def test_what_is_refused_is_not_counted() -> None:
    probabilities = oracle("log_loss", limit=1)
    for bad, error in (
        (SCORES[:-1], ParameterError),
        (np.where(LABELS, np.nan, 0.5), ScoreError),
        (SCORES + 1.0, ScoreError),
    ):
        with pytest.raises(error):
            probabilities.ask(bad)
    assert (probabilities.asked, probabilities.left) == (0, 1)
    probabilities.ask(SCORES)
    with pytest.raises(OutOfQueries, match="1 answers") as refused:
        probabilities.ask(SCORES)
    assert isinstance(refused.value, UsageError)
    assert (probabilities.asked, probabilities.left) == (1, 0)


def test_what_cannot_be_an_oracle() -> None:
    with pytest.raises(ParameterError, match="one number"):
        oracle("roc")
    with pytest.raises(ParameterError, match="cannot be released"):
        oracle("log_loss:epsilon=1")
    with pytest.raises(ParameterError, match="times"):
        oracle("auc:epsilon=1,times=3")
    with pytest.raises(ParameterError, match="limit"):
        oracle("auc", limit=-1)
    with pytest.raises(OneClassError):
        Oracle.of_labels([1, 1, 1], Publication.parse("auc"))
    assert Oracle.of_labels([1, 1, 1], Publication.parse("accuracy")).ask([1, 1, 0]) == Fraction(2, 3)
    assert 0.0 <= float(Oracle.of_labels([1, 1, 1], Publication.parse("auc:epsilon=1")).ask([1, 1, 0])) <= 1.0


def test_an_oracle_does_not_show_its_labels() -> None:
    assert repr(oracle("auc")) == "Oracle(exact AUC, rows=60, asked=0, limit=None)"


def test_two_queries_tell_every_label_of_every_labeling() -> None:
    for labels in product((0, 1), repeat=5):
        if 0 < sum(labels) < 5:
            contest = Oracle.of_labels(labels, Publication.parse("auc"))
            assert tuple(label_by_two_queries(contest, row) for row in range(5)) == labels
            assert contest.asked == 10


@pytest.mark.parametrize("seed", range(4))
def test_equal_answers_tell_no_label_and_others_the_right_one(seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.arange(30) < 10)
    rounded = Oracle.of_labels(labels, Publication.parse("auc:digits=1"))
    found = [label_by_two_queries(rounded, row) for row in range(30)]
    assert 0 < found.count(None) < 30
    assert all(label in (None, truth) for label, truth in zip(found, labels.tolist(), strict=True))


def test_equal_answers_with_noise_tell_no_label() -> None:
    noisy = Oracle(lambda scores: 0.5, rows=9, published=Publication.parse("auc:epsilon=1"))
    assert label_by_two_queries(noisy, 0) is None


def test_two_queries_are_for_auc_and_for_rows_that_are_there() -> None:
    with pytest.raises(ParameterError, match="auc"):
        label_by_two_queries(oracle("accuracy"), 0)
    with pytest.raises(ParameterError, match="row"):
        label_by_two_queries(oracle("auc"), 60)
