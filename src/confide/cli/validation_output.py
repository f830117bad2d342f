"""Run or plan a checked validation, and print what comes of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from confide.cli import output
from confide.cli.federation_common import STOPPED, fail_run, print_next, stoppable
from confide.cli.site_progress import showing_progress

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation
    from confide.tasks.validate import ValidationPlan, ValidationRequest
    from confide.tasks.validation_series import SeriesRequest


def show_plan(request: ValidationRequest, *, as_json: bool) -> None:
    """Print question, promise, price and expected accuracy; no site is asked."""
    from confide.tasks.validate import plan_validation

    with output.busy("simulating answers"):
        plan = plan_validation(request)
    _print_plan(plan, as_json=as_json)


def _print_plan(plan: ValidationPlan, *, as_json: bool) -> None:
    from confide.report.validation.plan_text import print_plan

    if as_json:
        output.print_json(plan.to_dict())
    else:
        print_plan(plan, output.console())
    print_next(("No site was asked. To ask, leave out:", ("--dry-run",)))


def show_validation(request: ValidationRequest, report: Path | None, *, as_json: bool) -> None:
    """Run a validation with a live display of sites; print its results, and write its report."""
    from confide.report.validation.page import validation_page
    from confide.report.validation.text import print_validation

    validation = _run(request, as_json=as_json)
    if report is not None:
        with output.busy("drawing the report"):
            output.write_whole(report, validation_page(validation))
    if as_json:
        output.print_json(validation.to_dict())
    else:
        print_validation(validation, output.console())
    if report is not None:
        print_next(("Open the report in a browser:", (str(report.resolve()),)))
    else:
        print_next(
            ("For tables and pictures in one file, ask again, which costs nothing more, with:", ("--report OUT.html",))
        )


def show_series(
    request: ValidationRequest, folder: Path, every: str, report: Path | None, *, dry_run: bool, as_json: bool
) -> None:
    """Ask this period's edition unless it is stored, and write the page of performance over time."""
    from confide.report.validation.page import validation_page
    from confide.report.validation.series_page import series_page
    from confide.report.validation.series_text import print_series, series_document
    from confide.tasks.validation_series import (
        due_validation,
        note_attempt,
        plan_edition,
        store_edition,
        stored_editions,
    )

    due = due_validation(request, folder, every=every)
    if dry_run:
        with output.busy("simulating answers"):
            plan = plan_edition(due)
        _print_plan(plan, as_json=as_json)
        return
    if due.known:
        typer.echo(f"the result of {due.period.name} is in {folder}; nobody was asked", err=True)
        validation = None if report is None else _stored_validation(due)
    else:
        note_attempt(due)
        validation = _run(due.request, as_json=as_json)
        store_edition(due, validation)
    steps = [("Performance over time is in:", (str(due.page),))]
    if report is not None and validation is not None:
        with output.busy("drawing the report"):
            output.write_whole(report, validation_page(validation))
        steps.append((f"The report of {due.period.name} is in:", (str(report.resolve()),)))
    editions = stored_editions(due)
    output.write_whole(due.page, series_page(editions))
    if as_json:
        output.print_json(series_document(editions, asked=not due.known))
    else:
        print_series(editions, output.console())
    print_next(*steps)


def _stored_validation(due: SeriesRequest) -> Validation | None:
    """Return the results of this period from what is stored; say why there is no report if that does not suffice."""
    from confide.federation.coordinator.series import NoOutcomeError
    from confide.tasks.validation_series import stored_validation

    try:
        return stored_validation(due)
    except NoOutcomeError as error:
        typer.echo(f"no report was written: {error}. The edition of the next {due.period.kind} will have one", err=True)
        return None


def _run(request: ValidationRequest, *, as_json: bool) -> Validation:
    from confide.federation.outcome import RunError
    from confide.tasks.validate import run_validation

    question, started = request.question, time.monotonic()
    sites = f"{len(question.sites)} site{'s' if len(question.sites) > 1 else ''}"
    typer.echo(f"asking {sites} for {question.model}, mode {question.mode}", err=True)
    try:
        with stoppable(), showing_progress(question.sites) as progress:
            validation = run_validation(request, progress=progress)
            progress.settle(validation.outcome.reports)
    except RunError as error:
        fail_run(error, question, as_json=as_json)
    except KeyboardInterrupt:
        typer.echo(
            "error: stopped, and the sites were told. What was charged stays charged: the same question costs nothing "
            "more",
            err=True,
        )
        raise typer.Exit(STOPPED) from None
    typer.echo(f"{validation.outcome.rounds} rounds, {time.monotonic() - started:.1f} seconds in all", err=True)
    return validation
