"""Command `confide validate`: validate a model at several sites that share no rows."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.options import options_of
from confide.cli.steps import STOPPED, JsonOption, fail_run, print_next, showing_progress, stoppable
from confide.errors import UsageError
from confide.tasks.output_files import check_report
from confide.tasks.requests.validate import ValidateRequest

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation
    from confide.tasks.validate import DueEdition, ReadyValidation, ValidationPlan


def _checked_report(path: Path | None) -> Path | None:
    """Refuse a report that could not be written, before any site is asked."""
    if path is not None:
        check_report(path)
    return path


EveryOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD",
        help="Mode private: ask once in each month, quarter or year, as a new edition, and keep results in --series. "
        "For a timer: called again in the same period, it asks nobody, and writes --report from what is stored.",
    ),
]
SeriesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="With --every: the folder of all results, with a page of performance over time. A folder holds one "
        "question; another one is refused.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT.html", callback=_checked_report, help="Write a report: one HTML file that opens offline."
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Show question, promise, price and expected error; ask nobody, charge nothing."),
]


def show_plan(ready: ReadyValidation, *, as_json: bool) -> None:
    """Print question, promise, price and expected accuracy; no site is asked."""
    from confide.tasks.validate import plan_validation

    with output.busy("simulating answers"):
        plan = plan_validation(ready)
    _print_plan(plan, as_json=as_json)


def _print_plan(plan: ValidationPlan, *, as_json: bool) -> None:
    from confide.report.validation.plan import print_plan

    if as_json:
        output.print_json(plan.to_dict())
    else:
        print_plan(plan, output.console())
    print_next(("No site was asked. To ask, leave out:", ("--dry-run",)))


def show_validation(ready: ReadyValidation, report: Path | None, *, as_json: bool) -> None:
    """Run a validation with a live display of sites; print its results, and write its report."""
    from confide.report.validation.pages import print_validation, validation_page

    validation = _run(ready, as_json=as_json)
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
    ready: ReadyValidation, folder: Path, every: str, report: Path | None, *, dry_run: bool, as_json: bool
) -> None:
    """Ask this period's edition unless it is stored, and write the page of performance over time."""
    from confide.report.validation.pages import validation_page
    from confide.report.validation.series import print_series, series_document, series_page
    from confide.tasks.validate import due_validation, note_attempt, plan_edition, store_edition, stored_editions

    due = due_validation(ready, folder, every=every)
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
        validation = _run(due.ready, as_json=as_json)
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


def _stored_validation(due: DueEdition) -> Validation | None:
    """Return the results of this period from what is stored; say why there is no report if that does not suffice."""
    from confide.federation.coordinator.series import NoOutcomeError
    from confide.tasks.validate import stored_validation

    try:
        return stored_validation(due)
    except NoOutcomeError as error:
        typer.echo(f"no report was written: {error}. The edition of the next {due.period.kind} will have one", err=True)
        return None


def _run(ready: ReadyValidation, *, as_json: bool) -> Validation:
    from confide.federation.protocol import RunError
    from confide.tasks.validate import run_validation

    question, started = ready.question, time.monotonic()
    sites = f"{len(question.sites)} site{'s' if len(question.sites) > 1 else ''}"
    typer.echo(f"asking {sites} for {question.model}, mode {question.mode}", err=True)
    try:
        with stoppable(), showing_progress(question.sites) as progress:
            validation = run_validation(ready, progress=progress)
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


@options_of(ValidateRequest)
def validate(
    request: partial[ValidateRequest],
    every: EveryOption = None,
    series: SeriesOption = None,
    report: ReportOption = None,
    as_json: JsonOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Validate a model at several sites that share no rows.

    Every site counts its own rows; counts leave it under one of these promises:

    - disclosure-control: exact, in groups of at least 5 rows of a class. A rule of thumb, not a guarantee.

    - secure-sum: exact, but masked: only the sum over all sites (three or more) can be read.

    - private: differential privacy. Each site adds its share of noise, charges its own ledger first, and masks.

    - noisy-scores: noise on scores as in a published method, for comparison only. It is not differentially private.

    All sites are asked, and nothing is charged, before any site answers. Asking the same question again costs nothing
    more. Exit codes: 1 if a site failed or refused, 3 if it did for lack of budget, 4 if a person at a site has not
    decided yet, 130 if stopped.

    Examples:

        confide validate --federation net --model-name stroke-risk --mode private --epsilon 1 --rows 20000 --dry-run

        confide validate -f net --model-name stroke-risk --mode private -e 1 --rows 20000 --report stroke.html

        confide validate -f net --model-name stroke-risk --mode secure-sum --study stroke-2026 --null-auc 0.7 --json

        confide validate -f net --model-name stroke-risk --mode private -e 1/4 --every month --series stroke-over-time

        confide validate -f net --model-name stroke-risk --mode private -e 1/2 --noise gaussian --delta 1e-6

        confide validate -f net --model-name stroke-risk --mode disclosure-control --sites north,south,west --fewest 2
    """
    from confide.tasks.validate import prepare_validation

    ready = prepare_validation(request())
    if (every is None) != (series is None):
        raise UsageError("--every and --series belong together: how often, and the folder of the results")
    if every is not None and series is not None:
        show_series(ready, series, every, report, dry_run=dry_run, as_json=as_json)
    elif dry_run:
        show_plan(ready, as_json=as_json)
    else:
        show_validation(ready, report, as_json=as_json)
