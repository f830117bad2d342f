"""`confide contest plan`: what the board of a contest will be worth, before anything is read or spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output
from confide.cli.contest.metric_options import METRIC_HELP

_FINAL = "Final"


def plan(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=10, help="Number of rows with labels.")],
    prevalence: Annotated[float, typer.Option(metavar="P", help="A public guess of the share of positives.")],
    answers: Annotated[int, typer.Option(metavar="K", min=2, help="Number of submissions of all teams together.")],
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="E", help="Promise of the public part.")],
    teams: Annotated[int, typer.Option(metavar="T", min=2, help="Number of teams.")] = 50,
    public: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of rows that the board is computed from.")
    ] = 1.0,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="NAME", help=METRIC_HELP)] = "auc",
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Threshold of metrics that need one. [default: 0.5]")
    ] = None,
    auc: Annotated[float, typer.Option(metavar="A", help="AUC that a typical team reaches.")] = 0.8,
    final_epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="Promise of a final on the other rows.", rich_help_panel=_FINAL)
    ] = None,
    final_delta: Annotated[
        str, typer.Option(metavar="D", help="Above 0: shaped Gaussian noise, with less error.", rich_help_panel=_FINAL)
    ] = "0",
    finalists: Annotated[
        int, typer.Option(metavar="K", min=2, help="Number of finalists.", rich_help_panel=_FINAL)
    ] = 20,
    repetitions: Annotated[
        int | None, typer.Option(metavar="R", min=1, help="Simulated contests. [default: as many as take seconds]")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the simulation.")] = 0,
    as_json: options.AsJson = False,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page with a plot.")] = None,
) -> None:
    """Plan a contest: the error of its scores, the order on its board, and what nobody can learn.

    Nothing is read or spent. Contests are simulated with exact answers and with labels masked at the epsilon, at half
    of it and at twice it.

    Examples:

        confide contest plan --rows 10000 --prevalence 0.3 --answers 1000 --epsilon 2

        confide contest plan --rows 20000 --prevalence 0.1 --answers 500 --epsilon 4 --public 0.5 --final-epsilon 1

        confide contest plan --rows 2000 --prevalence 0.5 --answers 200 --epsilon 1 --metric brier --json
    """
    from confide.tasks.contest_plan import plan_contest, planned_repetitions
    from confide.tasks.output_files import check_report

    if report is not None:
        check_report(report)
    many = planned_repetitions(rows=rows, public=public, answers=answers, repetitions=repetitions)
    with output.steps(many, f"simulating {many} contest{'' if many == 1 else 's'}") as step:
        planned = plan_contest(
            rows=rows,
            prevalence=prevalence,
            answers=answers,
            epsilon=epsilon,
            teams=teams,
            public=public,
            metric=metric,
            threshold=threshold,
            auc=auc,
            final_epsilon=final_epsilon,
            final_delta=final_delta,
            finalists=finalists,
            repetitions=repetitions,
            seed=seed,
            begin=step,
        )
    if report is not None:
        from confide.report.contest.plan_page import contest_plan_page

        output.write_whole(report, contest_plan_page(planned, title="Plan for a contest"))
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(planned.to_dict())
        return
    from confide.report.contest.plan_text import print_contest_plan

    print_contest_plan(planned, output.console())
