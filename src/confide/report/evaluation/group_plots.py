"""Plots of an evaluation by group: AUC of each model, and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation
from confide.report.evaluation.plot_parts import (
    MOST_TOGETHER,
    above,
    beside,
    columns_of,
    group_names,
    label_lines,
    model_names,
    panels_size,
    probability_models,
    wrapped_label,
)
from confide.report.shared import curves
from confide.report.shared.numbers import percent
from confide.report.shared.style import GREY, LIGHT_GREY, marker, small_multiples, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_GROUPS = 24  # panels of calibration
_SHORT_NAME = 30  # letters
_ALL = "all rows"
_STRIPE = "#f4f4f4"


def has_groups(evaluation: Evaluation) -> bool:
    """Return whether AUC is known in some group."""
    return any(group.models for group in evaluation.groups)


def has_group_calibration(evaluation: Evaluation) -> bool:
    """Return whether calibration can be drawn by group: at most six models, and groups that fit a page."""
    groups = sum(bool(group.models) for group in evaluation.groups)
    return 0 < groups <= _MOST_GROUPS and 0 < len(probability_models(evaluation)) <= MOST_TOGETHER


def draw_forest(ax: Axes, evaluation: Evaluation) -> None:
    """Draw AUC with its interval for all rows and for each group and model.

    Up to six models are drawn below each other in each group. More models get a column each.
    """
    entries, xlabel = _entries(evaluation), f"AUC with {percent(evaluation.level)} interval"
    names, title = model_names(evaluation), "AUC by group"
    if len(evaluation.models) > MOST_TOGETHER:
        columns = columns_of(len(names))
        panels = small_multiples(ax, [above(name) for name in names], columns=columns, title=title, axes=(xlabel, ""))
        for i, panel in enumerate(panels):
            _forest(panel, [(name, [(0, models[i])]) for name, models in entries], [names[i]])
        return
    _forest(ax, [(name, list(enumerate(models))) for name, models in entries], names)
    ax.set_xlabel(xlabel)
    ax.set_title(title)
    if len(names) > 1:
        curves.legend_below(ax, *ax.get_legend_handles_labels(), inches=0.55, columns=_legend_columns(names))


def _legend_columns(names: list[str]) -> int:
    return 2 if max(len(name) for name in names) < _SHORT_NAME else 1


def _entries(evaluation: Evaluation) -> list[tuple[str, tuple[ModelEvaluation, ...]]]:
    judged = [group for group in evaluation.groups if group.models]
    named = zip(map(beside, group_names(evaluation)), judged, strict=True)
    return [(_ALL, evaluation.models), *((name, group.models) for name, group in named)]


def _forest(ax: Axes, entries: list[tuple[str, list[tuple[int, ModelEvaluation]]]], names: list[str]) -> None:
    """Draw points and intervals; each entry is a group with its models and their positions."""
    step = 0.8 / len(names)
    for row, (_, models) in enumerate(entries):
        if row % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=_STRIPE, linewidth=0, zorder=0)
        for i, model in models:
            y = row + (i - (len(names) - 1) / 2) * min(0.24, step)
            look: dict[str, Any] = {"color": style(i)["color"]}
            interval = model.auc.interval
            if interval is not None:
                ax.plot([interval.lower, interval.upper], [y, y], linewidth=1.6, solid_capstyle="butt", **look)
            label = wrapped_label(names[i], "") if row == 0 else None
            ax.plot([model.auc.value], [y], marker=marker(i), markersize=5.5, linestyle="none", label=label, **look)
    ax.axvline(0.5, color=GREY, linewidth=0.9, linestyle=":")
    ax.set_yticks(range(len(entries)), [name for name, _ in entries])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(entries) - 0.5, -0.5)
    ax.grid(True, axis="x")
    ax.set_axisbelow(True)


def forest_size(evaluation: Evaluation) -> tuple[float, float]:
    """Return the size of the forest in inches, so that neither points nor labels touch each other."""
    entries, models = _entries(evaluation), len(evaluation.models)
    tallest = max(label_lines(name) for name, _ in entries)
    if models > MOST_TOGETHER:
        columns = columns_of(models)
        row = 0.08 + 0.17 * tallest
        return 1.6 + columns * 2.0, 0.8 + -(-models // columns) * (0.7 + row * len(entries))
    row = max(0.08 + 0.17 * tallest, 0.12 + 0.14 * models)
    return 7.0, 1.2 + row * len(entries) + (0.2 * models if models > 1 else 0.0)


def draw_calibration_groups(ax: Axes, evaluation: Evaluation) -> None:
    """Draw calibration in each group, one panel a group.

    One model has its band and bins, before the curve of all rows in grey. Several models have their smooth curves.
    """
    judged = [group for group in evaluation.groups if group.models]
    chosen = probability_models(evaluation)
    panels = small_multiples(
        ax,
        [above(name) for name in group_names(evaluation)],
        columns=columns_of(len(judged)),
        title="Calibration by group",
        axes=curves.CALIBRATION_LABELS,
    )
    names, everyone = model_names(evaluation), [model.counts for _, model in chosen]
    for panel, group in zip(panels, judged, strict=True):
        if len(chosen) == 1:
            _with_bins(panel, evaluation, chosen[0], group)
        else:
            for i, _ in chosen:
                curves.smooth_calibration_line(panel, group.models[i].counts, i, label=wrapped_label(names[i], ""))
        curves.calibration_reference(panel, everyone)
    handles, labels = panels[0].get_legend_handles_labels()
    holder = panels[0].get_figure(root=False)
    if holder is not None:
        holder.legend(handles, labels, loc="outside lower left", ncols=_legend_columns(labels))


def _with_bins(ax: Axes, evaluation: Evaluation, chosen: tuple[int, ModelEvaluation], group: GroupEvaluation) -> None:
    """Draw one model in a group, before its curve in all rows."""
    i, model = chosen
    curves.calibration_line(ax, group.models[i].counts, i, label="group", level=evaluation.level)
    look = {"color": LIGHT_GREY, "linestyle": "-", "linewidth": 1.4, "zorder": 1.5}
    curves.smooth_calibration_line(ax, model.counts, i, label=_ALL, **look)


def calibration_groups_size(evaluation: Evaluation) -> tuple[float, float]:
    """Return the size of the panels in inches, with room for their names and the legend."""
    width, height = panels_size([above(name) for name in group_names(evaluation)])
    lines = 2 + len(evaluation.models) / _legend_columns(model_names(evaluation))
    return width, height + 0.19 * lines - 0.2
