"""Displays as scikit-learn's users know them: `SomethingDisplay.from_predictions(labels, scores)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import ScoreCounts
from confide.intervals.bands import Band, curve_bands
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from confide.report.shared import curves
from confide.report.shared.style import house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MODEL = "confide-model"


@dataclass(slots=True, kw_only=True)
class _Display(ABC):
    """One curve of one score. `ax_`, `figure_` and `line_` are set by `plot`."""

    counts: ScoreCounts = field(repr=False)
    name: str = "score"
    level: float | None = 0.95
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    line_: Any = field(default=None, init=False, repr=False)

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
        """Draw from counts. `level` is that of the band; None draws no band."""
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

    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw on the given axes, or on a new figure; a second curve on the same axes gets the next colour."""
        import matplotlib.pyplot as plt

        with house_style():
            if ax is None:
                _, ax = plt.subplots(figsize=(5.4, 5.4), layout="constrained")
            index = sum(1 for drawn in ax.lines if drawn.get_gid() == _MODEL)
            for drawn in list(ax.lines):
                if drawn.get_gid() != _MODEL and str(drawn.get_label()).startswith(curves.FURNITURE):
                    drawn.remove()
            self.line_ = self._draw(ax, index, line)
            self.line_.set_gid(_MODEL)
            self._furnish(ax, index)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @abstractmethod
    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        """Draw the curve and return its line."""

    @abstractmethod
    def _furnish(self, ax: Axes, index: int) -> None:
        """Draw what stands beside the curves, and the legend."""

    def _band(self, which: int) -> Band | None:
        if self.level is None or self.counts.weighted:
            return None
        return curve_bands(self.counts, level=self.level, rng=np.random.default_rng(0))[which]


class RocCurveDisplay(_Display):
    """The ROC curve with its pointwise bootstrap band."""

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        label = f"{self.name}: AUC {auc_score(self.counts):.3f}"
        return curves.roc_line(ax, self.counts, index, label=label, band=self._band(0), **line)

    def _furnish(self, ax: Axes, index: int) -> None:
        curves.finish_roc(ax)


class PrecisionRecallDisplay(_Display):
    """The precision-recall curve with its band and the unachievable region."""

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        label = f"{self.name}: AP {average_precision_score(self.counts):.3f}"
        return curves.pr_line(ax, self.counts, index, label=label, band=self._band(1), **line)

    def _furnish(self, ax: Axes, index: int) -> None:
        curves.finish_pr(ax, self.counts.prevalence)


class CalibrationDisplay(_Display):
    """The calibration curve, smooth and binned, with the distribution of scores."""

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        return curves.calibration_line(ax, self.counts, index, label=self.name, level=self.level or 0.95, **line)

    def _furnish(self, ax: Axes, index: int) -> None:
        curves.finish_calibration(ax, [(index, self.counts)])


class DecisionCurveDisplay(_Display):
    """The decision curve beside treating everybody and nobody."""

    def _draw(self, ax: Axes, index: int, line: dict[str, Any]) -> Any:
        return curves.decision_line(ax, self.counts, index, label=self.name, **line)

    def _furnish(self, ax: Axes, index: int) -> None:
        curves.finish_decision(ax, self.counts)
