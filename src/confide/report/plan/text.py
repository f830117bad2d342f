"""A plan in sentences and on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.privacy.guarantee import shown
from confide.releases.plan_result import Plan
from confide.report.plan.tables import plan_tables, table_plan_table
from confide.report.shared.numbers import amount, number
from confide.report.shared.text import print_line, print_table
from confide.tasks.table_plan import TablePlan

if TYPE_CHECKING:
    from rich.console import Console

_TITLES = {
    "roc": "ROC curves",
    "pr": "PR curves",
    "selection": "Selections of features",
    "naive-bayes": "Naive Bayes models",
    "auc": "AUC",
    "brier": "Brier score",
    "f1": "F1",
    "confusion": "Confusion matrix (true positives)",
}


def print_plan(plan: Plan | TablePlan, console: Console) -> None:
    """Print the tables, the advice and the assumptions."""
    if isinstance(plan, TablePlan):
        _print_table_plan(plan, console)
        return
    print_line(plan_summary(plan), console)
    for table in plan_tables(plan):
        console.print()
        print_table(table, console)
    console.print()
    for line in (*plan_advice(plan), *plan.assumptions):
        print_line(line, console)


def _print_table_plan(plan: TablePlan, console: Console) -> None:
    print_line(table_summary(plan), console)
    console.print()
    print_table(table_plan_table(plan), console)
    console.print()
    for line in (plan.questions.why, *plan.assumptions):
        print_line(line, console)


def table_summary(plan: TablePlan) -> str:
    """Summarise the plan for tables in one line."""
    many = plan.questions
    spent = f"epsilon {shown(many.epsilon)}" + (f", delta {shown(many.delta)}" if many.delta else "")
    return f"{_TITLES.get(plan.kind, plan.kind)} from {amount(plan.rows)} rows, at {spent} ({plan.neighbours.value})"


def plan_summary(plan: Plan) -> str:
    """Summarise the plan in one line."""
    spent = f"epsilon {shown(plan.epsilon)}" + (f", delta {shown(plan.delta)}" if plan.delta else "")
    return (
        f"{metric_title(plan)} of about {number(plan.expected)} from {amount(plan.rows)} rows with prevalence "
        f"{plan.prevalence:g}, at {spent} ({plan.neighbours.value})"
    )


def metric_title(plan: Plan) -> str:
    """Return the planned metric in words."""
    return _TITLES.get(plan.metric, plan.metric.replace("_", " ").capitalize())


def plan_advice(plan: Plan) -> list[str]:
    """Return which mechanism to use, which ones cannot be used, and whether more epsilon would help."""
    advice = [plan.why, *([] if plan.questions is None else [plan.questions.why])]
    advice += [f"{name} is left out: {reason}." for name, reason in plan.left_out.items()]
    best = plan.recommended
    if plan.width is not None and plan.sampling_width > plan.width:
        advice.append(
            f"No epsilon makes the population interval {plan.width:g} wide: sampling alone makes it "
            f"{plan.sampling_width:.3g} wide. More rows would help."
        )
    if plan.times_sampling(best) < 1.1:
        advice.append("Noise hardly widens the population interval: a smaller epsilon may be enough.")
    return advice
