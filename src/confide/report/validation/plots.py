"""Curves and calibration of a validation: all rows together, and each site's own where they are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.federation.modes.registry import mode_of
from confide.report.curves import finish_pr, finish_roc, pr_joined, thinned
from confide.report.numbers import distinct, estimate_text, number, percent, wrapped
from confide.report.style import COLOURS, GREY, Drawing, drawn_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.pooling import CalibrationPoints
    from confide.federation.coordinator.validation import SiteResult, Validation
    from confide.intervals.resample import Band


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlotData:
    """A validation to draw, with the bands of its curves, which are slow to compute."""

    validation: Validation
    bands: Mapping[str, Band]

    @classmethod
    def of(cls, validation: Validation) -> PlotData:
        """Compute the bands of the population's curves in the private mode; other modes have none."""
        return cls(validation=validation, bands=_private_bands(validation))

    @property
    def pooled(self) -> Performance:
        """Results over all rows."""
        return self.validation.pooled


def _private_bands(validation: Validation) -> dict[str, Band]:
    """Return simultaneous bands of the population's ROC and PR curves, from the noisy sum."""
    total = validation.outcome.total
    if not mode_of(validation.question).private or total is None:
        return {}
    from confide.federation.coordinator.answers import pooled_counts
    from confide.releases.curves import curves_of

    release = pooled_counts(validation.question, total, validation.outcome.sites, validation.level)
    bands = curves_of(release, level=validation.level).bands
    return {name: both.population for name, both in bands.items()}


def with_results(validation: Validation) -> list[SiteResult]:
    """Return the sites with results of their own; none if there is only one, whose results are those of all rows."""
    sites = [site for site in validation.sites if site.result is not None]
    return sites if len(sites) > 1 else []


def legend_below(ax: Axes) -> None:
    """Put the legend under the axis label. Square axes are anchored at the bottom, or the layout would cut it off."""
    ax.set_anchor("S")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.6)


_POOLED = COLOURS[0]

_PANEL_INCHES, _PANELS_ACROSS = 1.95, 5

_WIDEST = 0.95  # bins whose interval is wider say nothing, and are not drawn


def draw_calibration(ax: Axes, data: PlotData) -> None:
    """Draw observed shares over all rows in bins, with their intervals."""
    points = data.pooled.calibration
    assert points is not None  # noqa: S101  # drawn only where there is one
    end = _calibration_end([points])
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=":", label="perfect")
    _bins(ax, points, _POOLED, size=6.0, label=f"all rows: {_calibration_label(data.pooled)}")
    _finish_calibration(ax, end)
    ax.set_xlabel("Score (predicted risk)")
    ax.set_ylabel("Observed share of positives")
    legend_below(ax)
    ax.set_title("Calibration")


def site_calibrations(validation: Validation) -> list[tuple[str, Performance]]:
    """Return the sites that have a calibration curve of their own."""
    return [
        (site.name, site.result)
        for site in with_results(validation)
        if site.result is not None and site.result.calibration is not None
    ]


def panels_size(sites: int) -> tuple[float, float]:
    """Return the size in inches of one panel for each site."""
    across = min(sites, _PANELS_ACROSS)
    return 0.6 + _PANEL_INCHES * across, 0.5 + (_PANEL_INCHES + 0.55) * math.ceil(sites / across)


def draw_site_calibrations(ax: Axes, data: PlotData) -> None:
    """Draw a small panel for each site, with all rows in grey, in place of the given axes."""
    sites, pooled = site_calibrations(data.validation), data.pooled.calibration
    across = min(len(sites), _PANELS_ACROSS)
    down = math.ceil(len(sites) / across)
    place, figure = ax.get_subplotspec(), ax.figure
    assert place is not None  # noqa: S101  # axes are made in a grid
    ax.remove()
    panels = place.subgridspec(down, across).subplots(sharex=True, sharey=True, squeeze=False)
    ends = [result.calibration for _, result in sites if result.calibration is not None]
    end = _calibration_end([*ends, *([] if pooled is None else [pooled])])
    names = distinct([name for name, _ in sites], 44)
    for panel, name, (_, result) in zip(panels.flat, names, sites, strict=False):
        _site_panel(panel, wrapped(name), result, pooled, end)
    for panel in list(panels.flat)[len(sites) :]:
        panel.set_axis_off()
    figure.supxlabel("Score (predicted risk)", fontsize=10)
    figure.supylabel("Observed share of positives", fontsize=10)


