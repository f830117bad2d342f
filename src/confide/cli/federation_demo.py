"""Command `confide federation demo`: each step is announced with the commands that do the same."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.options import options_of
from confide.cli.steps import STOPPED, JsonOption, fail_run, print_next, showing_progress, stoppable
from confide.errors import UsageError
from confide.tasks.output_files import check_report
from confide.tasks.requests.federation import DemoRequest

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation
    from confide.federation.flare.session import FederationSession
    from confide.tasks.federation_demo import Demo, DemoFederation


DemoFolder = Annotated[
    Path | None, typer.Argument(metavar="[DIR]", help="A new folder for everything. [default: a temporary one]")
]
DemoReport = Annotated[
    Path | None,
    typer.Option(metavar="OUT.html", help="With one --mode: the file of its report. [default: in the folder]"),
]


def run_demo(demo: Demo, reports: Mapping[str, Path], *, as_json: bool) -> None:
    """Run a demonstration, write the report of each mode, and print the results."""
    from confide.report.demonstrations import demo_document, print_demo
    from confide.tasks.federation_demo import performance_of_all_rows

    started = time.monotonic()
    with stoppable():
        try:
            made = _set_up(demo)
            validations = _validate(made, reports, as_json=as_json)
        except KeyboardInterrupt:
            typer.echo(f"error: stopped; the files made so far are in {demo.folder}", err=True)
            raise typer.Exit(STOPPED) from None
    seconds, exact = time.monotonic() - started, performance_of_all_rows(made)
    if as_json:
        output.print_json(demo_document(made, validations, reports, exact, seconds))
    else:
        typer.echo("", err=True)
        print_demo(validations, exact, seconds, output.console())


def _set_up(demo: Demo) -> DemoFederation:
    from confide.report.demonstrations import federation_step, sites_step
    from confide.tasks.federation_demo import make_demo_federation, make_demo_sites

    typer.echo(federation_step(demo), err=True)
    with output.busy("making keys and certificates"):
        federation = make_demo_federation(demo)
    typer.echo(sites_step(demo), err=True)
    with output.busy("setting up the sites"):
        return make_demo_sites(demo, federation)


def _validate(made: DemoFederation, reports: Mapping[str, Path], *, as_json: bool) -> dict[str, Validation]:
    from confide.report.demonstrations import start_step
    from confide.tasks.federation_demo import running_demo

    typer.echo(f"{start_step(made.demo)}\n", err=True)
    with running_demo(made) as session:
        _wait(session, made)
        return {mode: _ask(session, made, mode, report, as_json=as_json) for mode, report in reports.items()}


def _wait(session: FederationSession, made: DemoFederation) -> None:
    from confide.tasks.federation_demo import wait_for_sites

    with showing_progress(made.demo.sites) as progress:
        for site in made.demo.sites:
            progress.show(site, "starting")
        wait_for_sites(session, made.demo.sites, connected=lambda site: progress.show(site, "connected"))


def _ask(session: FederationSession, made: DemoFederation, mode: str, report: Path, *, as_json: bool) -> Validation:
    from confide.federation.protocol import RunError
    from confide.report.demonstrations import forget_step, validate_step
    from confide.report.validation.pages import validation_page
    from confide.tasks.federation_demo import ask_demo, forget_answers, must_forget

    typer.echo(validate_step(made.demo, mode, report), err=True)
    if must_forget(made.demo, mode):
        typer.echo(forget_step(made.demo), err=True)
        forget_answers(made)
    typer.echo("", err=True)
    began = time.monotonic()
    try:
        with showing_progress(made.demo.sites) as progress:
            validation = ask_demo(session, made, mode, progress=progress)
            progress.settle(validation.outcome.reports)
    except RunError as error:
        fail_run(error, made.demo.questions[mode], as_json=as_json)
    with output.busy("drawing the report"):
        output.write_whole(report, validation_page(validation))
    typer.echo(f"report after {time.monotonic() - began:.1f} seconds", err=True)
    return validation


@options_of(DemoRequest)
def demo(
    request: partial[DemoRequest],
    folder: DemoFolder = None,
    report: DemoReport = None,
    as_json: JsonOption = False,
) -> None:
    """Run a whole federation on this machine: validate a model at 3 to 5 hospitals that share no rows.

    Makes certificates, starts a server and a process for each hospital, validates in each mode, writes a report for
    each, and stops everything. The hospitals are real sites of NVIDIA FLARE; only the network between them is this
    machine's own. It takes one to two minutes.

    Examples:

        confide federation demo

        confide federation demo --sites 3 --mode private --epsilon 2 --report private.html

        confide federation demo trial --data scores.csv --label died --score risk --site-column hospital
    """
    from confide.tasks.federation_demo import plan_demo

    if report is not None and len(set(request.keywords.get("modes", ()))) != 1:
        raise UsageError("--report is for one mode; give one --mode, or leave --report out to get one for each")
    if report is not None:
        check_report(report)
    with output.busy("reading"):
        plan = plan_demo(folder, **request.keywords)
    reports = {mode: report or plan.folder / f"report-{mode}.html" for mode in plan.questions}
    run_demo(plan, reports, as_json=as_json)
    print_next(
        ("Open the report in a browser:", [str(path.resolve()) for path in reports.values()]),
        ("See what a site keeps, and what it spent:", (f"confide site status {plan.folder / plan.sites[0]}",)),
        ("Delete the folder afterwards: it holds keys, and the rows of each site:", (f"rm -r {plan.folder}",)),
    )
