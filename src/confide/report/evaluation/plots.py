"""Plots of an evaluation: ROC, precision-recall, calibration and decision curves, and AUC by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.counts import ScoreCounts
from confide.evaluation.evaluation import Evaluation, ModelEvaluation
from confide.intervals.bands import Band, curve_bands
from confide.intervals.interval import Estimate
from confide.report.shared.curves import (
    calibration_line,
    decision_line,
    finish_calibration,
    finish_decision,
    finish_pr,
    finish_roc,
    pr_line,
    roc_line,
)
from confide.report.shared.numbers import estimate_text, percent
from confide.report.shared.style import GREY, Drawing, drawn_figure, marker, shortened, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAND_SEED = 0  # the same data must give the same plot


def plot_evaluation(evaluation: Evaluation) -> Figure:
    """Draw all curves in one figure: ROC and PR, and calibration and decision where scores are probabilities."""
    drawings: list[Drawing] = [draw_roc, draw_pr]
    if any(model.counts.probabilities for model in evaluation.models):
        drawings += [draw_calibration, draw_decision]
    return drawn_figure([(draw, evaluation) for draw in drawings], size=(5.25, 5.5), columns=2)


def draw_roc(ax: Axes, evaluation: Evaluation) -> None:
    """Draw the ROC curve of each model with its band."""
    for i, model in enumerate(evaluation.models):
        band = _bands(model.counts, evaluation.level)
        roc_line(ax, model.counts, i, label=_estimate_label(model.score, "AUC", model.auc), band=band and band[0])
    finish_roc(ax)
    ax.set_title("ROC")


def draw_pr(ax: Axes, evaluation: Evaluation) -> None:
    """Draw the precision-recall curve of each model with its band, and the unachievable region."""
    for i, model in enumerate(evaluation.models):
        band = _bands(model.counts, evaluation.level)
        label = _estimate_label(model.score, "AP", model.average_precision)
        pr_line(ax, model.counts, i, label=label, band=band and band[1])
    finish_pr(ax, evaluation.prevalence)
    ax.set_title("Precision–recall")


def draw_calibration(ax: Axes, evaluation: Evaluation) -> None:
    """Draw observed shares against scores, smooth and in bins, with the distribution of scores below."""
    chosen = [(i, model) for i, model in enumerate(evaluation.models) if model.counts.probabilities]
    for i, model in chosen:
        calibration_line(ax, model.counts, i, label=_calibration_label(model), level=evaluation.level)
    finish_calibration(ax, [(i, model.counts) for i, model in chosen])
    ax.set_title("Calibration")


def draw_decision(ax: Axes, evaluation: Evaluation) -> None:
    """Draw net benefit against the threshold probability, with treating everybody and nobody."""
    chosen = [(i, model) for i, model in enumerate(evaluation.models) if model.counts.probabilities]
    for i, model in chosen:
        decision_line(ax, model.counts, i, label=shortened(model.score))
    finish_decision(ax, chosen[0][1].counts)
    ax.set_title("Decision curve")


def draw_forest(ax: Axes, evaluation: Evaluation) -> None:
    """Draw AUC with its interval for all rows and for each group and model."""
    models = evaluation.models
    entries = [("all rows", models), *((group.group, group.models) for group in evaluation.groups if group.models)]
    for row, (_, group) in enumerate(entries):
        for i, model in enumerate(group):
            y = row + (i - (len(models) - 1) / 2) * min(0.22, 0.8 / len(models))
            interval = model.auc.interval
            if interval is not None:
                ax.plot([interval.lower, interval.upper], [y, y], color=style(i)["color"], linewidth=1.6)
            point = {"marker": marker(i), "markersize": 6, "color": style(i)["color"], "linestyle": "none"}
            ax.plot([model.auc.value], [y], label=shortened(model.score) if row == 0 else None, **point)
    ax.axvline(0.5, color=GREY, linewidth=0.9, linestyle=":")
    ax.set_yticks(range(len(entries)), [shortened(name) for name, _ in entries])
    ax.set_ylim(len(entries) - 0.5, -0.5)
    ax.set_xlabel(f"AUC with {percent(evaluation.level)} interval")
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)
    ax.set_title("AUC by group")
    ax.legend(loc="best")


def _bands(counts: ScoreCounts, level: float) -> tuple[Band, Band] | None:
    if counts.weighted:
        return None
    return curve_bands(counts, level=level, rng=_BAND_SEED)


def _estimate_label(name: str, what: str, estimate: Estimate) -> str:
    return f"{shortened(name)}: {what} {estimate_text(estimate, joined='–')}"


def _calibration_label(model: ModelEvaluation) -> str:
    if model.calibration is None or model.calibration.slope is None:
        return shortened(model.score)
    return f"{shortened(model.score)}: slope {model.calibration.slope:.2f}"