def _site_panel(ax: Axes, name: str, result: Performance, pooled: CalibrationPoints | None, end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    if pooled is not None:
        seen = _narrow(pooled)
        ax.plot(pooled.mean_score[seen], pooled.observed[seen], color="#b0b0b0", linewidth=1.6, zorder=1)
    if result.calibration is not None:
        _bins(ax, result.calibration, _POOLED, size=4.0)
        if not _narrow(result.calibration).any():
            ax.text(0.5, 0.85, "all bins are too wide", transform=ax.transAxes, ha="center", fontsize=8, color=GREY)
    _finish_calibration(ax, end)
    ax.set_title(name, fontsize=9)
    ax.tick_params(labelsize=8)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ratio = result.observed_expected
    if ratio is not None and math.isfinite(ratio.value):
        ax.set_xlabel(f"O : E {number(ratio.value, 2)}", fontsize=8)


def _bins(ax: Axes, points: CalibrationPoints, colour: str, *, size: float, label: str | None = None) -> None:
    """Draw the bins with their intervals, except missing ones and those whose interval is too wide."""
    good = np.isfinite(points.mean_score) & np.isfinite(points.observed) & _narrow(points)
    x, y = points.mean_score[good], points.observed[good]
    ends = [np.where(np.isfinite(each[good]), each[good], y) for each in (points.lower, points.upper)]
    reach = np.stack((y - ends[0], ends[1] - y)).clip(0.0)
    ax.errorbar(
        x, y, yerr=reach, fmt="o", markersize=size, color=colour, markeredgecolor="white", markeredgewidth=0.6,
        elinewidth=1.2, ecolor=colour, zorder=3, label=label,
    )  # fmt: skip


def _finish_calibration(ax: Axes, end: float) -> None:
    ax.set(xlim=(-0.02 * end, 1.02 * end), ylim=(-0.02 * end, 1.02 * end))
    ax.set_aspect("equal", adjustable="box")
    ax.grid(True)
    ax.set_axisbelow(True)


def _calibration_end(every: list[CalibrationPoints]) -> float:
    """Return the end of the axes: 1, or less if all risks and observed shares are small."""
    highest = max(float(np.nanmax(np.append(values, 0.0))) for p in every for values in (p.mean_score, p.observed))
    return 1.0 if highest >= 0.5 else max(1.5 * highest, 0.05)


def not_drawn_words(results: Iterable[Performance]) -> str:
    """Return the sentence that bins were left out, if some were."""
    every = (result.calibration for result in results)
    hidden = any(points is not None and not _narrow(points).all() for points in every)
    return f" Bins whose interval is wider than {_WIDEST:g} are not drawn." if hidden else ""


def _narrow(points: CalibrationPoints) -> NDArray[np.bool_]:
    """Return which bins are drawn: those whose interval is not too wide."""
    return ~(points.upper - points.lower > _WIDEST)


def _calibration_label(pooled: Performance) -> str:
    parts = []
    if pooled.observed_expected is not None:
        parts.append(f"O : E {number(pooled.observed_expected.value, 2)}")
    if pooled.calibration_slope is not None:
        parts.append(f"slope {number(pooled.calibration_slope.value, 2)}")
    return ", ".join(parts) or "observed share"


MOST_NAMED = 10
"""Lines of more sites cannot be told apart in one plot, so all are grey."""


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
