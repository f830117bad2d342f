"""Curves of a validation: all rows together, and each site's own where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.counts import FloatArray
from confide.federation.modes.registry import mode_of
from confide.report.shared.curves import finish_pr, finish_roc, pr_joined, thinned
from confide.report.shared.names import distinct
from confide.report.shared.numbers import estimate_text, number, percent
from confide.report.shared.style import COLOURS, GREY, Drawing, drawn_figure
from confide.report.validation.calibration_plots import draw_calibration
from confide.report.validation.plot_data import PlotData, legend_below, with_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from confide.federation.coordinator.validation import Validation

MOST_NAMED = 10
"""Lines of more sites cannot be told apart in one plot, so all are grey."""

_POOLED = COLOURS[0]

_SITE_COLOURS = (COLOURS[1], COLOURS[2], COLOURS[3], COLOURS[4], COLOURS[5])

_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)))

_BAND = "#d3e5f1"

_LEGEND_LETTERS = 26

_AXES_INCHES, _LINE_INCHES = 5.36, 0.19

_MOST_POINTS = 2_000

_FEW_POINTS = 300  # so many points of a PR curve are joined as they are in ROC space


def drawings(validation: Validation) -> dict[str, Drawing]:
    """Return the available plots over all rows, by name."""
    pooled = validation.pooled
    available: dict[str, Drawing] = {}
    if pooled.roc is not None or pooled.roc_glm is not None:
        available["roc"] = draw_roc
    for name, draw in (("pr", draw_pr), ("calibration", draw_calibration), ("decision", draw_decision)):
        if getattr(pooled, name) is not None:
            available[name] = draw
    return available


def plot_size(validation: Validation, name: str) -> tuple[float, float]:
    """Return the size of a plot in inches: axes of equal size, and room for the legend below."""
    return 5.4, _AXES_INCHES + _LINE_INCHES * _legend_lines(validation, name)


def _legend_lines(validation: Validation, name: str) -> int:
    band = int(mode_of(validation.question).private and name in ("roc", "pr"))
    if name != "roc":
        return band + (3 if name == "decision" else 2)
    sites, pooled = len(with_results(validation)), validation.pooled
    named = sites if sites <= MOST_NAMED else 1
    return band + named + 1 + (pooled.roc is not None) + (pooled.roc_glm is not None)


def plot_validation(validation: Validation) -> Figure:
    """Draw all curves in one figure."""
    available, data = drawings(validation), PlotData.of(validation)
    height = max(plot_size(validation, name)[1] for name in available)
    return drawn_figure([(draw, data) for draw in available.values()], size=(5.4, height), columns=2)


def draw_roc(ax: Axes, data: PlotData) -> None:
    """Draw the ROC curve of all rows with its band, the fitted curve, and each site's own."""
    pooled = data.pooled
    _band(ax, data, "roc")
    if pooled.roc is not None:
        curve = thinned(pooled.roc, _MOST_POINTS)
        ax.plot(
            curve.false_positive_rate, curve.true_positive_rate, color=_POOLED, linewidth=2.4, zorder=4,
            label=f"all rows: AUC {estimate_text(pooled.auc)}",
        )  # fmt: skip
    if pooled.roc_glm is not None:
        at = np.linspace(0.0, 1.0, 201)
        ax.plot(
            at, pooled.roc_glm.roc(at), color="#000000", linewidth=1.2, linestyle=(0, (4, 2)), zorder=5,
            label=f"ROC-GLM, all rows: AUC {number(pooled.roc_glm.auc)}",
        )  # fmt: skip
    for curve, look in _site_curves(data.validation):
        ax.plot(curve.false_positive_rate, curve.true_positive_rate, zorder=3, **look)
    finish_roc(ax)
    legend_below(ax)
    ax.set_title("ROC")


def _site_curves(validation: Validation) -> Iterator[tuple[Any, dict[str, Any]]]:
    sites = [site for site in with_results(validation) if site.result is not None and site.result.roc is not None]
    names = distinct([site.name for site in sites], _LEGEND_LETTERS)
    for place, (site, name) in enumerate(zip(sites, names, strict=True)):
        assert site.result is not None  # noqa: S101  # chosen above
        if len(sites) > MOST_NAMED:
            label = f"each of {len(sites)} sites" if place == 0 else None
            look: dict[str, Any] = {"color": "#8a8a8a", "linewidth": 0.8, "alpha": 0.8, "label": label}
        else:
            look = {**site_style(place), "linewidth": 1.2, "label": f"{name}: {estimate_text(site.result.auc)}"}
        yield thinned(site.result.roc, _MOST_POINTS), look


def site_style(place: int) -> dict[str, Any]:
    """Return colour and dashes of a site: 25 combinations, in which neighbours differ in both."""
    colours, dashes = len(_SITE_COLOURS), len(_DASHES)
    return {
        "color": _SITE_COLOURS[place % colours],
        "linestyle": _DASHES[(place + place // colours) % dashes],
    }


def draw_pr(ax: Axes, data: PlotData) -> None:
    """Draw the PR curve of all rows, and the unachievable region."""
    curve = data.pooled.pr
    assert curve is not None  # noqa: S101  # drawn only where there is one
    _band(ax, data, "pr")
    label = f"all rows: average precision {estimate_text(data.pooled.average_precision)}"
    ax.plot(*_joined(curve.recall, curve.precision), color=_POOLED, linewidth=2.0, label=label)
    finish_pr(ax, curve.prevalence)
    legend_below(ax)
    ax.set_title("Precision–recall")


def _joined(recall: FloatArray, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the curve from recall 0 on. Many points are near enough to be joined by straight lines."""
    if recall[0] > 0.0:
        recall, precision = np.append(0.0, recall), np.append(precision[:1], precision)
    if recall.size <= _FEW_POINTS:
        return pr_joined(recall, precision)
    keep = np.unique(np.linspace(0, recall.size - 1, _MOST_POINTS).round().astype(np.int64))
    return recall[keep], precision[keep]


def draw_decision(ax: Axes, data: PlotData) -> None:
    """Draw net benefit over all rows, with treating everybody and nobody."""
    curve = data.pooled.decision
    assert curve is not None  # noqa: S101  # drawn only where there is one
    ax.plot(curve.threshold, curve.net_benefit, color=_POOLED, linewidth=2.0, label="the model, all rows")
    ax.plot(curve.threshold, curve.treat_all, color=GREY, linewidth=1.2, linestyle="-.", label="treat all")
    ax.axhline(0.0, color=GREY, linewidth=1.0, linestyle=":", label="treat none")
    best = max(float(np.max(np.append(curve.net_benefit, 0.0))), float(np.max(np.append(curve.treat_all, 0.0))), 0.01)
    ax.set(xlim=(0.0, 1.0), ylim=(-0.25 * best, 1.08 * best))
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Threshold probability")
    ax.set_ylabel("Net benefit (true positives per row)")
    legend_below(ax)
    ax.set_title("Decision curve")


def _band(ax: Axes, data: PlotData, name: str) -> None:
    if name in data.bands:
        band, label = data.bands[name], f"{percent(data.validation.level)} band, whole curve (noise and sampling)"
        ax.fill_between(band.x, band.lower, band.upper, color=_BAND, linewidth=0, label=label)
