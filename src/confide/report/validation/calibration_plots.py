"""Calibration plots of a validation: all rows together, and one small panel for each site."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.report.shared.names import distinct, wrapped
from confide.report.shared.numbers import number
from confide.report.shared.style import COLOURS, GREY
from confide.report.validation.plot_data import PlotData, legend_below, with_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from confide.federation.coordinator.calibration_points import CalibrationPoints
    from confide.federation.coordinator.performance import Performance
    from confide.federation.coordinator.validation import Validation

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
