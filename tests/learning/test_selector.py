"""The transformers keep scikit-learn's conventions, read what they should, and pay before noise is drawn."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_pipeline_consistency,
    check_transformer_data_not_an_array,
    check_transformer_general,
)

from confide import Ledger
from confide.errors import BudgetError, DataError, LabelError, ParameterError
from confide.learning import PrivateSelector
from confide.ledger.question import PublicQuestion
from tests.learning.data import random_rows
from tests.noises import FORBIDDEN, SILENT

LOUD = 10**6  # noise that is 0 but for a chance below 10^-1000
MATRIX, LABELS = random_rows(0)
TOP3 = np.isin(np.arange(12), np.argsort(MATRIX.sum(axis=0))[-3:])

EACH: list[PrivateSelector] = [
    PrivateSelector(LOUD, k=3),
    PrivateSelector(LOUD, threshold=float(np.sort(MATRIX.sum(axis=0))[-3])),
    PrivateSelector(LOUD, method="sparse-vector", k=12, threshold=float(np.sort(MATRIX.sum(axis=0))[-3])),
    PrivateSelector(LOUD, method="peeling", k=3),
    PrivateSelector(LOUD, k=3, method="permute-and-flip"),
    PrivateSelector(LOUD, method="clusters", threshold=float(np.sort(MATRIX.sum(axis=0))[-3]), clusters=12),
]
FOR_CHECKS = [
    PrivateSelector(LOUD, k=1, binarize=0.0),
    PrivateSelector(LOUD, threshold=1, binarize=0.0),
    PrivateSelector(LOUD, method="sparse-vector", k=1, threshold=1, binarize=0.0),
    PrivateSelector(LOUD, method="peeling", k=1, binarize=0.0),
    PrivateSelector(LOUD, k=1, method="permute-and-flip", binarize=0.0),
    PrivateSelector(LOUD, method="clusters", threshold=1, binarize=0.0),
]
each = pytest.mark.parametrize("selector", EACH, ids=str)

pytestmark = pytest.mark.usefixtures("unpadded_ledgers")


def clinic(folder: Path, epsilon: object = 10) -> str:
    """Open an account, and return the ledger's place."""
    path = str(folder / "ledger.sqlite")
    with Ledger(path) as ledger:
        ledger.open_account("clinic", epsilon=str(epsilon), neighbours="add-remove-one")
    return path


def spent(path: str) -> Fraction:
    with Ledger(path) as ledger:
        return ledger.account("clinic").spent.epsilon


