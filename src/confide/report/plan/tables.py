"""Tables of a plan."""

from __future__ import annotations

from dataclasses import replace

from confide.privacy.guarantee import shown
from confide.releases.plan_result import Needed, Plan
from confide.releases.question_plan import QuestionPlan
from confide.report.shared.numbers import number, percent
from confide.report.shared.tables import Table
from confide.tasks.table_plan import TablePlan


def plan_tables(plan: Plan) -> list[Table]:
    """Return what to expect at the planned epsilon, and the epsilon that the wanted width needs."""
    level = percent(plan.level)
    digits = _digits(plan)
    expected = Table(
        title=f"What to expect at epsilon {shown(plan.epsilon)}",
        head=("mechanism", "error", "sample width", "population width", "times sampling"),
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
        note=f"* chosen by auto. Error: mean absolute error of the released value. Widths: of {level} intervals. "
        f"From sampling alone, without noise, the population interval would be {number(plan.sampling_width, digits)} "
        "wide.",
    )
    needs = [] if plan.width is None else [_needs(plan, plan.width)]
    return [expected, *needs, *([] if plan.questions is None else [_questions(plan.questions, digits)])]


def table_plan_table(plan: TablePlan) -> Table:
    """Return the ways to release tables, without widths of intervals."""
    whole = _questions(plan.questions, 0 if plan.in_rows else 3)
    columns = slice(None, -1)
    note = f"{whole.note} Error: {plan.error}."
    return replace(whole, head=whole.head[columns], body=tuple(row[columns] for row in whole.body), note=note)


def _questions(many: QuestionPlan, digits: int) -> Table:
    caps = f"epsilon {shown(many.epsilon)}" + (f", delta {shown(many.delta)}" if many.delta else "")
    best = many.best
    return Table(
        title=f"{many.questions:,} such questions in one account of {caps}",
        head=("composition", "mechanism", "epsilon each", "delta each", "rho each", "error", "population width"),
        body=tuple(
            (
                f"{way.share.composition}{' *' if way == best else ''}",
                way.share.mechanism,
                shown(way.share.epsilon),
                shown(way.share.delta),
                "" if way.share.rho is None else shown(way.share.rho),
                number(way.mean_absolute_error, digits + 1),
                number(way.population_width, digits),
            )
            for way in many.ways
        ),
        note="* least error. Under zcdp the rho of all questions add up, not their epsilons and deltas.",
        text_columns=("mechanism",),
    )


def _needs(plan: Plan, width: float) -> Table:
    return Table(
        title=f"Epsilon needed for an interval of width {width:g}",
        head=("mechanism", "sample interval", "population interval"),
        body=tuple(
            (entry.mechanism, _need(entry.sample_needs), _need(entry.population_needs)) for entry in plan.mechanisms
        ),
    )


def _digits(plan: Plan) -> int:
    """Return the decimals of widths: fewer where values are numbers of rows."""
    return 3 if plan.expected < 20.0 else 1


def _need(needed: Needed | None) -> str:
    if needed is None or needed.epsilon is None:
        return "none"
    return {"about": "", "at most": "≤ ", "more than": "> "}.get(needed.relation, "") + f"{needed.epsilon:g}"
