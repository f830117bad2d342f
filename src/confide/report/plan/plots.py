"""Plot of a plan: expected interval width against epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from confide.releases.plan_result import MechanismPlan, Plan
from confide.report.plan.text import metric_title
from confide.report.shared.numbers import percent
from confide.report.shared.style import GREY, drawn_figure, marker, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_plan(plan: Plan) -> Figure:
    """Draw the plan in a figure of its own."""
    return drawn_figure([(draw_widths, plan)], size=(6.4, 5.2))


def draw_widths(ax: Axes, plan: Plan) -> None:
    """Draw the expected width of the population interval against epsilon, one line for each mechanism."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    epsilon = float(plan.epsilon)
    for i, entry in enumerate(plan.mechanisms):
        points = np.array(_curve(entry, epsilon)).reshape(-1, 2)
        ax.plot(points[:, 0], points[:, 1], label=entry.mechanism, linewidth=1.8, **style(i))
        ax.plot([epsilon], [entry.population_width], marker(i), color=style(i)["color"])
    sampling = plan.sampling_width
    if math.isfinite(sampling):
        ax.axhline(sampling, color=GREY, linewidth=1.2, linestyle=":", label=f"sampling alone: {sampling:.3g}")
    if plan.width is not None:
        ax.axhline(plan.width, color="#000000", linewidth=0.9, linestyle=(0, (6, 4)), label=f"wanted: {plan.width:g}")
    ax.axvline(epsilon, color=GREY, linewidth=0.9)
    ax.annotate(
        f"epsilon {epsilon:.3g}",
        (epsilon, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, -2),
        textcoords="offset points",
        va="top",
        fontsize=9,
        color="#333333",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0.0, 1.08 * ax.get_ylim()[1])
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Epsilon (smaller is more private)")
    ax.set_ylabel(f"Expected width of the {percent(plan.level)} interval")
    ax.set_title(f"{metric_title(plan)}: width of the population interval")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def _curve(entry: MechanismPlan, epsilon: float) -> list[tuple[float, float]]:
    """Return the points to draw, the planned one among them."""
    points = [(point.epsilon, point.population_width) for point in entry.curve if point.epsilon != epsilon]
    points.append((epsilon, entry.population_width))
    return sorted((epsilon, width) for epsilon, width in points if math.isfinite(width))
