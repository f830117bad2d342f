"""Plan of a contest in sentences, tables and on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.contest.final_plan import FinalPlan
from confide.contest.plan import AnswerPlan, ContestPlan
from confide.privacy.guarantee import shown
from confide.report.contest.submission_text import counted
from confide.report.shared.guarantees import at_most
from confide.report.shared.numbers import number
from confide.report.shared.tables import Table
from confide.report.shared.text import print_bullets, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console


def print_contest_plan(plan: ContestPlan, console: Console) -> None:
    """Print the summary, the tables, how to read them, and the assumptions."""
    print_line(contest_plan_summary(plan), console)
    for table in contest_plan_tables(plan):
        console.print()
        print_table(table, console)
    console.print()
    print_bullets(contest_plan_advice(plan), console)
    console.print()
    for line in plan.assumptions:
        print_line(line, console)


def contest_plan_summary(plan: ContestPlan) -> str:
    """Summarise the plan in one line."""
    public = "" if plan.public_rows == plan.rows else f", {plan.public_rows:,} of them public"
    return (
        f"Contest on {plan.rows:,} rows{public} with prevalence {plan.prevalence:g}, scored by {plan.metric.title}: "
        f"{plan.answers:,} answers to {plan.teams:,} teams"
    )


def contest_plan_tables(plan: ContestPlan) -> list[Table]:
    """Return the worth of the board by kind of answers, and the worth of the final."""
    board = Table(
        title="What the board will be worth",
        head=("labels", "error of scores", "Kendall tau", "leader's gap", "price in rows", "most sure of one label"),
        body=tuple(_board_row(plan, one) for one in plan.boards),
        note=(
            "* planned; labels masked at each epsilon. Error: mean absolute difference between shown and true values. "
            "Kendall tau: agreement of the board's order with the true order, 1 at best. Leader's gap: how much too "
            "good the leader's score looks. Price in rows: masking costs as much as using so many times fewer rows. "
            f"Means of {counted(plan.repetitions, 'simulated contest')}, with standard errors."
        ),
    )
    return [board] if plan.final is None else [board, _final_table(plan.final)]


def contest_plan_advice(plan: ContestPlan) -> list[str]:
    """Return what the numbers mean, in sentences."""
    planned, exact = plan.planned, plan.exact
    lines = [
        f"At epsilon {shown(plan.epsilon)} nobody who was undecided about a label can become more than "
        f"{at_most(planned.certainty)} % sure of it, with any number of answers. Exact answers give labels "
        "away: rounding them, or a Ladder, promises nothing.",
        f"The order of teams agrees with the truth to {number(planned.kendall_tau.value, 2)} (Kendall tau), and to "
        f"{number(exact.kendall_tau.value, 2)} with exact answers.",
    ]
    if planned.rows_price > 4.0:
        lines.append(
            f"Masking costs as much as {number(planned.rows_price, 1)} times fewer rows; a larger epsilon or more rows "
            "would help."
        )
    return lines


def _board_row(plan: ContestPlan, board: AnswerPlan) -> tuple[str, ...]:
    if board.epsilon is None:
        name, certainty = "exact labels", "all can be read"
    else:
        name = f"epsilon {shown(board.epsilon)}{' *' if board.epsilon == plan.epsilon else ''}"
        certainty = f"{at_most(board.certainty)} %"
    return (
        name,
        f"{number(board.error.value, 4)} ± {number(board.error.standard_error, 4)}",
        f"{number(board.kendall_tau.value)} ± {number(board.kendall_tau.standard_error)}",
        f"{board.leader_gap.value:+.4f} ± {number(board.leader_gap.standard_error, 4)}",
        number(board.rows_price, 2),
        certainty,
    )


def _final_table(final: FinalPlan) -> Table:
    promise = f"epsilon {shown(final.epsilon)}" + (f", delta {shown(final.delta)}" if final.delta else "")
    return Table(
        title="What the final will be worth",
        head=("final", "rows", "finalists", "noise", "sampling", "most sure of one label"),
        body=(
            (
                f"{final.mechanism.value}, {promise}",
                f"{final.rows:,}",
                f"{final.finalists:,}",
                number(final.noise, 4),
                number(final.sampling, 4),
                f"{at_most(final.certainty)} %",
            ),
        ),
        note="Noise and sampling: standard deviations of the difference of two finalists' scores.",
    )
