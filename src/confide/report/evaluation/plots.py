"""Plots of an evaluation: curves, results and groups; and figures as files for a journal.

Up to six models share axes. More models get axes of their own, in which the others are grey. `DRAWINGS` lists all
plots, `available` those that an evaluation has, and `figure_size` the room that a plot needs.

Figures are as wide as one column (89 mm) or two (183 mm), with text of 5 to 8 points. SVG has text as outlines, so that
it looks the same where the font is missing. PDF embeds its fonts as TrueType (`pdf.fonttype` 42), which journals can
edit. PNG has 300 dots an inch. The same evaluation gives the same bytes.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.atomic_files import replacement
from confide.counts import ScoreCounts
from confide.errors import ConfideWarning, ParameterError
from confide.evaluation.evaluation import Evaluation, GroupEvaluation, ModelEvaluation
from confide.intervals.resample import Band, curve_bands, decision_bands
from confide.report import curves
from confide.report.numbers import distinct, estimate_text, number, percent
from confide.report.style import (
    COLOURS,
    GREY,
    LIGHT_GREY,
    Drawing,
    drawn_figure,
    house_style,
    marker,
    small_multiples,
    style,
)
from confide.tasks.output_files import check_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


MOST_TOGETHER = 6
"""Lines of more models cannot be told apart in the same axes."""

_NAME_LETTERS, _LABEL_LETTERS = 80, 58
_PANEL_WIDTH, _PANEL_HEIGHT = 2.45, 2.4  # inches
_TITLE_LINE = 0.16
_TITLE_LETTERS, _LINE_LETTERS, _GROUP_LETTERS = 28, 34, 80


def model_names(evaluation: Evaluation) -> list[str]:
    """Return the names of all models, cut where they are very long, and different."""
    return distinct([model.score for model in evaluation.models], _NAME_LETTERS)


def probability_models(evaluation: Evaluation) -> list[tuple[int, ModelEvaluation]]:
    """Return the models whose scores are probabilities, with their positions."""
    return [(i, model) for i, model in enumerate(evaluation.models) if model.counts.probabilities]


def wrapped_label(name: str, words: str) -> str:
    """Return a legend entry, on several lines if it is long."""
    label = f"{name}: {words}" if words else name
    return "\n".join(textwrap.wrap(label, _LABEL_LETTERS, break_on_hyphens=False)) or label


def group_names(evaluation: Evaluation) -> list[str]:
    """Return the names of the groups that have both classes, different and not too long."""
    return distinct([group.group for group in evaluation.groups if group.models], _GROUP_LETTERS)


def beside(name: str) -> str:
    """Return a name on as many lines as it needs beside a plot."""
    return "\n".join(textwrap.wrap(name, _LINE_LETTERS)) or name


def above(name: str) -> str:
    """Return a name on as many lines as it needs above a panel."""
    return "\n".join(textwrap.wrap(name, _TITLE_LETTERS)) or name


def label_lines(label: str) -> int:
    """Return the number of lines of a legend entry."""
    return label.count("\n") + 1


def columns_of(panels: int) -> int:
    """Return the number of columns that leaves the fewest gaps in a grid of panels."""
    if panels <= 4:
        return min(panels, 2)
    return min((4, 3), key=lambda columns: (-panels % columns, -columns))


def panels_size(titles: Sequence[str], *, extra: float = 0.0) -> tuple[float, float]:
    """Return the size of a grid of panels in inches. `extra` is what each needs besides its axes and title."""
    columns = columns_of(len(titles))
    rows = [titles[start : start + columns] for start in range(0, len(titles), columns)]
    lines = sum(max(map(label_lines, row)) for row in rows)
    return 0.5 + columns * _PANEL_WIDTH, 0.8 + len(rows) * (_PANEL_HEIGHT + extra) + _TITLE_LINE * lines


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


FORMATS = ("svg", "pdf", "png")
ONE_COLUMN, TWO_COLUMNS = 89.0, 183.0
"""Widths of figures in millimetres."""

_GLYPH = re.compile("Glyph .* missing from")  # how matplotlib warns
_INCH = 25.4  # millimetres
_WIDE = 6.0  # inches on a page, from which a figure takes two columns
_DOTS = 300  # an inch
_LARGEST_TEXT, _SMALLEST_TEXT, _THICKEST_LINE, _LARGEST_MARK = 8.0, 5.0, 1.2, 3.5  # points

_SETTINGS: Any = {
    "font.size": 7,
    "axes.titlesize": 8,
    "legend.fontsize": 6,
    "axes.linewidth": 0.6,
    "axes.titlepad": 4,
    "axes.labelpad": 2.5,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.dpi": _DOTS,
}

# No clock and no program in a file: the same evaluation gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def journal_size(evaluation: Evaluation, name: str) -> tuple[float, float]:
    """Return width and height of a figure in millimetres: one column, or two if it is wide on a page."""
    width, height = figure_size(evaluation, name)
    column = ONE_COLUMN if width < _WIDE else TWO_COLUMNS
    return column, column * height / width


def write_figures(
    evaluation: Evaluation,
    folder: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    source: str | Path | None = None,
) -> tuple[Path, ...]:
    """Write every figure that applies to an evaluation, and return the files.

    The folder is made if it does not exist. Files that an earlier run wrote are replaced, each in one step. `source` is
    the file that was evaluated: a figure never overwrites it.
    """
    folder = Path(folder)
    check_figures(folder, formats=formats, source=source)
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(path for name in available(evaluation) for path in _write(name, evaluation, folder / name, formats))


def check_figures(folder: Path, *, formats: Sequence[str] = FORMATS, source: str | Path | None = None) -> None:
    """Refuse formats and folders that `write_figures` cannot write, before anything is computed."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise ParameterError(f"`formats` must be some of {', '.join(FORMATS)}; got {', '.join(unknown) or 'none'}")
    check_folder(folder, [f"{name}.{kind}" for name in DRAWINGS for kind in formats], source)


