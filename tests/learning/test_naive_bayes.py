"""Naive Bayes: without noise the textbook's, with noise a model that chooses its features."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from confide.errors import BudgetError, DataError, LabelError, ParameterError
from confide.features import FeatureRows
from confide.learning.estimators import PrivateNaiveBayes
from confide.learning.linear_model import LinearModel
from confide.learning.naive_bayes import Recipe, cells_for, fitted_line, prepare_naive_bayes
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours
from tests.noises import FORBIDDEN, RELATIONS, SILENT, seeded

pytestmark = pytest.mark.usefixtures("unpadded_ledgers")

TEXTBOOK = Recipe(limit=RowLimit(kind="sample", worth=40), keep=0, smoothing=2.0, calibration=Fraction(0))


def words(rows: int, seed: int, width: int = 40, telling: int = 8) -> FeatureRows:
    """Rows of which some features depend on the class, half of them positive; both classes have as many features."""
    random = np.random.default_rng(seed)
    labels = np.arange(rows) % 2 == 0
    chance = np.full((rows, width), 0.15)
    chance[:, :telling] += np.where(labels[:, None] == (np.arange(telling) % 2 == 0), 0.12, -0.12)
    return FeatureRows.from_matrix((random.random((rows, width)) < chance).astype(int), labels)


@pytest.mark.parametrize("relation", RELATIONS)
def test_without_noise_it_is_the_textbooks(relation: str) -> None:
    """Half of the rows are positive, so two rows of smoothing are one for each class, as scikit-learn's alpha."""
    rows, new = words(200, 1), words(50, 2).matrix()
    model = prepare_naive_bayes(rows, epsilon=1, recipe=TEXTBOOK, neighbours=relation, noise=SILENT).draw()[0]
    peer = BernoulliNB(alpha=1.0).fit(rows.matrix(), rows.labels)
    np.testing.assert_allclose(model.probabilities(new), peer.predict_proba(new)[:, 1], rtol=1e-9)


def test_the_line_is_logistic_regression_on_the_histogram() -> None:
    random = np.random.default_rng(3)
    scores = np.linspace(-3.0, 5.0, 16)
    every = random.integers(5, 60, 16).astype(float)
    ours = random.binomial(every.astype(int), 1 / (1 + np.exp(-(0.7 * scores - 1.0)))).astype(float)
    slope, intercept = fitted_line(scores, np.vstack((ours, every - ours)), (30.0, 90.0))
    added = 32 * every / every.sum()
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], 16),
        sample_weight=np.concatenate((ours + added / 4, every - ours + 3 * added / 4)),
    )
    assert slope == pytest.approx(peer.coef_[0, 0], rel=1e-4)
    assert intercept == pytest.approx(peer.intercept_[0], rel=1e-4)


def test_a_score_that_tells_nothing_keeps_its_order_and_little_else() -> None:
    scores = np.linspace(-1.0, 1.0, 8)
    slope, intercept = fitted_line(scores, np.vstack((np.arange(8.0)[::-1], np.arange(8.0))), (10.0, 30.0))
    assert 0.0 < slope < 0.05
    assert intercept == pytest.approx(np.log((28 + 4) / (28 + 12)), abs=1e-3)


def test_a_table_without_rows_gives_the_classes_shares() -> None:
    slope, intercept = fitted_line(np.linspace(-1.0, 1.0, 8), np.zeros((2, 8)), (10.0, 30.0))
    assert 0.0 < slope < 0.05
    assert intercept == pytest.approx(np.log(1 / 3), abs=1e-3)


def test_few_rows_get_few_cells() -> None:
    assert [cells_for(rows, Fraction(1, 10)) for rows in (0, 1_000, 2_500, 100_000)] == [4, 4, 10, 16]


def test_calibration_sets_the_threshold_right_where_limits_put_it_wrong() -> None:
    """A row of many features counts for few, so the textbook's intercept is far off; a tenth of epsilon mends it."""
    rows, new = words(4000, 4, width=120, telling=20), words(2000, 5, width=120, telling=20)
    accuracy = {}
    for share in (Fraction(0), Fraction(1, 10)):
        recipe = Recipe(limit=RowLimit(worth=1), calibration=share)
        model = prepare_naive_bayes(rows, epsilon=2, recipe=recipe, noise=seeded(6)).draw()[0]
        accuracy[share] = float(((model.decision(new.matrix()) > 0) == new.labels).mean())
        assert abs(float(model.probabilities(new.matrix()).mean()) - 0.5) < 0.1 or share == 0
    assert accuracy[Fraction(1, 10)] > 0.8
    assert accuracy[Fraction(1, 10)] >= accuracy[Fraction(0)] - 0.02


def test_features_that_tell_are_kept_and_others_mostly_not() -> None:
    """8 of 40 features tell; of the others one in three is kept by the usual half deviation, one in 20 by two."""
    rows = words(4000, 7)
    kept = {
        keep: prepare_naive_bayes(rows, epsilon=5, recipe=Recipe(keep=keep), noise=seeded(8)).draw()[0].features
        for keep in (0, 0.5, 2)
    }
    assert kept[0] == tuple(range(40))
    assert set(range(8)) <= set(kept[2]) <= set(kept[0.5])
    assert len(kept[2]) <= 8 + 8
    assert len(kept[0.5]) < 36


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("labels", [[True] * 3, [False] * 3])
def test_one_class_or_no_features_are_no_error(relation: str, labels: list[bool]) -> None:
    """An error would tell that the other class is absent."""
    for matrix in (np.eye(3, 4), np.zeros((3, 4)), np.ones((3, 4))):
        rows = FeatureRows.from_matrix(matrix.astype(int), np.array(labels))
        model = prepare_naive_bayes(rows, epsilon=1, neighbours=relation, noise=seeded(9)).draw()[0]
        assert np.isfinite(model.decision(rows.matrix())).all()


