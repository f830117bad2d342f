"""Plot of a contest's plan: agreement of the board with the true order, against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.contest.plan import ContestPlan
from confide.report.shared.style import GREY, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (6.4, 4.4)


def draw_agreement(ax: Axes, plan: ContestPlan) -> None:
    """Draw Kendall's tau with the true order against epsilon, with twice the standard error, beside exact answers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    points = [(float(board.epsilon), board.kendall_tau) for board in plan.boards if board.epsilon is not None]
    epsilons = [epsilon for epsilon, _ in points]
    ax.errorbar(
        epsilons,
        [tau.value for _, tau in points],
        yerr=[2.0 * tau.standard_error for _, tau in points],
        marker="o",
        capsize=3,
        linewidth=1.8,
        label="masked labels",
        **style(0),
    )
    exact = plan.exact.kendall_tau.value
    ax.axhline(exact, color=GREY, linewidth=1.2, linestyle=":", label=f"exact answers: {exact:.2f}")
    ax.axvline(float(plan.epsilon), color=GREY, linewidth=0.9)
    ax.annotate(
        "planned",
        (float(plan.epsilon), 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=9,
        color="#333333",
    )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(epsilons))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_ylim(min(0.0, *(tau.value for _, tau in points)), 1.02)
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Epsilon (smaller is more private)")
    ax.set_ylabel("Kendall tau with the true order")
    ax.set_title("Agreement of the board with the true order")
    ax.legend(loc="lower right")