def _write(name: str, evaluation: Evaluation, stem: Path, formats: Sequence[str]) -> Iterator[Path]:
    with _journal_style():
        drawn = _drawn(name, evaluation)
        for kind in dict.fromkeys(formats):
            path = stem.with_suffix(f".{kind}")
            with replacement(path) as unfinished, _one_warning_for_missing_letters():
                drawn.savefig(unfinished, format=kind, metadata=_METADATA[kind])
            yield path


@contextmanager
def _journal_style() -> Iterator[None]:
    import matplotlib

    with house_style(), matplotlib.rc_context(_SETTINGS):
        yield


def _drawn(name: str, evaluation: Evaluation) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = journal_size(evaluation, name)
    drawn = Figure(figsize=(width / _INCH, height / _INCH), layout=ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.03))
    DRAWINGS[name](drawn.subplots(), evaluation)
    _reduce(drawn)
    return drawn


def _reduce(figure: Figure) -> None:
    """Bring text, lines and marks that drawings size for a page to the sizes of a journal."""
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontsize(min(max(text.get_fontsize(), _SMALLEST_TEXT), _LARGEST_TEXT))
    for line in figure.findobj(Line2D):
        line.set_linewidth(min(line.get_linewidth(), _THICKEST_LINE))
        line.set_markersize(min(line.get_markersize(), _LARGEST_MARK))


@contextmanager
def _one_warning_for_missing_letters() -> Iterator[None]:
    """Warn once if names have letters that the figures' font lacks; matplotlib warns for every letter."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = [warning for warning in caught if _GLYPH.match(str(warning.message))]
    for other in (warning for warning in caught if warning not in missing):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if missing:
        warnings.warn(
            "a name has letters that the font of the figures lacks; they are drawn as boxes. Rename the column or "
            "group in Latin letters for these files",
            ConfideWarning,
            stacklevel=2,
        )
