"""`from_estimator` draws what `from_predictions` draws from the estimator's scores, as scikit-learn's displays do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import confide
from confide.errors import ParameterError, UsageError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.where(X[:, 0] + RNG.normal(size=200) > 0.3, "sick", "well")
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
MACHINE = LinearSVC().fit(X, Y)

RANKING: tuple[Any, ...] = (confide.RocCurveDisplay, confide.PrecisionRecallDisplay)
RISKS: tuple[Any, ...] = (confide.CalibrationDisplay, confide.DecisionCurveDisplay)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.parametrize("display", [*RANKING, *RISKS])
@pytest.mark.parametrize(("pos_label", "column"), [(None, 1), ("well", 1), ("sick", 0)])
def test_the_same_curve_as_from_predictions(display: Any, pos_label: str | None, column: int) -> None:
    drawn = display.from_estimator(MODEL, X, Y, pos_label=pos_label, level=None)
    label = pos_label or "well"
    same = display.from_predictions(Y, MODEL.predict_proba(X)[:, column], pos_label=label, level=None)
    np.testing.assert_array_equal(drawn.line_.get_ydata(), same.line_.get_ydata())
    assert drawn.name == "Pipeline"


@pytest.mark.parametrize(("estimator", "name"), [(MODEL, "predict_proba"), (MACHINE, "decision_function")])
@pytest.mark.parametrize("pos_label", ["sick", "well"])
def test_the_area_is_that_of_scikit_learn(estimator: Any, name: str, pos_label: str) -> None:
    for method in ("auto", name):
        drawn = confide.RocCurveDisplay.from_estimator(
            estimator, X, Y, response_method=method, pos_label=pos_label, name="model", level=None
        )
        theirs = metrics.RocCurveDisplay.from_estimator(estimator, X, Y, pos_label=pos_label)
        assert confide.auc_score(drawn.counts) == pytest.approx(theirs.roc_auc)
        assert drawn.name == "model"


def test_a_second_model_is_drawn_on_the_same_axes() -> None:
    first = confide.RocCurveDisplay.from_estimator(MODEL, X, Y, level=None)
    second = confide.RocCurveDisplay.from_estimator(MACHINE, X, Y, ax=first.ax_, level=None)
    assert second.ax_ is first.ax_
    assert second.line_.get_color() != first.line_.get_color()


@pytest.mark.parametrize("display", RISKS)
def test_risks_are_never_taken_from_a_decision_function(display: Any) -> None:
    with pytest.raises(UsageError, match="LinearSVC has no predict_proba"):
        display.from_estimator(MACHINE, X, Y)
    with pytest.raises(ParameterError, match="response_method"):
        display.from_estimator(MODEL, X, Y, response_method="decision_function")


def test_what_cannot_be_drawn_is_refused_with_the_next_step() -> None:
    draw = confide.RocCurveDisplay.from_estimator
    with pytest.raises(UsageError, match="from_predictions"):
        draw(LinearRegression().fit(X, X[:, 0]), X, Y)
    with pytest.raises(UsageError, match="two classes"):
        draw(LogisticRegression().fit(X, np.arange(200) % 3), X, Y)
    with pytest.raises(ParameterError, match="pos_label"):
        draw(MODEL, X, Y, pos_label="ill")
