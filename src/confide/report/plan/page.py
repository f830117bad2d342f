"""A plan for people: tables on a terminal, a picture, one HTML page."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from confide.privacy.guarantee import shown
from confide.releases.plan_result import MechanismPlan, Needed, Plan
from confide.report.shared import plots
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.tables import Table, amount, number
from confide.report.shared.text import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console

_TITLES = {"auc": "AUC", "brier": "Brier score", "f1": "F1", "confusion": "Confusion matrix (true positives)"}

_FOOTER = "Made from public facts and guesses alone: no data were read and no budget was spent. Made with confide."

_CAPTION = (
    "Expected width of the population's interval at each epsilon; lower is better. Dotted: what sampling alone would "
    "leave without any noise. Marks: the planned epsilon. More epsilon means less privacy."
)

_READING = (
    ("Error", "how far the released value is from the exact one on average: noise alone."),
    (
        "Sample's interval",
        "holds the exact value of these rows; it allows for noise only.",
    ),
    (
        "Population's interval",
        "holds the value in the population that the rows come from; it allows for noise and sampling.",
    ),
    (
        "Times sampling",
        "the population's interval compared with what it would be without noise: what privacy costs.",
    ),
    ("Epsilon", "the budget that the release takes from its account; less is more private."),
)


def print_plan(plan: Plan, console: Console) -> None:
    """Print the tables, which mechanism to take, and what was supposed."""
    console.print(plan_summary(plan), highlight=False, markup=False)
    for table in plan_tables(plan):
        console.print()
        print_table(table, console)
    console.print()
    for line in (*plan_advice(plan), *plan.assumptions):
        console.print(line, highlight=False, markup=False)


def plan_summary(plan: Plan) -> str:
    """Say in one line what is planned."""
    spent = f"epsilon {shown(plan.epsilon)}" + (f", delta {shown(plan.delta)}" if plan.delta else "")
    return (
        f"{_title(plan)} of about {number(plan.expected)} from {amount(plan.rows)} rows with prevalence "
        f"{plan.prevalence:g}, at {spent} ({plan.neighbours.value})"
    )


def plan_tables(plan: Plan) -> list[Table]:
    """What to expect at the epsilon, and the epsilon that the wanted width needs."""
    level = f"{100 * plan.level:g} %"
    digits = _digits(plan)
    expected = Table(
        title=f"What to expect at epsilon {shown(plan.epsilon)}",
        head=("mechanism", "error", "sample's width", "population's width", "times sampling"),
        body=tuple(
            (
                f"{entry.mechanism}{' *' if entry.mechanism == plan.auto else ''}",
                number(entry.mean_absolute_error, digits + 1),
                number(entry.sample_width, digits),
                number(entry.population_width, digits),
                number(plan.times_sampling(entry), 2),
            )
            for entry in plan.mechanisms
        ),
        note=f"* what auto takes. Error: mean absolute error of the released value. Widths: of {level} intervals. "
        f"From sampling alone, without noise, the population's would be {number(plan.sampling_width, digits)} wide.",
    )
    return [expected] if plan.width is None else [expected, _needs(plan, plan.width)]


def _needs(plan: Plan, width: float) -> Table:
    return Table(
        title=f"Epsilon needed for an interval of width {width:g}",
        head=("mechanism", "sample's", "population's"),
        body=tuple(
            (entry.mechanism, _need(entry.sample_needs), _need(entry.population_needs)) for entry in plan.mechanisms
        ),
    )


def plan_advice(plan: Plan) -> list[str]:
    """Which mechanism to take, which cannot be taken, and whether more epsilon would help."""
    found = [plan.why]
    found += [f"{name} is left out: {reason}." for name, reason in plan.left_out.items()]
    best = plan.recommended
    if plan.width is not None and plan.sampling_width > plan.width:
        found.append(
            f"No epsilon makes the population's interval {plan.width:g} wide: sampling alone makes it "
            f"{plan.sampling_width:.3g} wide. More rows would help."
        )
    if plan.times_sampling(best) < 1.1:
        found.append("Noise hardly widens the population's interval: a smaller epsilon may do.")
    return found


def draw_widths(ax: Axes, plan: Plan) -> None:
    """Draw the expected width of the population's interval against epsilon, one line for each mechanism."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    epsilon = float(plan.epsilon)
    for i, entry in enumerate(plan.mechanisms):
        points = np.array(_curve(entry, epsilon)).reshape(-1, 2)
        ax.plot(points[:, 0], points[:, 1], label=entry.mechanism, linewidth=1.8, **plots.style(i))
        ax.plot([epsilon], [entry.population_width], "os^Dv<>"[i % 7], color=plots.style(i)["color"])
    sampling = plan.sampling_width
    if math.isfinite(sampling):
        ax.axhline(sampling, color=plots.GREY, linewidth=1.2, linestyle=":", label=f"sampling alone: {sampling:.3g}")
    if plan.width is not None:
        ax.axhline(plan.width, color="#000000", linewidth=0.9, linestyle=(0, (6, 4)), label=f"wanted: {plan.width:g}")
    ax.axvline(epsilon, color=plots.GREY, linewidth=0.9)
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
    ax.set_ylabel(f"Expected width of the {100 * plan.level:g} % interval")
    ax.set_title(f"{_title(plan)}: width of the population's interval")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def plan_page(plan: Plan, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(title, _parts(plan), footer=_FOOTER)


def _parts(plan: Plan) -> list[str]:
    svg = plots.as_svg(draw_widths, plan, size=(6.4, 5.2))
    return [
        lead(plan_summary(plan)),
        *(html_table(table) for table in plan_tables(plan)),
        bullets(plan_advice(plan)),
        figures([figure(svg, "widths", _CAPTION)]),
        "<h2>How to read this</h2><ul>",
        *(f"<li><strong>{escape(name)}</strong>: {escape(text)}</li>" for name, text in _READING),
        "</ul><h2>What was supposed</h2>",
        bullets(plan.assumptions),
    ]


def _title(plan: Plan) -> str:
    return _TITLES.get(plan.metric, plan.metric.replace("_", " ").capitalize())


def _digits(plan: Plan) -> int:
    """Digits for widths: fewer where values are numbers of rows."""
    return 3 if plan.expected < 20.0 else 1


def _need(needed: Needed | None) -> str:
    if needed is None or needed.epsilon is None:
        return "none"
    return {"about": "", "at most": "≤ ", "more than": "> "}.get(needed.relation, "") + f"{needed.epsilon:g}"


def _curve(entry: MechanismPlan, epsilon: float) -> list[tuple[float, float]]:
    """The points to draw, the planned one among them."""
    points = [(point.epsilon, point.population_width) for point in entry.curve if point.epsilon != epsilon]
    points.append((epsilon, entry.population_width))
    return sorted((epsilon, width) for epsilon, width in points if math.isfinite(width))
