"""A plan as one HTML page."""

from __future__ import annotations

from confide.releases.plan_result import Plan
from confide.report.plan.plots import draw_widths
from confide.report.plan.tables import plan_tables, table_plan_table
from confide.report.plan.text import plan_advice, plan_summary, table_summary
from confide.report.shared.page import bullets, definitions, figure, figures, html_table, lead, whole_page
from confide.report.shared.style import as_svg
from confide.tasks.table_plan import TablePlan

_FOOTER = "Computed from public facts and guesses alone: no data were read and no budget was spent. Made with confide."

_CAPTION = (
    "Expected width of the population interval at each epsilon; lower is better. Dotted: width from sampling alone, "
    "without noise. Marks: the planned epsilon. More epsilon means less privacy."
)

_READING = (
    ("Error", "mean absolute difference between the released and the exact value. It comes from noise alone."),
    (
        "Sample interval",
        "covers the exact value of these rows. It accounts for noise.",
    ),
    (
        "Population interval",
        "covers the value in the population that the rows come from. It accounts for noise and sampling.",
    ),
    (
        "Times sampling",
        "width of the population interval, divided by its width without noise: the cost of privacy.",
    ),
    ("Epsilon", "the budget that the release takes from its account. A smaller epsilon is more private."),
)


def plan_page(plan: Plan | TablePlan, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    if isinstance(plan, TablePlan):
        return whole_page(title, _table_parts(plan), footer=_FOOTER)
    return whole_page(title, _parts(plan), footer=_FOOTER)


def fragment(plan: Plan) -> str:
    """Return tables and advice, as a notebook shows them."""
    tables = "".join(html_table(table) for table in plan_tables(plan))
    return f"<div>{lead(plan_summary(plan))}{tables}{bullets(plan_advice(plan))}</div>"


def _table_parts(plan: TablePlan) -> list[str]:
    return [
        lead(table_summary(plan)),
        html_table(table_plan_table(plan)),
        bullets([plan.questions.why]),
        "<h2>What was assumed</h2>",
        bullets(plan.assumptions),
    ]


def _parts(plan: Plan) -> list[str]:
    svg = as_svg(draw_widths, plan, size=(6.4, 5.2))
    return [
        lead(plan_summary(plan)),
        *(html_table(table) for table in plan_tables(plan)),
        bullets(plan_advice(plan)),
        figures([figure(svg, "widths", _CAPTION)]),
        "<h2>How to read this</h2>",
        definitions(_READING),
        "<h2>What was assumed</h2>",
        bullets(plan.assumptions),
    ]
