"""A pipeline promises the sum of what its steps paid, and nothing if one of them did not pay."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.feature_selection import SelectKBest, SelectorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from confide.errors import ParameterError
from confide.learning import PrivateSelector, total_guarantee
from confide.learning.estimators import PrivateLogisticRegression
from confide.learning.pipelines import ROW_BY_ROW
from tests.learning.data import random_rows

MATRIX, LABELS = random_rows(0)


def kind(step: object) -> str:
    return type(step).__name__


def pay(epsilon: object = 1, **terms: Any) -> PrivateSelector:
    return PrivateSelector(epsilon, method="peeling", k=2, **terms)


def test_the_prices_of_all_steps_add_up() -> None:
    pipeline = make_pipeline(PrivateSelector("1/3", k=6), pay("1/6")).fit(MATRIX, LABELS)
    whole = total_guarantee(pipeline)
    assert (whole.epsilon, whole.delta) == (Fraction(1, 2), Fraction(0))
    assert whole.neighbours == "add-remove-one"
    assert whole.public == ("which features there are",)
    assert total_guarantee(pay("1/6").fit(MATRIX, LABELS)).epsilon == Fraction(1, 6)


def test_selection_and_training_are_paid_together() -> None:
    pipeline = make_pipeline(Binarizer(), pay("1/3"), PrivateLogisticRegression("2/3"))
    assert pipeline.fit(MATRIX, LABELS).predict(MATRIX).shape == LABELS.shape
    assert total_guarantee(pipeline).epsilon == 1


@pytest.mark.parametrize(
    "step",
    [
        "passthrough",
        None,
        Binarizer(threshold=0.5),
        Normalizer(norm="max"),
        AdditiveChi2Sampler(sample_steps=1),
        FunctionTransformer(),
        FunctionTransformer(np.sign),
        make_union(FunctionTransformer(np.sign), Binarizer()),
    ],
    ids=kind,
)
def test_steps_that_treat_each_row_by_itself_are_free(step: Any) -> None:
    pipeline = Pipeline([("step", step), ("select", pay("1/4", binarize=0.0))]).fit(MATRIX, LABELS)
    assert total_guarantee(pipeline).epsilon == Fraction(1, 4)


def test_words_are_hashed_for_nothing() -> None:
    texts = ["fever and cough", "cough", "no fever", "nothing at all"] * 3
    words = HashingVectorizer(n_features=32, norm=None, alternate_sign=False, binary=True)
    pipeline = make_pipeline(words, pay()).fit(texts, [1, 0] * 6)
    assert total_guarantee(pipeline).epsilon == 1
    counted = make_pipeline(CountVectorizer(binary=True), pay()).fit(texts, [1, 0] * 6)
    with pytest.raises(ParameterError, match=r"step 'countvectorizer' \(CountVectorizer\).* HashingVectorizer"):
        total_guarantee(counted)


class MaskFromElsewhere(SelectorMixin, FunctionTransformer):  # type: ignore[misc]
    """A selector that was handed a mask, such as an attack's target returns."""

    def _get_support_mask(self) -> Any:
        return np.arange(12) < 3


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        PCA(2),
        SelectKBest(k=3),
        OneHotEncoder(handle_unknown="ignore"),
        FunctionTransformer(lambda rows: rows > rows.mean(axis=0)),
        FunctionTransformer(np.sign, kw_args={"where": True}),
        MaskFromElsewhere(),
        make_union(Binarizer(), StandardScaler()),
        ColumnTransformer([("scaled", StandardScaler(), [0, 1])]),
    ],
    ids=kind,
)
def test_steps_that_may_have_learnt_are_refused(step: Any) -> None:
    pipeline = Pipeline([("step", step), ("select", pay(binarize=0.0))]).fit(MATRIX, LABELS)
    with pytest.raises(ParameterError, match=r"step 'step.*' \(.*\) may have learnt from the rows without paying"):
        total_guarantee(pipeline)


class Remembering:
    """A way to find words that remembers the texts it met."""

    def __init__(self) -> None:
        self.met: list[str] = []

    def __call__(self, text: str) -> list[str]:
        self.met.append(text)
        return [str(len(self.met))]


def test_functions_of_the_users_own_are_no_free_steps() -> None:
    """They may look across rows, by memory or by what they were made with."""
    mean = float(MATRIX.mean())
    less_mean = np.frompyfunc(lambda value: float(value - mean), 1, 1)
    texts = [f"row {number}" for number in range(len(LABELS))]
    hashed = HashingVectorizer(n_features=8, binary=True, alternate_sign=False, norm=None, analyzer=Remembering())
    for step, rows in ((FunctionTransformer(less_mean), MATRIX), (hashed, texts)):
        pipeline = Pipeline([("step", step), ("select", pay(binarize=0.0))]).fit(rows, LABELS)
        with pytest.raises(ParameterError, match="without paying"):
            total_guarantee(pipeline)


@pytest.mark.parametrize(
    "last", [LogisticRegression(), RandomForestClassifier(3), GaussianProcessRegressor(optimizer=None)], ids=kind
)
def test_a_classifier_that_does_not_pay_is_refused(last: Any) -> None:
    """Needing no fit is no excuse: a Gaussian process can predict without one, and learns all the same."""
    assert get_tags(last).requires_fit is not isinstance(last, GaussianProcessRegressor)
    pipeline = make_pipeline(pay(), last).fit(MATRIX[:60], LABELS[:60])
    with pytest.raises(ParameterError, match="without paying"):
        total_guarantee(pipeline)


