"""Plots of a release: its numbers with both intervals, or its curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from confide.releases.release import Release
from confide.report.release.curve_plots import plot_curves
from confide.report.release.names import drawable, is_curve, metric_name
from confide.report.shared.numbers import percent
from confide.report.shared.style import COLOURS, GREY, drawn_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_releases(releases: Sequence[Release]) -> Figure:
    """Draw the curves if there are any, else all proportions, else all numbers."""
    if any(is_curve(release) for release in releases):
        return plot_curves(releases)
    proportions = [release for release in releases if drawable(release)] or releases
    return drawn_figure([(draw_intervals, proportions)], size=intervals_size(proportions))


def draw_intervals(ax: Axes, releases: Sequence[Release]) -> None:
    """Draw one line for each number: thin for the population, thick for the sample, a dot for the value."""
    for position, release in enumerate(releases):
        sample, population = release.intervals.sample, release.intervals.population
        first = position == 0
        ax.plot(
            [population.lower, population.upper], [position] * 2, color=GREY, linewidth=1.6, marker="|", markersize=9,
            label=f"population, {percent(population.level)}" if first else None,
        )  # fmt: skip
        ax.plot(
            [sample.lower, sample.upper], [position] * 2, color=COLOURS[0], linewidth=5.0, solid_capstyle="butt",
            label=f"sample, {percent(sample.level)}" if first else None,
        )  # fmt: skip
        ax.plot(
            release.value, position, "o", color="white", markeredgecolor="black", markersize=6.5, zorder=3,
            label="released value" if first else None,
        )  # fmt: skip
    ax.set_yticks(range(len(releases)), [metric_name(release) for release in releases])
    ax.set_ylim(len(releases) - 0.4, -0.6)
    if all(drawable(release) for release in releases):
        lowest = min(0.0, *(release.intervals.population.lower for release in releases))
        ax.set_xlim(lowest - 0.02, 1.02)
    ax.set_xlabel("value")
    ax.grid(axis="x")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def intervals_size(releases: Sequence[Release]) -> tuple[float, float]:
    """Return the size of the plot of intervals in inches."""
    return (7.0, 1.3 + 0.42 * len(releases))
