"""Plan of a contest as one HTML page."""

from __future__ import annotations

from confide.contest.plan import ContestPlan
from confide.report.contest.plan_text import contest_plan_advice, contest_plan_summary, contest_plan_tables
from confide.report.contest.plots import SIZE, draw_agreement
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.style import as_svg

_FOOTER = "Computed from public facts and guesses alone: no data were read and no budget was spent. Made with confide."

_CAPTION = (
    "Agreement of the order on the board with the true order of the teams; 1 is perfect. Bars: two standard errors of "
    "the simulation. Dotted: exact answers, which give labels away."
)


def contest_plan_page(plan: ContestPlan, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    parts = [
        lead(contest_plan_summary(plan)),
        *(html_table(table) for table in contest_plan_tables(plan)),
        bullets(contest_plan_advice(plan)),
        figures([figure(as_svg(draw_agreement, plan, size=SIZE), "agreement", _CAPTION)]),
        "<h2>What was assumed</h2>",
        bullets(plan.assumptions),
    ]
    return whole_page(title, parts, footer=_FOOTER)
