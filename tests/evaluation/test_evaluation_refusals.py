"""Designs that do not fit their rows are refused, or have a caution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import confide
from confide.errors import DataError, ParameterError
from tests.evaluation.design_rows import CLUSTERS, FIRST, LABELS, PLACES, SECOND, even_folds


def test_a_fold_with_one_class_is_refused_and_in_a_group_it_has_no_ranking() -> None:
    labels, scores = LABELS[:60], FIRST[:60]
    with pytest.raises(DataError, match="a fold has rows of one class only"):
        confide.evaluate(labels, scores, folds=np.where(labels, 0, PLACES[:60] % 2))
    with pytest.raises(ParameterError, match="at least two"):
        confide.evaluate(labels, scores, folds=np.zeros(60))
    folds = even_folds(labels)
    groups = np.where(labels & (folds == 1), "first", "second")
    groups[~labels & (PLACES[:60] % 4 == 0)] = "first"
    evaluation = confide.evaluate(labels, scores, folds=folds, groups=groups, replicates=0)
    first, _ = evaluation.groups
    assert math.isnan(first.models[0].auc.value)
    assert first.models[0].brier is not None
    assert first.to_dict()["models"][0]["brier"]["interval"] is not None
    assert any("no mean over folds" in text for text in evaluation.warnings)


def test_a_class_in_one_cluster_has_a_caution_and_no_comparison_of_auc() -> None:
    codes = np.where(LABELS, 0, PLACES)
    evaluation = confide.evaluate(LABELS, {"a": FIRST, "b": SECOND}, clusters=codes, replicates=0)
    assert {each.metric for each in evaluation.comparisons} == {"average_precision", "brier", "net_benefit"}
    assert all(model.auc.interval is None for model in evaluation.models)
    assert any("A class lies in one cluster only" in text for text in evaluation.warnings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": 1 + PLACES % 2, "clusters": CLUSTERS}, "weights cannot be combined with clusters or folds"),
        ({"weights": 1 + PLACES % 2, "folds": PLACES % 2}, "weights cannot be combined with clusters or folds"),
        ({"folds": PLACES % 2, "clusters": CLUSTERS}, "folds cannot be combined with clusters"),
        ({"folds": PLACES % 2, "survey_weights": 1.0 + PLACES % 2}, "folds cannot be combined with clusters"),
        ({"weights": 1 + PLACES % 2, "survey_weights": 1.0 + PLACES % 2}, "not both"),
        ({"interval": "plain", "clusters": CLUSTERS}, "`interval` cannot be chosen"),
        ({"interval": "bootstrap", "folds": PLACES % 2}, "`interval` cannot be chosen"),
        ({"interval": "logit", "survey_weights": 1.0 + PLACES % 2}, "`interval` cannot be chosen"),
        ({"interval": "bootstrap", "replicates": 0}, "need `replicates`"),
        ({"interval": "wald"}, "`interval` must be one of plain, logit, bootstrap"),
        ({"replicates": 50}, "replicates"),
        ({"replicates": -1}, "replicates"),
        ({"level": 1.0}, "level"),
        ({"cost_ratio": 0.0}, "cost_ratio"),
        ({"cost_ratio": math.inf}, "cost_ratio"),
        ({"specificity": (0.9, 0.8)}, "specificity"),
        ({"sensitivity": (0.9, 1.2)}, "sensitivity"),
        ({"specificity": 0.9}, "specificity"),
        ({"missing": "impute"}, "`missing` must be 'refuse' or 'drop'"),
        ({"clusters": CLUSTERS[:-1]}, "clusters and labels differ in length"),
        ({"folds": PLACES[:-1] % 2}, "folds and labels differ in length"),
        ({"imputed": {"m": ["score"]}}, "needs two columns or more"),
        ({"imputed": {"m": "score"}}, "needs two columns or more"),
        ({"imputed": {"m": ["score", "other"]}}, "'other', which is not among the scores"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        confide.evaluate(LABELS, FIRST, **given)


def test_names_of_imputed_models_that_clash_are_refused() -> None:
    scores = {"a": FIRST, "b": SECOND, "c": FIRST}
    with pytest.raises(ParameterError, match="'c', as a column of scores is"):
        confide.evaluate(LABELS, scores, imputed={"c": ["a", "b"]})
    with pytest.raises(ParameterError, match="named twice"):
        confide.evaluate(LABELS, scores, imputed={"m": ["a", "b"], "n": ["b", "c"]})
    with pytest.raises(ParameterError, match="named twice"):
        confide.evaluate(LABELS, scores, imputed={"m": ["a", "a"]})


def test_missing_clusters_folds_and_labels_are_refused() -> None:
    codes = CLUSTERS.astype(object)
    codes[3] = None
    with pytest.raises(DataError, match="some clusters are missing"):
        confide.evaluate(LABELS, FIRST, clusters=codes)
    with pytest.raises(DataError, match="some folds are missing"):
        confide.evaluate(LABELS, FIRST, folds=codes)