def test_columns_are_looked_into_but_not_if_a_function_chose_them() -> None:
    columns = ColumnTransformer(
        [("some", pay("1/4"), [0, 1, 2, 3]), ("rest", "passthrough", [4, 5]), ("not", "drop", [6])]
    )
    assert total_guarantee(make_pipeline(columns, pay("1/4")).fit(MATRIX, LABELS)).epsilon == Fraction(1, 2)
    chosen = ColumnTransformer([("some", pay(), make_column_selector("x"))])
    frame = pd.DataFrame(MATRIX, columns=[f"x{i}" for i in range(12)])
    with pytest.raises(ParameterError, match="name them instead"):
        total_guarantee(chosen.fit(frame, LABELS))


def test_a_union_pays_for_all_its_members() -> None:
    union = FeatureUnion([("one", pay("1/4")), ("two", pay("1/2")), ("none", "drop")])
    assert total_guarantee(union.fit(MATRIX, LABELS)).epsilon == Fraction(3, 4)


def test_steps_that_hide_different_things_do_not_add_up() -> None:
    for terms in ({"neighbours": "replace-one"}, {"unit": "person"}):
        pipeline = make_pipeline(PrivateSelector(1, k=6), pay(**terms)).fit(MATRIX, LABELS)
        with pytest.raises(ParameterError, match="different neighbours or units"):
            total_guarantee(pipeline)


def test_somebody_may_vouch_for_a_step_and_this_is_then_said() -> None:
    encoder = OneHotEncoder(categories=[[0, 1]] * 12, handle_unknown="ignore")
    union = make_union(encoder, FunctionTransformer(lambda rows: 1 - rows))
    pipeline = Pipeline([("both", union), ("select", pay())]).fit(MATRIX, LABELS)
    names = ("both__onehotencoder", "both__functiontransformer")
    assert total_guarantee(pipeline, vouched=names).public[1:] == tuple(
        f"that step {name!r} treats each row by itself, by public rules" for name in names
    )
    with pytest.raises(ParameterError, match="may have learnt"):
        total_guarantee(pipeline, vouched=names[:1])
    with pytest.raises(ParameterError, match=r"no step 'both__onehotencodr'.*Did you mean 'both__onehotencoder'"):
        total_guarantee(pipeline, vouched=["both__onehotencodr"])
    assert "vouch" not in str(
        total_guarantee(make_pipeline(pay()).fit(MATRIX, LABELS), vouched=["privateselector"]).public
    )


def test_a_search_is_refused_as_it_fitted_more_often_than_it_says() -> None:
    search = GridSearchCV(make_pipeline(pay(), LogisticRegression()), {"privateselector__k": [1, 2]}, cv=2)
    with pytest.raises(ParameterError, match=r"\(GridSearchCV\) may have learnt"):
        total_guarantee(search.fit(MATRIX, LABELS))


def test_what_is_no_fitted_pipeline_is_refused() -> None:
    with pytest.raises(ParameterError, match="step 'privateselector' is not fitted"):
        total_guarantee(make_pipeline(Binarizer(), pay()))
    with pytest.raises(ParameterError, match="not fitted"):
        total_guarantee(ColumnTransformer([("some", pay(), [0])]))
    with pytest.raises(ParameterError, match="no step has paid"):
        total_guarantee(make_pipeline(Binarizer()).fit(MATRIX))
    for thing in (np.ones(12, dtype=np.bool_), [True, False], "pipeline", 3):
        with pytest.raises(ParameterError, match="not an estimator of scikit-learn"):
            total_guarantee(thing)


NUMBERS = np.random.default_rng(0).uniform(0.0, 2.0, (6, 4))
OTHERS = 5.0 - NUMBERS
INPUTS: dict[Any, tuple[Any, Any]] = {
    Binarizer(threshold=0.7): (NUMBERS, OTHERS),
    Normalizer(): (NUMBERS, OTHERS),
    AdditiveChi2Sampler(): (NUMBERS, OTHERS),
    FunctionTransformer(expit): (NUMBERS, OTHERS),
    HashingVectorizer(n_features=16): (["a cold night", "a night", "cold", "b", "warm", "sun"], ["moon", "rain"]),
    FeatureHasher(n_features=16, input_type="string"): ([["ab", "cd"], ["cd"], ["ef"], [], ["ab"]], [["gh"], ["cd"]]),
}


@pytest.mark.parametrize("step", INPUTS, ids=kind)
def test_free_steps_learn_nothing_and_look_at_one_row_at_a_time(step: Any) -> None:
    def transformed(fitted_to: Any, rows: Any) -> Any:
        found = step.fit(fitted_to).transform(rows)
        return found.toarray().tolist() if hasattr(found, "toarray") else np.asarray(found).tolist()

    rows, others = INPUTS[step]
    together = transformed(rows, rows)
    assert transformed(others, rows) == together
    assert [transformed(rows, rows[i : i + 1])[0] for i in range(len(rows))] == together


def test_all_free_steps_were_looked_at() -> None:
    assert {type(step) for step in INPUTS} == {*ROW_BY_ROW, FunctionTransformer}