@pytest.mark.parametrize("selector", FOR_CHECKS, ids=str)
def test_scikit_learn_finds_nothing_amiss(selector: PrivateSelector) -> None:
    """The checks' numbers become 0 and 1 by `binarize`; with next to no noise fits can be compared."""
    expected = {}
    if selector.method in ("peeling", "permute-and-flip"):
        expected["check_fit_idempotent"] = "of equal scores one is chosen at random, by design anew in every fit"
    results = check_estimator(selector, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert {one["check_name"] for one in results if one["status"] == "failed"} == set()
    skipped = {one["check_name"] for one in results if one["status"] == "skipped"}
    assert skipped <= {
        "check_array_api_input",
        "check_pipeline_consistency",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
    }
    assert len(results) > 40


class Deterministic(PrivateSelector):
    """Without noise two fits are the same, so that the checks which were left out are run as well."""

    _noise = SILENT

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


@pytest.mark.parametrize(
    "check", [check_pipeline_consistency, check_transformer_general, check_transformer_data_not_an_array]
)
def test_without_noise_fits_are_alike(check: Any) -> None:
    check("Deterministic", Deterministic(1, k=1, binarize=0.0))


@each
@pytest.mark.parametrize("container", [np.asarray, csr_array, csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_rows_may_come_in_any_container(selector: PrivateSelector, container: Any) -> None:
    columns = {"columns": [f"word{i}" for i in range(12)]} if container is pd.DataFrame else {}
    rows = container(MATRIX, **columns)
    fitted = clone(selector).fit(rows, LABELS)
    assert fitted.support_.tolist() == TOP3.tolist()
    assert fitted.get_support(indices=True).tolist() == list(fitted.selection_.features)
    kept = fitted.transform(rows)
    dense = kept.toarray() if hasattr(kept, "toarray") else np.asarray(kept)
    assert dense.tolist() == MATRIX[:, TOP3].tolist()
    back = fitted.inverse_transform(kept)
    dense = back.toarray() if hasattr(back, "toarray") else np.asarray(back)
    assert dense.tolist() == (MATRIX * TOP3).tolist()
    prefix = "word" if columns else "x"
    assert fitted.get_feature_names_out().tolist() == [f"{prefix}{i}" for i in np.flatnonzero(TOP3)]


@each
def test_what_was_promised_is_kept_beside_the_selection(selector: PrivateSelector) -> None:
    fitted = clone(selector).set_params(epsilon="1/3", neighbours="replace-one").fit(MATRIX, LABELS)
    assert fitted.guarantee_ == fitted.selection_.guarantee
    assert (str(fitted.guarantee_.epsilon), fitted.guarantee_.neighbours) == ("1/3", "replace-one")
    assert fitted.receipt_ is None
    assert fitted.n_features_in_ == 12


@pytest.mark.parametrize("matrix", [MATRIX * 2, MATRIX - 1, MATRIX * 0.5], ids=["twos", "minus", "halves"])
def test_features_must_be_zero_or_one_unless_cut_at_a_public_point(matrix: Any) -> None:
    selector = PrivateSelector(LOUD, k=3)
    for rows in (matrix, csr_array(matrix)):
        with pytest.raises(DataError, match="must be 0 or 1; cut other values at public points"):
            selector.fit(rows, LABELS)
    cut = PrivateSelector(LOUD, k=3, binarize=float(matrix.min() + matrix.max()) / 2).fit(matrix, LABELS)
    assert cut.support_.tolist() == TOP3.tolist()


def test_labels_may_be_anything_that_is_two() -> None:
    words = np.where(LABELS == 1, "ill", "well")
    assert PrivateSelector(LOUD, method="peeling", k=3).fit(MATRIX, words).support_.tolist() == TOP3.tolist()
    wrong = {r"name both \(classes=": np.zeros(len(LABELS)), "Make two labels": np.arange(len(LABELS)) % 3}
    for said, labels in wrong.items():
        with pytest.raises(LabelError, match=said):
            PrivateSelector(LOUD, method="peeling", k=3).fit(MATRIX, labels)


def test_one_class_alone_is_no_error_where_both_are_named() -> None:
    selector = PrivateSelector(LOUD, method="peeling", k=3, classes=("well", "ill"))
    assert selector.fit(MATRIX, np.full(len(LABELS), "well")).support_.tolist() == TOP3.tolist()
    with pytest.raises(LabelError) as refused:
        selector.fit(MATRIX, np.full(len(LABELS), "unheard of"))
    assert "unheard" not in str(refused.value)
    for classes in ((0, 0), (0, 1, 2), (0,), 5):
        with pytest.raises(ParameterError, match="two different labels"):
            PrivateSelector(LOUD, method="peeling", k=3, classes=classes).fit(MATRIX, LABELS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        (PrivateSelector(1, k=3, method="peelin"), "method must be one of .*Did you mean 'peeling'"),
        (PrivateSelector(1, method="peeling", k=13), "at most the number of features, 12"),
        (PrivateSelector(1), "exactly one"),
        (PrivateSelector(0, k=3), "greater than 0"),
        (PrivateSelector(1, k=3, feature_score="gain"), "score must be one of"),
        (PrivateSelector(1, method="sparse-vector", k=3, threshold="many"), "threshold must be"),  # type: ignore[arg-type]
        (PrivateSelector(1, method="clusters", threshold=3, clusters=0), "clusters must be"),
        (PrivateSelector(1, k=3, account="mine"), "give `ledger`"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_when_fitting(
    selector: PrivateSelector, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrivateSelector, "_noise", FORBIDDEN)
    with pytest.raises(ParameterError, match=hint):
        selector.fit(MATRIX, LABELS)


def test_an_empty_selection_leaves_no_columns_and_says_so() -> None:
    fitted = PrivateSelector(LOUD, threshold=10**6).fit(MATRIX, LABELS)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert fitted.transform(MATRIX).shape == (len(LABELS), 0)


@each
def test_a_fit_is_charged_once_and_its_answer_used_again(selector: PrivateSelector, tmp_path: Path) -> None:
    path = clinic(tmp_path)
    question = PublicQuestion(data="the clinic's rows, version 1", label="y")
    charged = clone(selector).set_params(epsilon=1, ledger=path, account="clinic", question=question)
    first, again = charged.fit(MATRIX, LABELS).selection_, clone(charged).fit(csr_array(MATRIX), LABELS)
    assert (again.selection_, again.receipt_.reused) == (first, True)
    later = clone(charged).set_params(question=PublicQuestion(data="the clinic's rows, version 2", label="y"))
    assert not later.fit(MATRIX[1:], LABELS[1:]).receipt_.reused
    assert spent(path) == 2


@each
def test_without_a_question_every_fit_is_charged(selector: PrivateSelector, tmp_path: Path) -> None:
    path = clinic(tmp_path)
    charged = clone(selector).set_params(epsilon=1, ledger=path, account="clinic")
    assert not any(charged.fit(MATRIX, LABELS).receipt_.reused for _ in range(2))
    assert spent(path) == 2


def test_an_account_that_was_not_opened_is_refused_before_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrivateSelector, "_noise", FORBIDDEN)
    path = clinic(tmp_path)
    with pytest.raises(ParameterError, match="Did you mean 'clinic'"):
        PrivateSelector(1, method="peeling", k=1, ledger=path, account="clinik").fit(MATRIX, LABELS)
    with pytest.raises(ParameterError, match="ledger"):
        PrivateSelector(1, method="peeling", k=1, ledger=path).fit(MATRIX, LABELS)
    assert spent(path) == 0


@each
def test_what_does_not_fit_is_refused_before_noise_is_drawn(
    selector: PrivateSelector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = clinic(tmp_path, epsilon="1/2")
    monkeypatch.setattr(PrivateSelector, "_noise", FORBIDDEN)
    refused = clone(selector).set_params(epsilon=1, ledger=path, account="clinic")
    with pytest.raises(BudgetError, match=r"has epsilon 0\.5 left, but 1 was requested"):
        refused.fit(MATRIX, LABELS)
    assert not hasattr(refused, "selection_")
    assert spent(path) == 0


def test_a_grid_search_pays_for_every_fit(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    pipeline = make_pipeline(PrivateSelector(1, method="peeling", k=1, ledger=path, account="clinic"), BernoulliNB())
    search = GridSearchCV(pipeline, {"privateselector__k": [2, 3]}, cv=2).fit(MATRIX, LABELS)
    assert search.best_params_["privateselector__k"] in (2, 3)
    assert spent(path) == 5  # two values in two folds, and the best of them once more


def test_nothing_of_the_data_stays_in_a_fitted_selector() -> None:
    fitted = PrivateSelector(1, k=3).fit(MATRIX, LABELS)
    known = {"selection_", "receipt_", "guarantee_", "support_", "n_features_in_"}
    assert {*vars(fitted)} - {*fitted.get_params()} == known
