"""`confide plan`: what a release will be worth, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output
from confide.tasks.output_files import check_report


def plan(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", help="Number of rows, or a guess of it.")],
    metric: Annotated[
        str,
        typer.Option("--metric", "-m", metavar="NAME", help="auc, average_precision, brier, prevalence, recall, ..."),
    ] = "auc",
    prevalence: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="A public guess of the share of positives; give it to the release too. [default: 0.2]"
        ),
    ] = None,
    expected: Annotated[
        float | None,
        typer.Option(
            "--expect",
            metavar="V",
            help="A guess of the value of the metric. [default: that of a model with AUC 0.8]",
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="E", help="Privacy budget of the release.")
    ] = None,
    width: Annotated[
        float | None, typer.Option(metavar="W", help="Find the epsilon that gives an interval of this width.")
    ] = None,
    delta: options.Delta = "0",
    questions: Annotated[
        int | None,
        typer.Option(metavar="K", help="Divide epsilon and delta among K such releases in one account."),
    ] = None,
    neighbours: Annotated[
        str, typer.Option(metavar="RELATION", help="What may differ: replace-one, add-remove-one or label-only.")
    ] = "replace-one",
    level: options.Level = 0.95,
    as_json: options.AsJson = False,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a page with the widths at all epsilons.")
    ] = None,
) -> None:
    """Plan a release: its error and the widths of its intervals, by each mechanism.

    Nothing is read or spent: the plan follows from the number of rows and from guesses, by releasing
    a stand-in many times. Give --epsilon to see what it buys, --width to see what it costs, or both. With --questions,
    --epsilon and --delta are the caps of an account for many such releases: the plan says whether they should add up
    there or compose by zCDP.

    Examples:

        confide plan --rows 1000 --prevalence 0.2 --epsilon 1

        confide plan --rows 1000 --prevalence 0.2 --expect 0.8 --width 0.1 --report plan.html

        confide plan --rows 5000 --metric recall --epsilon 3 --delta 1e-6 --questions 50

        confide plan --rows 5000 --metric recall --expect 0.9 --epsilon 0.5 --neighbours label-only --json
    """
    if report is not None:
        check_report(report)
    with output.busy("releasing a stand-in"):
        from confide.tasks.plan import plan as task
        from confide.tasks.plan import release_parameters

        planned = task(
            metric,
            rows=rows,
            prevalence=prevalence,
            expected=expected,
            epsilon=epsilon,
            width=width,
            delta=delta,
            neighbours=neighbours,
            level=level,
            curve=as_json or report is not None,
            questions=questions,
        )
    if report is not None:
        with output.busy("drawing the report"):
            from confide.report.plan.page import plan_page

            page = plan_page(planned, title=f"Plan for a private {metric.replace('_', ' ')}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(planned.to_dict())
        return
    from confide.report.plan.command import plan_commands
    from confide.report.plan.text import print_plan

    print_plan(planned, output.console())
    commands = plan_commands(planned, release_parameters(planned, prevalence=prevalence))
    typer.echo("\n".join(["\nTo release it so:", *(f"  {command}" for command in commands)]), err=True)
