"""Command `confide validate`: validate a model at several sites that share no rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import options, output
from confide.cli.steps import STOPPED, JsonOption, fail_run, print_next, showing_progress, split_names, stoppable
from confide.errors import UsageError
from confide.tasks.output_files import check_report

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation
    from confide.tasks.validate import SeriesRequest, ValidationPlan, ValidationRequest


def _checked_report(path: Path | None) -> Path | None:
    """Refuse a report that could not be written, before any site is asked."""
    if path is not None:
        check_report(path)
    return path


FederationOption = Annotated[
    Path, typer.Option("--federation", "-f", metavar="DIR", help="The folder made by `confide federation init`.")
]
ModelOption = Annotated[
    str, typer.Option("--model-name", metavar="NAME", help="The name by which sites know the model.")
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        autocompletion=options.one_of(options.shared.MODES),
        help="disclosure-control, secure-sum, private or noisy-scores; see above.",
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The study, as sites' policies name it. [default: the federation's name]"),
]
EpsilonOption = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="E",
        help="Mode private: the price of this validation, such as 1, charged to the privacy budget of each site. Mode "
        "noisy-scores: epsilon of its noise calibration.",
    ),
]
SiteShareOption = Annotated[
    str | None,
    typer.Option(
        metavar="F",
        help="Mode private: the share of epsilon for each site's own results; 0 for the sum alone. [default: 1/2]",
    ),
]
ColludersOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Mode private, and secure-sum with --fewest: the promise holds even if N sites collude with the "
        "coordinator. [default: fewer than half]",
    ),
]
MinimumCellOption = Annotated[
    int | None,
    typer.Option(metavar="Q", help="Modes without noise: least rows of a class in a cell. [default: 5; sums: 1]"),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:CELLS",
        help="Cells of scores: uniform:100, arcsine:40, logit:32, uniform:16:-4:4. [default: by mode; private: by "
        "--rows and --epsilon]",
    ),
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Mode private, and --dry-run in every mode: about how many rows all sites together have, as they state "
        "publicly. In mode private it decides the number of cells. [default: 1,000 a site]",
    ),
]
BinsOption = Annotated[int, typer.Option(metavar="N", help="Bins of the calibration curve.")]
SitesOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Ask only these sites. [default: all of the federation]")
]
FewestOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="At least N sites must take part, so that some may drop out; signed. [default: all that are asked]",
    ),
]
TimeoutOption = Annotated[float, typer.Option(metavar="SECONDS", help="The most that each round may take.")]
DropAfterOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="With --fewest: a silent site has dropped out after this time, from when enough others have replied.",
    ),
]
ValidDaysOption = Annotated[
    int,
    typer.Option(metavar="N", help="Sites answer the question, as it is signed now, for N days and no later."),
]
NullAucOption = Annotated[
    float | None, typer.Option(metavar="A", help="Also test whether the pooled AUC is at most A.")
]
LevelOption = Annotated[float, typer.Option(metavar="P", help="Confidence level of intervals.")]
UnitOption = Annotated[str, typer.Option(metavar="UNIT", help="Mode private: whom it protects, row or person.")]
RowsPerPersonOption = Annotated[
    int, typer.Option(metavar="K", help="Mode private, with --unit person: nobody has more than K rows.")
]
EditionOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Mode private: after data changed, ask as the next edition, which is charged anew. [default: 1]",
    ),
]
NoiseOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        autocompletion=options.one_of(options.shared.NOISES),
        help="Mode private: laplace, or gaussian with --delta, which costs less where many questions are asked; sites "
        "must allow it. [default: laplace]",
    ),
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        metavar="D",
        help="Mode private, with --noise gaussian: far below 1 / rows, such as 1e-6. Mode noisy-scores: delta of its "
        "noise calibration.",
    ),
]
SensitivityOption = Annotated[
    str | None,
    typer.Option(metavar="S", help="Mode noisy-scores: the model's sensitivity, which is stated and not measured."),
]
PurposeOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Why this is asked, for people at sites that approve each question; signed."),
]
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


def show_plan(request: ValidationRequest, *, as_json: bool) -> None:
    """Print question, promise, price and expected accuracy; no site is asked."""
    from confide.tasks.validate import plan_validation

    with output.busy("simulating answers"):
        plan = plan_validation(request)
    _print_plan(plan, as_json=as_json)


def _print_plan(plan: ValidationPlan, *, as_json: bool) -> None:
    from confide.report.validation.plan import print_plan

    if as_json:
        output.print_json(plan.to_dict())
    else:
        print_plan(plan, output.console())
    print_next(("No site was asked. To ask, leave out:", ("--dry-run",)))


def show_validation(request: ValidationRequest, report: Path | None, *, as_json: bool) -> None:
    """Run a validation with a live display of sites; print its results, and write its report."""
    from confide.report.validation.pages import print_validation, validation_page

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
    from confide.report.validation.pages import validation_page
    from confide.report.validation.series import print_series, series_document, series_page
    from confide.tasks.validate import due_validation, note_attempt, plan_edition, store_edition, stored_editions

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
    from confide.tasks.validate import stored_validation

    try:
        return stored_validation(due)
    except NoOutcomeError as error:
        typer.echo(f"no report was written: {error}. The edition of the next {due.period.kind} will have one", err=True)
        return None


def _run(request: ValidationRequest, *, as_json: bool) -> Validation:
    from confide.federation.protocol import RunError
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


def validate(
    federation: FederationOption,
    model_name: ModelOption,
    mode: ModeOption,
    study: StudyOption = None,
    epsilon: EpsilonOption = None,
    site_share: SiteShareOption = None,
    colluders: ColludersOption = None,
    minimum_cell: MinimumCellOption = None,
    grid: GridOption = None,
    rows: RowsOption = None,
    bins: BinsOption = 10,
    sites: SitesOption = None,
    fewest: FewestOption = None,
    timeout: TimeoutOption = 60,
    drop_after: DropAfterOption = 5,
    valid_days: ValidDaysOption = 30,
    null_auc: NullAucOption = None,
    level: LevelOption = 0.95,
    unit: UnitOption = "row",
    rows_per_person: RowsPerPersonOption = 1,
    edition: EditionOption = None,
    noise: NoiseOption = None,
    delta: DeltaOption = None,
    sensitivity: SensitivityOption = None,
    purpose: PurposeOption = None,
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
    from confide.tasks.validate import request_validation

    request = request_validation(
        federation,
        model_name=model_name,
        mode=mode,
        study=study,
        epsilon=epsilon,
        site_share=site_share,
        colluders=colluders,
        minimum_cell=minimum_cell,
        grid=grid,
        rows=rows,
        bins=bins,
        sites=None if sites is None else split_names(sites),
        fewest=fewest,
        timeout=timeout,
        drop_after=drop_after,
        valid_days=valid_days,
        null_auc=null_auc,
        level=level,
        unit=unit,
        rows_per_person=rows_per_person,
        edition=edition,
        noise=noise,
        delta=delta,
        sensitivity=sensitivity,
        purpose=purpose,
    )
    if (every is None) != (series is None):
        raise UsageError("--every and --series belong together: how often, and the folder of the results")
    if every is not None and series is not None:
        show_series(request, series, every, report, dry_run=dry_run, as_json=as_json)
    elif dry_run:
        show_plan(request, as_json=as_json)
    else:
        show_validation(request, report, as_json=as_json)
