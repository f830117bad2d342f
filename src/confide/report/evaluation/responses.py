"""Scores of a fitted classifier, chosen as scikit-learn's displays choose them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError, UsageError

AUTO = "auto"
RESPONSES = ("predict_proba", "decision_function")


def classifier_scores(
    estimator: Any, features: Any, *, response_method: str, pos_label: object, allowed: Sequence[str] = RESPONSES
) -> tuple[NDArray[np.float64], object]:
    """Return the score of each row and the positive label, which by default is the second of `classes_`.

    `response_method` is the method to call; "auto" calls the first of `allowed` that the estimator has.
    """
    method = _method(estimator, response_method, allowed)
    classes = list(getattr(estimator, "classes_", ()))
    if len(classes) != 2:
        raise UsageError(f"`estimator` must be a fitted classifier of two classes; it has {len(classes)} in classes_")
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes:
        raise ParameterError(f"`pos_label` must be one of the classes {classes}; got {pos_label!r}")
    column = classes.index(positive)
    response = np.asarray(getattr(estimator, method)(features), dtype=np.float64)
    if method == "predict_proba":
        return response[:, column], positive
    return response if column == 1 else -response, positive


def _method(estimator: Any, wanted: str, allowed: Sequence[str]) -> str:
    if wanted != AUTO and wanted not in allowed:
        raise ParameterError(f"`response_method` must be one of {[AUTO, *allowed]}; got {wanted!r}")
    names = allowed if wanted == AUTO else (wanted,)
    available = [name for name in names if hasattr(estimator, name)]
    if not available:
        raise UsageError(f"{type(estimator).__name__} has no {' or '.join(names)}; use `from_predictions` with scores")
    return available[0]
