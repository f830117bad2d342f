"""Plots of an evaluation: ROC, precision-recall, calibration and decision curves, and results by group.

Up to six models share axes. More models get axes of their own, in which the others are grey. `DRAWINGS` lists all
plots, `available` those that an evaluation has, and `figure_size` the room that a plot needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import ScoreCounts
from confide.evaluation.evaluation import Evaluation, ModelEvaluation
from confide.intervals.bands import Band, curve_bands, decision_bands
from confide.report.evaluation.group_plots import (
    calibration_groups_size,
    draw_calibration_groups,
    draw_forest,
    forest_size,
    has_group_calibration,
    has_groups,
)
from confide.report.evaluation.plot_parts import (
    MOST_TOGETHER,
    above,
    columns_of,
    label_lines,
    model_names,
    panels_size,
    probability_models,
    wrapped_label,
)
from confide.report.shared import curves
from confide.report.shared.numbers import estimate_text, number
from confide.report.shared.style import COLOURS, LIGHT_GREY, Drawing, drawn_figure, small_multiples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = [
    "DRAWINGS",
    "available",
    "draw_calibration",
    "draw_calibration_groups",
    "draw_decision",
    "draw_forest",
    "draw_pr",
    "draw_roc",
    "figure_size",
    "plot_evaluation",
]

_BAND_SEED = 0  # the same data must give the same plot
_WIDTH, _LINE = 5.4, 0.195  # inches: a figure, and a line of its legend
_FEW = 3  # models whose bands can be told apart
_BELOW_DISTRIBUTION = -0.38  # of the height of the axes
_OUTLINE = 60  # points of a line in the background


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """A kind of curve: its words and limits, and how one model's line is drawn."""

    title: str
    axes: tuple[str, str]
    label: Callable[[ModelEvaluation], str]
    line: Callable[..., Line2D]
    finish: Callable[[Axes, Evaluation], None]
    reference: Callable[[Axes, Evaluation, int], None]
    probabilities: bool = False
    together: int = MOST_TOGETHER
    height: float  # inches, without the legend
    extra: float = 0.0  # inches of a small panel beyond its axes

    def models(self, evaluation: Evaluation) -> list[tuple[int, ModelEvaluation]]:
        """Return the models that have this curve, with their positions."""
        return probability_models(evaluation) if self.probabilities else list(enumerate(evaluation.models))


def draw_roc(ax: Axes, evaluation: Evaluation) -> None:
    """Draw the ROC curve of each model with its band."""
    _draw(ax, evaluation, _ROC)


def draw_pr(ax: Axes, evaluation: Evaluation) -> None:
    """Draw the precision-recall curve of each model with its band, and the unachievable region."""
    _draw(ax, evaluation, _PR)


def draw_calibration(ax: Axes, evaluation: Evaluation) -> None:
    """Draw observed shares against scores, smooth and in bins, with the distribution of scores below."""
    _draw(ax, evaluation, _CALIBRATION)


def draw_decision(ax: Axes, evaluation: Evaluation) -> None:
    """Draw net benefit against the threshold probability, with treating everybody and nobody."""
    _draw(ax, evaluation, _DECISION)


def _draw(ax: Axes, evaluation: Evaluation, curve: _Curve) -> None:
    chosen = curve.models(evaluation)
    if len(chosen) > curve.together:
        _draw_apart(ax, evaluation, curve, chosen)
        return
    names = model_names(evaluation)
    for i, model in chosen:
        curve.line(ax, evaluation, model, i, label=wrapped_label(names[i], curve.label(model)))
    curve.finish(ax, evaluation)
    ax.set_title(curve.title)


def _draw_apart(ax: Axes, evaluation: Evaluation, curve: _Curve, chosen: Sequence[tuple[int, ModelEvaluation]]) -> None:
    """Draw each model in axes of its own, before the others in grey."""
    names, titles = model_names(evaluation), _titles(evaluation, curve)
    panels = small_multiples(
        ax, titles, columns=columns_of(len(chosen)), title=f"{curve.title} (grey: the other models)", axes=curve.axes
    )
    look = {"color": COLOURS[0], "linestyle": "-", "linewidth": 1.6}
    lines = [
        curve.line(panel, evaluation, model, i, label=names[i], **look)
        for panel, (i, model) in zip(panels, chosen, strict=True)
    ]
    outlines = [_outline(line) for line in lines]
    for position, panel in enumerate(panels):
        for outline in (each for place, each in enumerate(outlines) if place != position):
            panel.plot(*outline, color=LIGHT_GREY, linewidth=0.8, zorder=1.5)
        curve.reference(panel, evaluation, position)


def _titles(evaluation: Evaluation, curve: _Curve) -> list[str]:
    names = model_names(evaluation)
    return [f"{above(names[i])}\n{curve.label(model)}".rstrip() for i, model in curve.models(evaluation)]


def _outline(line: Line2D) -> tuple[Any, Any]:
    x, y = (np.asarray(values) for values in line.get_data())
    keep = np.unique(np.linspace(0, x.size - 1, min(x.size, _OUTLINE)).round().astype(np.int64))
    return x[keep], y[keep]


def _bands(counts: ScoreCounts, level: float) -> tuple[Band | None, Band | None]:
    if counts.weighted:
        return None, None
    return curve_bands(counts, level=level, rng=_BAND_SEED)


def _shade(evaluation: Evaluation) -> float:
    """Return the opacity of bands: fainter where many overlap."""
    return 0.06 if _FEW < len(evaluation.models) <= MOST_TOGETHER else curves.SHADE


