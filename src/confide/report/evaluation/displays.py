"""Scores of a fitted classifier, chosen as scikit-learn's displays choose them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import ScoreCounts
from confide.errors import ParameterError, UsageError
from confide.intervals.resample import Band, curve_bands
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from confide.report import curves
from confide.report.style import house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


_MODEL = "confide-model"


@dataclass(slots=True, kw_only=True)
class _Display(ABC):
    """Plot of one curve of one model. `plot` sets `ax_`, `figure_` and `line_`."""

    counts: ScoreCounts = field(repr=False)
    name: str = "score"
    level: float | None = 0.95
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    line_: Any = field(default=None, init=False, repr=False)
    responses: ClassVar[tuple[str, ...]] = RESPONSES
    size: ClassVar[tuple[float, float]] = (5.4, 6.0)

    @classmethod
    def from_counts(
        cls,
        counts: ScoreCounts,
        *,
        name: str = "score",
        ax: Axes | None = None,
        level: float | None = 0.95,
        **line: Any,
    ) -> Self:
        """Draw from counts. `level` is the level of the band; None draws no band."""
        return cls(counts=counts, name=name, level=level).plot(ax=ax, **line)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: object = None,
        name: str = "score",
        ax: Axes | None = None,
        level: float | None = 0.95,
        **line: Any,
    ) -> Self:
        """Draw from labels and scores."""
        counts = ScoreCounts.from_arrays(y_true, y_score, sample_weight, positive=pos_label)
        return cls.from_counts(counts, name=name, ax=ax, level=level, **line)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803  # scikit-learn's name
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        response_method: str = AUTO,
        pos_label: object = None,
        name: str | None = None,
        ax: Axes | None = None,
        level: float | None = 0.95,
        **line: Any,
    ) -> Self:
        """Draw from a fitted classifier and its test data.

        `response_method` is "predict_proba", "decision_function" or "auto", which takes the first that the estimator
        has. Calibration and decision curves need probabilities and take "predict_proba" only. `pos_label` is by
        default the second of the estimator's `classes_`, and `name` the name of its class.
        """
        scores, positive = classifier_scores(
            estimator, X, response_method=response_method, pos_label=pos_label, allowed=cls.responses
        )
        return cls.from_predictions(
            y,
            scores,
            sample_weight=sample_weight,
            pos_label=positive,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            level=level,
            **line,
        )

    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw on the given axes or on a new figure. A second curve on the same axes gets the next colour."""
        import matplotlib.pyplot as plt

        if ax is None:
            # pyplot may load its backend here; inside the style, the backend's settings would be taken back.
            figure = plt.figure(figsize=self.size, layout="constrained")
            with house_style():
                axes = figure.subplots()
                axes.set_anchor("N")  # spare room lies below the legend
                return self._plotted(axes, line)
        with house_style():
            return self._plotted(ax, line)

    def _plotted(self, ax: Axes, line: dict[str, Any]) -> Self:
        index = sum(1 for drawn in ax.lines if drawn.get_gid() == _MODEL)
        for drawn in list(ax.lines):
            if drawn.get_gid() != _MODEL and str(drawn.get_label()).startswith(curves.FURNITURE):
                drawn.remove()
        self.line_ = self._draw(ax, index, line)
        self.line_.set_gid(_MODEL)
        self._finish(ax, index)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @abstractmethod
    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        """Draw the curve and return its line."""

    @abstractmethod
    def _finish(self, ax: Axes, index: int) -> None:
        """Draw the lines that belong to no model, and the legend."""

    def _band(self, which: int) -> Band | None:
        if self.level is None or self.counts.weighted:
            return None
        return curve_bands(self.counts, level=self.level, rng=np.random.default_rng(0))[which]


class RocCurveDisplay(_Display):
    """ROC curve with its pointwise bootstrap band."""

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        label = f"{self.name}: AUC {auc_score(self.counts):.3f}"
        return curves.roc_line(ax, self.counts, index, label=label, band=self._band(0), **line)

    def _finish(self, ax: Axes, index: int) -> None:
        curves.finish_roc(ax)


class PrecisionRecallDisplay(_Display):
    """Precision-recall curve with its band and the unachievable region."""

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        label = f"{self.name}: AP {average_precision_score(self.counts):.3f}"
        return curves.pr_line(ax, self.counts, index, label=label, band=self._band(1), **line)

    def _finish(self, ax: Axes, index: int) -> None:
        curves.finish_pr(ax, self.counts.prevalence)


class CalibrationDisplay(_Display):
    """Calibration curve, smooth and in bins, with the distribution of scores."""

    responses = ("predict_proba",)
    size = (5.4, 7.2)

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        return curves.calibration_line(ax, self.counts, index, label=self.name, level=self.level or 0.95, **line)

    def _finish(self, ax: Axes, index: int) -> None:
        curves.finish_calibration(ax, [(index, self.counts)])


class DecisionCurveDisplay(_Display):
    """Decision curve with treating everybody and nobody."""

    responses = ("predict_proba",)
    size = (5.4, 5.0)

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        return curves.decision_line(ax, self.counts, index, label=self.name, **line)

    def _finish(self, ax: Axes, index: int) -> None:
        curves.finish_decision(ax, self.counts)
