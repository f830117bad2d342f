"""Every sampling design evaluates rows on which something does not exist, or almost."""

from __future__ import annotations

import json
import math
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import confide
from confide.errors import ConfideError
from tests.evaluation.design_rows import FIRST, LABELS, PLACES, Labels, Scores, even_folds, rows


# Rows on which something does not exist, or almost.
def _degenerate() -> dict[str, tuple[Labels, Scores]]:
    labels, scores, _ = rows(3, 24)
    few = np.array([False, True, True, False])
    return {
        "usual": (labels, scores),
        "separated": (labels, np.where(labels, 0.8, 0.1) + scores / 10.0),
        "reversed": (labels, np.where(labels, 0.1, 0.8) + scores / 10.0),
        "perfect": (labels, labels.astype(np.float64)),
        "some certain": (labels, np.where(PLACES[:24] % 4 == 0, np.round(scores), scores)),
        "constant": (labels, np.full(24, 0.3)),
        "all zero": (labels, np.zeros(24)),
        "all one": (labels, np.ones(24)),
        "no probabilities": (labels, 10.0 * scores - 3.0),
        "vanishing": (labels, scores * 1e-12),
        "huge": (labels, scores * 1e300),
        "one positive": (PLACES[:24] == 5, scores),
        "one negative": (PLACES[:24] != 5, scores),
        "four rows": (few, np.array([0.2, 0.7, 0.1, 0.4])),
        "two rows": (few[:2], np.array([0.2, 0.7])),
        "two tied rows": (few[:2], np.array([0.5, 0.5])),
    }


DEGENERATE = _degenerate()


def _designs(labels: Labels, scores: Scores) -> dict[str, tuple[Any, dict[str, Any]]]:
    place = np.arange(labels.size)
    models = {"a": scores, "b": scores[::-1].copy(), "c": np.roll(scores, 1)}
    pair = {"a": scores, "b": scores[::-1].copy()}
    half = place % 2
    return {
        "bootstrap": (scores, {"interval": "bootstrap", "replicates": 100}),
        "plain": (pair, {"interval": "plain"}),
        "equal models": ({"a": scores, "b": scores.copy()}, {}),
        "three models": (models, {}),
        "whole weights": (pair, {"weights": 1 + place % 3}),
        "weights": (scores, {"weights": 0.5 + place % 3, "groups": half}),
        "clusters": (pair, {"clusters": place % 7, "groups": half}),
        "one cluster": (pair, {"clusters": np.zeros(labels.size, dtype=np.int64)}),
        "redrawn clusters": (scores, {"clusters": place % 7, "replicates": 100}),
        "a cluster for each class": (pair, {"clusters": labels, "groups": half}),
        "a cluster for each row": (scores, {"clusters": place}),
        "sampling weights": (scores, {"survey_weights": 0.5 + place % 3, "groups": half}),
        "sampled clusters": (scores, {"survey_weights": 0.5 + place % 3, "clusters": place % 5, "groups": half}),
        "groups": (scores, {"groups": {"half": half, "third": place % 3}}),
        "groups of one class": (scores, {"groups": labels}),
        "groups of one row": (scores, {"groups": place}),
        "imputed": (pair, {"imputed": {"m": ["a", "b"]}, "groups": half}),
        "imputed clusters": (models, {"imputed": {"m": ["a", "b"]}, "clusters": place % 7}),
        "folds": (scores, {"folds": even_folds(labels), "groups": half}),
        "redrawn folds": (scores, {"folds": even_folds(labels), "replicates": 100}),
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("design", _designs(LABELS, FIRST))
def test_every_design_evaluates_rows_of_every_kind(design: str) -> None:
    """The result is strict JSON and text, without a warning of NumPy; one class in a fold is the only refusal."""
    for kind, (labels, scores) in DEGENERATE.items():
        models, extra = _designs(labels, scores)[design]
        probable = scores.min() >= 0.0 and scores.max() <= 1.0
        settings: dict[str, Any] = {
            "thresholds": [0.3, 0.5] if probable else [1.0],
            "specificity": (0.8, 1.0),
            "cost_ratio": 3.0,
        }
        call = partial(confide.evaluate, labels, models, **{"replicates": 0, **settings, **extra})
        if design.endswith("folds") and min(labels.sum(), (~labels).sum()) < 2:
            with pytest.raises(ConfideError, match=r"a fold has rows of one class only|folds must be at least two"):
                call()
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluation = call()
            json.dumps(evaluation.to_dict(), allow_nan=False)
            assert evaluation.to_text()
        assert all(math.isfinite(model.auc.value) for model in evaluation.models), kind
