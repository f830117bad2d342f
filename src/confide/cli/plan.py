"""Command `confide plan`: what a release will be worth before anything is spent, or the rows that a study needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import options, output
from confide.cli.options import options_of
from confide.errors import ParameterError
from confide.tasks.output_files import check_report
from confide.tasks.requests.plan import ExactPlanRequest, PlanRequest

if TYPE_CHECKING:
    from confide.releases.plan_result import Plan
    from confide.tasks.plan import TablePlan

Report = Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page with the widths at all epsilons.")]


def refuse_others(given: Iterable[str], request: type, why: str) -> None:
    """Refuse options that a request does not have."""
    known = {each.name for each in fields(request)}
    for name in given:
        if name not in known:
            raise ParameterError(f"`{name}` is for {why}")


def print_exact(request: partial[ExactPlanRequest], *, as_json: bool) -> None:
    """Plan without privacy and print the plan."""
    from confide.report.plan import print_exact_plan
    from confide.tasks.plan import plan_exact

    planned = plan_exact(**request.keywords)
    if as_json:
        output.print_json(planned.to_dict())
    else:
        print_exact_plan(planned, output.console())


def print_private(planned: Plan | TablePlan, prevalence: float | None) -> None:
    """Print a plan, and the commands that release what was planned."""
    from confide.report.plan import plan_commands, print_plan
    from confide.tasks.plan import release_parameters

    print_plan(planned, output.console())
    commands = plan_commands(planned, release_parameters(planned, prevalence=prevalence))
    typer.echo("\n".join(["\nTo release as planned:", *(f"  {command}" for command in commands)]), err=True)


@options_of(PlanRequest, ExactPlanRequest)
def plan(
    private: partial[PlanRequest],
    exact: partial[ExactPlanRequest],
    as_json: options.AsJson = False,
    report: Report = None,
) -> None:
    """Plan a release (its error and interval widths, by mechanism), or the rows that an exact study needs.

    Nothing is read or spent: the plan follows from the number of rows and from guesses, by releasing
    a stand-in many times. Give --epsilon to see what it buys, --width to see what it costs, or both. With --questions,
    --epsilon and --delta are the caps of an account for many such releases: the plan says whether they should add up
    there or compose by zCDP. For roc, pr, selection and naive-bayes, which have no single interval, the plan compares
    the noise.

    With --exact, plan a study without privacy: the rows that it needs for a power or a width, or with --rows what they
    give.

    Examples:

        confide plan --rows 1000 --prevalence 0.2 --epsilon 1

        confide plan --rows 1000 --prevalence 0.2 --expect 0.8 --width 0.1 --report plan.html

        confide plan --rows 5000 --metric recall --epsilon 3 --delta 1e-6 --questions 50

        confide plan --rows 5000 --metric roc --epsilon 3 --delta 1e-6 --questions 50

        confide plan --rows 5000 --metric recall --expect 0.9 --epsilon 0.5 --neighbours label-only --json

        confide plan --exact auc --auc 0.8 --null 0.7 --prevalence 0.3 --power 0.9

        confide plan --exact auc --auc 0.8 --prevalence 0.3 --width 0.1

        confide plan --exact compare --auc 0.8 --auc 0.75 --correlation 0.5 --prevalence 0.3 --power 0.9

        confide plan --exact validation --auc 0.8 --prevalence 0.018 --lp-mean -5 --lp-sd 1.5 --oe-width 1
    """
    if "exact" in exact.keywords:
        named = (*private.keywords, *(() if report is None else ("report",)))
        refuse_others(named, ExactPlanRequest, "a private plan; leave it out, or leave out `exact`")
        print_exact(exact, as_json=as_json)
        return
    refuse_others(exact.keywords, PlanRequest, "a plan without privacy; add `exact`, for example `exact=auc`")
    if "rows" not in private.keywords:
        raise ParameterError("give `rows`, the number of rows or a guess of it")
    if report is not None:
        check_report(report)
    with output.busy("releasing a stand-in"):
        from confide.tasks.plan import plan as task

        planned = task(**private.keywords, curve=as_json or report is not None)
    if report is not None:
        with output.busy("drawing the report"):
            from confide.report.plan import plan_page

            page = plan_page(
                planned, title=f"Plan for a private {private.keywords.get('metric', 'auc').replace('_', ' ')}"
            )
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(planned.to_dict())
    else:
        print_private(planned, private.keywords.get("prevalence"))