def test_no_rows_and_no_selected_features_are_no_error() -> None:
    nothing = FeatureRows.from_matrix(np.zeros((0, 3), dtype=int), np.zeros(0, dtype=np.bool_))
    assert np.isfinite(prepare_naive_bayes(nothing, epsilon=1, noise=seeded(1)).draw()[0].intercept)
    none = words(20, 1).only(np.zeros(0, dtype=np.int64))
    model = prepare_naive_bayes(none, epsilon=1, noise=seeded(1)).draw()[0]
    assert model.features == ()
    assert model.decision(none.matrix()).shape == (20,)


def test_the_whole_of_epsilon_is_promised_once() -> None:
    prepared = prepare_naive_bayes(words(20, 1), epsilon="1/3", noise=FORBIDDEN)
    assert prepared.guarantee.epsilon == Fraction(1, 3)
    assert prepared.guarantee.delta == 0
    assert prepared.guarantee.neighbours == "add-remove-one"
    assert "which features there are" in prepared.guarantee.public


def test_a_model_is_stored_and_read_again() -> None:
    prepared = prepare_naive_bayes(words(200, 1), epsilon=1, noise=seeded(2))
    model = prepared.draw()[0]
    again = prepared.read(json.loads(json.dumps(model.to_dict())), prepared.guarantee)
    assert again == model
    assert isinstance(again, LinearModel)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"keep": -1}, "keep must be a number of at least 0"),
        ({"smoothing": 0}, "smoothing must be a number"),
        ({"calibration": 1}, "share of epsilon"),
        ({"calibration": "x"}, "finite number"),
    ],
)
def test_a_wrong_recipe_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Recipe(**wrong)  # type: ignore[arg-type]


def test_rows_of_another_width_are_refused() -> None:
    model = prepare_naive_bayes(words(20, 1), epsilon=1, noise=SILENT).draw()[0]
    with pytest.raises(ParameterError, match="trained on 40 features"):
        model.decision(np.zeros((2, 39)))


# --- as an estimator


class Noiseless(PrivateNaiveBayes):
    _noise = SILENT


@parametrize_with_checks([Noiseless(1, binarize=0.0)])  # type: ignore[untyped-decorator]
def test_it_is_an_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_the_estimator_asks_what_its_parameters_say() -> None:
    rows = words(300, 11)
    model = Noiseless(
        2, row_weight=40, limit="sample", keep=0, smoothing=2.0, calibration=0, neighbours="replace-one"
    ).fit(rows.matrix(), np.where(rows.labels, "yes", "no"))
    peer = BernoulliNB(alpha=1.0).fit(rows.matrix(), rows.labels)
    np.testing.assert_allclose(model.predict_proba(rows.matrix()), peer.predict_proba(rows.matrix()), rtol=1e-9)
    assert model.predict(rows.matrix())[0] in ("yes", "no")
    assert model.guarantee_.epsilon == 2
    assert model.guarantee_.neighbours == Neighbours.REPLACE_ONE
    assert "the two labels" in model.guarantee_.public
    assert model.receipt_ is None


def test_a_fit_is_charged_before_noise_is_drawn(tmp_path: Path) -> None:
    rows = words(60, 12)
    place = str(tmp_path / "ledger.sqlite")
    with Ledger(place) as ledger:
        ledger.open_account("a", epsilon=1, neighbours="add-remove-one")
    question = PublicQuestion(data="made-up words, version 1", label="y")
    model = PrivateNaiveBayes("3/4", ledger=place, account="a", question=question).fit(rows.matrix(), rows.labels)
    assert model.receipt_ is not None
    assert model.receipt_.spent.epsilon == Fraction(3, 4)
    again = PrivateNaiveBayes("3/4", ledger=place, account="a", question=question).fit(rows.matrix(), rows.labels)
    np.testing.assert_array_equal(again.coef_, model.coef_)

    class Forbidden(PrivateNaiveBayes):
        _noise = FORBIDDEN

    for asked in (question, None):
        with pytest.raises(BudgetError):
            Forbidden("1/2", ledger=place, account="a", question=asked).fit(rows.matrix(), rows.labels)


def test_one_class_needs_both_names() -> None:
    rows = np.eye(4, dtype=int)
    with pytest.raises(LabelError, match="name both"):
        PrivateNaiveBayes(1).fit(rows, [1, 1, 1, 1])
    assert PrivateNaiveBayes(1, classes=(0, 1)).fit(rows, [1, 1, 1, 1]).classes_.tolist() == [0, 1]


def test_values_that_are_not_binary_are_refused_unless_cut() -> None:
    matrix, labels = np.array([[0.2, 3.0], [0.9, -1.0]] * 3), [0, 1] * 3
    with pytest.raises(DataError, match="must be 0 or 1"):
        PrivateNaiveBayes(1).fit(matrix, labels)
    assert Noiseless(10**6, binarize=0.5, keep=0).fit(matrix, labels).predict([[0.9, -1.0]]) == [1]
