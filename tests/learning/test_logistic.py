"""Private logistic regression: what is asked, drawn and charged, and how it fares against regression without noise."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from confide.errors import BudgetError, DataError, LabelError, ParameterError
from confide.learning.estimators import PrivateLogisticRegression
from confide.learning.linear_model import LinearModel
from confide.learning.logistic import METHODS, prepare_logistic, usual_regularization
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.privacy.mechanisms.logistic_minimum import near_minimum
from confide.privacy.mechanisms.unit_rows import unit_rows
from confide.privacy.neighbours import Neighbours
from tests.noises import FORBIDDEN, RELATIONS, SILENT, Deaf, seeded

pytestmark = pytest.mark.usefixtures("unpadded_ledgers")

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LOUD = 10**6  # an epsilon with next to no noise


def random_data(seed: int = 0, count: int = 400, width: int = 4) -> tuple[Floats, Flags]:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(count, width))
    return matrix, matrix @ rng.normal(size=width) + 0.5 + rng.logistic(size=count) > 0


def model(matrix: Any, labels: Flags, **given: Any) -> LinearModel:
    return prepare_logistic(matrix, labels, **{"epsilon": LOUD, **given}).draw()[0]


# --- what comes out


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_the_weights_are_those_of_sklearn(method: str) -> None:
    matrix, labels = random_data()
    longest = float(np.linalg.norm(matrix, axis=1).max())
    found = model(matrix, labels, method=method, regularization=2, row_norm=longest, noise=SILENT)
    scaled = np.column_stack((matrix * (12 / 13 / longest), np.full(len(labels), 5 / 13)))
    fitted = LogisticRegression(C=1 / 2, fit_intercept=False, solver="newton-cholesky", tol=1e-12).fit(scaled, labels)
    np.testing.assert_allclose(found.weights, fitted.coef_[0, :-1] * 12 / 13 / longest, atol=2e-5)
    assert found.intercept == pytest.approx(fitted.coef_[0, -1] * 5 / 13, abs=2e-5)
    np.testing.assert_allclose(found.decision(matrix), fitted.decision_function(scaled), atol=2e-4)


def test_without_an_intercept_there_is_none() -> None:
    matrix, labels = random_data()
    found = model(matrix, labels, intercept=False, regularization=1, row_norm=3.0, noise=SILENT)
    rows = unit_rows(matrix, labels, row_norm=3.0, intercept=False)
    assert found.intercept == 0.0
    np.testing.assert_allclose(found.weights, [float(w) / 3.0 for w in near_minimum(rows, Fraction(1))], atol=1e-6)


@pytest.mark.parametrize("wrap", [csr_array, csc_array, coo_array])
def test_sparse_rows_are_the_same_rows(wrap: Callable[[Floats], Any]) -> None:
    matrix, labels = random_data()
    matrix[np.abs(matrix) < 0.5] = 0.0
    dense, sparse = (prepare_logistic(each, labels, epsilon=1, noise=seeded(1)) for each in (matrix, wrap(matrix)))
    assert dense.draw() == sparse.draw()
    assert dense.request == sparse.request


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("method", METHODS)
def test_weights_are_drawn_by_the_systems_noise(method: str, relation: str) -> None:
    matrix, labels = random_data(count=50)
    prepared = prepare_logistic(matrix, labels, epsilon=1, method=method, neighbours=relation)
    (first,), (second,) = prepared.draw(), prepared.draw()
    assert first.weights != second.weights
    assert np.isfinite([*first.weights, first.intercept]).all()


def test_no_rows_are_trained_on_as_any_others() -> None:
    """Under add-remove-one their number is private, so it may not matter that there are none."""
    none = np.zeros((0, 3)), np.zeros(0, dtype=np.bool_)
    for method in METHODS:
        assert len(model(*none, method=method, epsilon=1).weights) == 3


def test_one_class_is_trained_on_as_any_other() -> None:
    matrix, labels = random_data()
    assert model(matrix, np.ones_like(labels), noise=SILENT).decision(np.zeros((1, 4)))[0] > 0.5


# --- what is asked


def test_a_model_can_be_written_and_read() -> None:
    matrix, labels = random_data()
    prepared = prepare_logistic(matrix, labels, epsilon="1/3", neighbours="replace-one", noise=seeded(3))
    (found,) = prepared.draw()
    assert prepared.read(json.loads(json.dumps(found.to_dict())), prepared.guarantee) == found
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert found.to_dict()["kind"] == "logistic-regression"
    assert found.guarantee.epsilon == Fraction(1, 3)
    assert found.guarantee.delta == 0
    json.dumps(prepared.request)


def test_the_request_says_everything_that_the_answer_depends_on() -> None:
    matrix, labels = random_data(count=10)
    usual: dict[str, Any] = {"epsilon": 1, "regularization": 2}
    others: list[dict[str, Any]] = [
        {"method": "output"},
        {"regularization": 3},
        {"row_norm": 2.0},
        {"intercept": False},
        {"unit": "person", "rows_per_person": 2},
    ]
    first = prepare_logistic(matrix, labels, **usual)
    for other in others:
        assert prepare_logistic(matrix, labels, **{**usual, **other}).request != first.request
    for other in ({"epsilon": 2}, {"neighbours": "label-only"}):
        assert prepare_logistic(matrix, labels, **{**usual, **other}).guarantee != first.guarantee


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_request_is_the_same_whatever_the_rows_are(relation: str) -> None:
    """It identifies the question at a ledger, so nothing of labels or values may enter; nor may their number."""
    matrix, labels = random_data(count=10)
    hidden = [(matrix, labels), (matrix, ~labels)]
    if relation != "label-only":
        hidden.append((matrix + 1.0, labels))
    if relation == "add-remove-one":
        hidden.append((matrix[:9], labels[:9]))
    every = [prepare_logistic(*data, epsilon=1, neighbours=relation) for data in hidden]
    assert all((one.request, one.guarantee) == (every[0].request, every[0].guarantee) for one in every)


def test_what_is_public_is_said() -> None:
    matrix, labels = random_data(count=10)
    public = {
        relation: prepare_logistic(
            matrix, labels, epsilon=1, neighbours=relation, public=("the moon",)
        ).guarantee.public
        for relation in Neighbours
    }
    assert public[Neighbours.ADD_REMOVE_ONE] == ("which features there are", "the moon")
    assert "number of rows" in public[Neighbours.REPLACE_ONE]
    assert "features of every row" in public[Neighbours.LABEL_ONLY]
    assert "scores" not in public[Neighbours.LABEL_ONLY]


def test_several_rows_of_a_person_share_epsilon() -> None:
    matrix, labels = random_data(count=10)
    prepared = prepare_logistic(matrix, labels, epsilon=1, unit="person", rows_per_person=4)
    assert prepared.guarantee.epsilon == 1
    assert Fraction(prepared.request["regularization"]) == 4


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_noise_hides_all_rows_of_a_person(method: str, relation: str) -> None:
    """Epsilon for persons of three rows takes the noise, and gives the model, of a third of it for single rows."""
    matrix, labels = random_data(count=10)
    drawn, heard = [], []
    every: list[dict[str, Any]] = [
        {"epsilon": 1, "unit": "person", "rows_per_person": 3},
        {"epsilon": "1/3"},
        {"epsilon": 1},
    ]
    for terms in every:
        deaf = Deaf()
        found = model(matrix, labels, method=method, regularization=5, neighbours=relation, noise=deaf.noise(), **terms)
        drawn.append((found.weights, found.intercept))
        heard.append(deaf.heard)
    assert drawn[0] == drawn[1]
    assert heard[0] == heard[1] != heard[2]
    assert {kind for kind, *_ in heard[0]} == {"spherical"}


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "1", "1e6"])
@pytest.mark.parametrize("width", [1, 30, 2**20])
def test_the_usual_strength_can_be_had(width: int, epsilon: str, relation: Neighbours) -> None:
    from confide.privacy.mechanisms.logistic_minimum import checked_regularization
    from confide.privacy.mechanisms.objective_perturbation import tilt_rate

    for method in METHODS:
        strength = usual_regularization(method, Fraction(epsilon), relation, width)
        assert checked_regularization(strength) == strength
        assert tilt_rate(strength, Fraction(epsilon), relation) > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "objektive"}, "Did you mean 'objective'"),
        ({"regularization": 0}, "regularization"),
        ({"regularization": "1/10", "epsilon": 1}, "at least 0.148"),
        ({"row_norm": 0}, "row_norm"),
        ({"epsilon": 0}, "epsilon"),
        ({"neighbours": "none"}, "neighbours"),
        ({"rows_per_person": 2}, "`unit` person"),
    ],
)
def test_what_cannot_be_done_is_refused_before_noise(given: dict[str, Any], said: str) -> None:
    matrix, labels = random_data(count=10)
    with pytest.raises(ParameterError, match=said):
        prepare_logistic(matrix, labels, **{"epsilon": 1, "noise": FORBIDDEN, **given})


@pytest.mark.parametrize(
    ("matrix", "labels", "error"),
    [
        (np.full((2, 1), np.nan), np.array([True, False]), DataError),
        (np.zeros(3), np.array([True, False, True]), DataError),
        (np.zeros((2, 0)), np.array([True, False]), DataError),
        (np.zeros((2, 1)), np.array([True]), DataError),
        (np.zeros((2, 1)), np.array([0, 1]), LabelError),
    ],
)
def test_bad_data_are_refused_before_noise(matrix: Any, labels: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as refused:
        prepare_logistic(matrix, labels, epsilon=1, noise=FORBIDDEN)
    assert not re.search(r"\d", str(refused.value))


# --- as an estimator


@pytest.mark.few(43)
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [PrivateLogisticRegression(LOUD, row_norm=10.0), PrivateLogisticRegression(LOUD, row_norm=10.0, method="output")],
    expected_failed_checks=lambda estimator: {
        "check_fit_idempotent": "each fit draws noise anew from the operating system, which has no seed"
    },
)
def test_it_is_an_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


class Quiet(PrivateLogisticRegression):
    """Without noise."""

    _noise = SILENT


@pytest.mark.parametrize("method", METHODS)
def test_the_estimator_hides_all_rows_of_a_person(method: str) -> None:
    matrix, labels = random_data(count=10)
    heard, public = [], []
    for epsilon, persons in ((1, 3), ("1/3", 1), (1, 1)):
        deaf = Deaf()

        class Heard(PrivateLogisticRegression):
            _noise = deaf.noise()

        asked = Heard(epsilon, method=method, regularization=5, unit="person", rows_per_person=persons)
        public.append(asked.fit(matrix, labels).guarantee_.public)
        heard.append(deaf.heard)
    assert heard[0] == heard[1] != heard[2]
    assert "that nobody has more than 3 rows" in public[0]
    assert "that nobody has more than one row" in public[1]


def test_the_estimator_is_the_model() -> None:
    matrix, labels = random_data()
    names = np.where(labels, "spam", "ham")
    fitted = Quiet(1, row_norm=3.0, regularization=2).fit(matrix, names)
    expected = model(matrix, labels, epsilon=1, row_norm=3.0, regularization=2, noise=SILENT)
    assert fitted.classes_.tolist() == ["ham", "spam"]
    assert fitted.coef_[0].tolist() == list(expected.weights)
    assert fitted.intercept_.tolist() == [expected.intercept]
    np.testing.assert_array_equal(fitted.decision_function(matrix), expected.decision(matrix))
    np.testing.assert_allclose(fitted.predict_proba(matrix)[:, 1], expected.probabilities(matrix))
    assert (fitted.predict(matrix) == names).mean() > 0.7
    assert "the two labels" in fitted.guarantee_.public
    assert fitted.receipt_ is None


def test_labels_that_were_named_keep_their_order() -> None:
    matrix, labels = random_data()
    turned = Quiet(1, classes=(1, 0)).fit(matrix, labels.astype(int))
    straight = Quiet(1).fit(matrix, labels.astype(int))
    assert turned.classes_.tolist() == [1, 0]
    np.testing.assert_allclose(turned.coef_, -straight.coef_, atol=1e-6)
    np.testing.assert_array_equal(turned.predict(matrix), straight.predict(matrix))


def test_one_class_needs_both_to_be_named() -> None:
    matrix, _ = random_data(count=20)
    with pytest.raises(LabelError, match="name both"):
        PrivateLogisticRegression(1).fit(matrix, np.zeros(20, dtype=int))
    fitted = Quiet(1, classes=(0, 1)).fit(matrix, np.zeros(20, dtype=int))
    assert set(fitted.predict(matrix)) == {0}


@pytest.mark.parametrize(
    ("classes", "labels", "error"),
    [
        ((0, 0), [0, 1], ParameterError),
        ((0, 1, 2), [0, 1], ParameterError),
        (("a", "b"), ["a", "c"], LabelError),
    ],
)
def test_labels_must_be_those_that_were_named(classes: Any, labels: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        PrivateLogisticRegression(1, classes=classes).fit(np.zeros((2, 1)), labels)


def test_a_fit_is_charged_once(tmp_path: Path) -> None:
    matrix, labels = random_data(count=40)
    place = str(tmp_path / "ledger.sqlite")
    with Ledger(place) as ledger:
        ledger.open_account("trial", epsilon=1, neighbours="add-remove-one")
    question = PublicQuestion(data="made-up rows, version 1", label="y")
    estimator = PrivateLogisticRegression("3/5", ledger=place, account="trial", question=question)
    first = estimator.fit(matrix, labels).coef_
    assert estimator.receipt_ is not None
    assert estimator.receipt_.charged.epsilon == Fraction(3, 5)
    assert estimator.fit(matrix, labels).coef_.tolist() == first.tolist()
    assert estimator.receipt_.reused
    for other in (replace(question, data="made-up rows, version 2"), replace(question, label="z"), None):
        with pytest.raises(BudgetError):
            clone(estimator).set_params(question=other).fit(matrix, labels)
    with Ledger(place) as ledger:
        assert ledger.account("trial").spent.epsilon == Fraction(3, 5)


def test_without_a_question_every_fit_is_charged(tmp_path: Path) -> None:
    """Were two fits known to be the same by their rows, that they are would show, without noise."""
    matrix, labels = random_data(count=40)
    place = str(tmp_path / "ledger.sqlite")
    with Ledger(place) as ledger:
        ledger.open_account("trial", epsilon=1, neighbours="add-remove-one")
    estimator = PrivateLogisticRegression("1/3", ledger=place, account="trial")
    fits = [estimator.fit(matrix, labels).coef_.tolist() for _ in range(3)]
    assert fits[0] != fits[1] != fits[2]
    with pytest.raises(BudgetError):
        estimator.fit(matrix, labels)


def test_noise_is_drawn_after_the_charge(tmp_path: Path) -> None:
    class Silenced(PrivateLogisticRegression):
        _noise = FORBIDDEN

    matrix, labels = random_data(count=40)
    place = str(tmp_path / "ledger.sqlite")
    with Ledger(place) as ledger:
        ledger.open_account("small", epsilon="1/2", neighbours="add-remove-one")
    with pytest.raises(BudgetError):
        Silenced(1, ledger=place, account="small").fit(matrix, labels)


def test_ledger_account_and_question_go_together(tmp_path: Path) -> None:
    class Silenced(PrivateLogisticRegression):
        _noise = FORBIDDEN

    matrix, labels = random_data(count=10)
    place, question = tmp_path / "ledger.sqlite", PublicQuestion(data="made-up rows")
    incomplete: list[dict[str, Any]] = [{"account": "trial"}, {"ledger": place}, {"question": question}]
    for given in incomplete:
        with pytest.raises(ParameterError, match="give `ledger`"):
            Silenced(1, **given).fit(matrix, labels)
    with pytest.raises(ParameterError, match=r"Ledger\.open_account"):
        Silenced(1, ledger=place, account="trial").fit(matrix, labels)
    assert not place.exists()


def test_it_takes_its_place_in_a_pipeline() -> None:
    from confide.learning.pipelines import total_guarantee

    matrix, labels = random_data()
    pipeline = make_pipeline(Binarizer(), PrivateLogisticRegression(1, row_norm=2.0)).fit(matrix, labels)
    assert total_guarantee(pipeline).epsilon == 1


# --- how it fares


def accuracy(found: LinearModel, matrix: Any, labels: Flags) -> float:
    return float(np.mean((found.decision(matrix) > 0) == labels))


WORDS = "call free txt mobile text stop claim www prize cash won nokia win urgent new uk reply your to ur"


def test_spam_is_told_almost_as_well_as_without_noise(shared_data: Path) -> None:
    """Twenty words at epsilon 1: mean accuracy over ten draws of noise, from seeds, within 2 points."""
    with gzip.open(shared_data / "sms_spam.csv.gz", "rt", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    text = next(name for name in lines[0] if name != "label")
    words = WORDS.split()
    matrix = np.array([[word in re.findall(r"\w+", line[text].lower()) for word in words] for line in lines])
    labels = np.array([line["label"] == "spam" for line in lines])
    plain = LogisticRegression(max_iter=1000).fit(matrix, labels).score(matrix, labels)
    mean = {
        method: np.mean(
            [
                accuracy(
                    model(matrix, labels, epsilon=1, row_norm=2.0, method=method, noise=seeded(seed)), matrix, labels
                )
                for seed in range(10)
            ]
        )
        for method in METHODS
    }
    assert plain > 0.93
    assert mean["objective"] > plain - 0.02
    assert mean["output"] > 0.88


def test_objective_perturbation_is_nearer_than_output_perturbation() -> None:
    """The mean distance of ten draws from the weights without noise, each with its usual strength."""
    matrix, labels = random_data(count=3000, width=10)
    plain = LogisticRegression(max_iter=1000).fit(matrix, labels)
    off = {
        method: np.mean(
            [
                np.linalg.norm(np.array(found.weights) - plain.coef_[0])
                for seed in range(10)
                for found in [model(matrix, labels, epsilon=1, row_norm=4.0, method=method, noise=seeded(seed))]
            ]
        )
        for method in METHODS
    }
    assert off["objective"] < 0.7 * off["output"]


def test_the_price_does_not_depend_on_the_data() -> None:
    matrix, labels = random_data(count=30)
    prepared, fewer = (prepare_logistic(matrix[:size], labels[:size], epsilon=1) for size in (30, 5))
    assert prepared.request == fewer.request
    assert prepared.guarantee == fewer.guarantee