def _roc_line(ax: Axes, evaluation: Evaluation, model: ModelEvaluation, index: int, **look: Any) -> Line2D:
    band = _bands(model.counts, evaluation.level)[0]
    line: Line2D = curves.roc_line(ax, model.counts, index, band=band, shade=_shade(evaluation), **look)
    return line


def _pr_line(ax: Axes, evaluation: Evaluation, model: ModelEvaluation, index: int, **look: Any) -> Line2D:
    band = _bands(model.counts, evaluation.level)[1]
    line: Line2D = curves.pr_line(ax, model.counts, index, band=band, shade=_shade(evaluation), **look)
    return line


def _calibration_line(ax: Axes, evaluation: Evaluation, model: ModelEvaluation, index: int, **look: Any) -> Line2D:
    line: Line2D = curves.calibration_line(ax, model.counts, index, level=evaluation.level, **look)
    return line


def _decision_line(ax: Axes, evaluation: Evaluation, model: ModelEvaluation, index: int, **look: Any) -> Line2D:
    band = decision_bands(model.counts, curves.THRESHOLDS, level=evaluation.level)[0]
    line: Line2D = curves.decision_line(ax, model.counts, index, band=band, shade=_shade(evaluation), **look)
    return line


def _first_probabilities(evaluation: Evaluation) -> ScoreCounts:
    return probability_models(evaluation)[0][1].counts


def _finish_calibration(ax: Axes, evaluation: Evaluation) -> None:
    curves.finish_calibration(ax, [(i, model.counts) for i, model in probability_models(evaluation)])


def _calibration_reference(ax: Axes, evaluation: Evaluation, position: int) -> None:
    every = [model.counts for _, model in probability_models(evaluation)]
    end = curves.calibration_reference(ax, every)
    curves.distributions(ax, [(0, every[position])], end)
    ax.xaxis.set_label_coords(0.5, _BELOW_DISTRIBUTION)


def _slope(model: ModelEvaluation) -> str:
    if model.calibration is None or model.calibration.slope is None:
        return ""
    return f"slope {number(model.calibration.slope.value, 2)}"


_ROC = _Curve(
    title="ROC",
    axes=curves.ROC_LABELS,
    label=lambda model: f"AUC {estimate_text(model.auc, joined='–')}",
    line=_roc_line,
    finish=lambda ax, evaluation: curves.finish_roc(ax),
    reference=lambda ax, evaluation, position: curves.roc_reference(ax),
    height=5.62,
)
_PR = _Curve(
    title="Precision–recall",
    axes=curves.PR_LABELS,
    label=lambda model: f"AP {estimate_text(model.average_precision, joined='–')}",
    line=_pr_line,
    finish=lambda ax, evaluation: curves.finish_pr(ax, evaluation.prevalence),
    reference=lambda ax, evaluation, position: curves.pr_reference(ax, evaluation.prevalence, word=False),
    height=5.62,
)
_CALIBRATION = _Curve(
    title="Calibration",
    axes=curves.CALIBRATION_LABELS,
    label=_slope,
    line=_calibration_line,
    finish=_finish_calibration,
    reference=_calibration_reference,
    probabilities=True,
    together=_FEW,  # bands and bins of more models hide each other
    height=6.8,
    extra=0.45,
)
_DECISION = _Curve(
    title="Decision curve",
    axes=curves.DECISION_LABELS,
    label=lambda model: "",
    line=_decision_line,
    finish=lambda ax, evaluation: curves.finish_decision(ax, _first_probabilities(evaluation)),
    reference=lambda ax, evaluation, position: curves.decision_reference(
        ax, _first_probabilities(evaluation), words=position == 0
    ),
    probabilities=True,
    height=4.75,
)
_CURVES = {"roc": _ROC, "pr": _PR, "calibration": _CALIBRATION, "decision": _DECISION}

DRAWINGS: dict[str, Drawing] = {
    "roc": draw_roc,
    "pr": draw_pr,
    "calibration": draw_calibration,
    "decision": draw_decision,
    "forest": draw_forest,
    "calibration_groups": draw_calibration_groups,
}
"""Plots of an evaluation by name."""


def available(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the names of the plots that an evaluation has."""
    curved = [name for name, curve in _CURVES.items() if curve.models(evaluation)]
    groups = ["forest"] if has_groups(evaluation) else []
    return (*curved, *groups, *(["calibration_groups"] if has_group_calibration(evaluation) else []))


def figure_size(evaluation: Evaluation, name: str) -> tuple[float, float]:
    """Return the size of a plot in inches: curves have axes of equal size, and room for the legend below."""
    if name == "forest":
        return forest_size(evaluation)
    if name == "calibration_groups":
        return calibration_groups_size(evaluation)
    curve, names = _CURVES[name], model_names(evaluation)
    chosen = curve.models(evaluation)
    if len(chosen) > curve.together:
        return panels_size(_titles(evaluation, curve), extra=curve.extra)
    lines = sum(label_lines(wrapped_label(names[i], curve.label(model))) for i, model in chosen)
    return _WIDTH, curve.height + _LINE * (lines + (curve is not _DECISION))


def plot_evaluation(evaluation: Evaluation) -> Figure:
    """Draw all curves in one figure: ROC and PR, and calibration and decision where scores are probabilities."""
    names = [name for name in available(evaluation) if name in _CURVES]
    sizes = [figure_size(evaluation, name) for name in names]
    size = max(width for width, _ in sizes), max(height for _, height in sizes)
    return drawn_figure([(DRAWINGS[name], evaluation) for name in names], size=size, columns=2)
