"""`confide validate`: a model validated at several sites that share no rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.federation_common import STOPPED, JsonOption, open_federation, say_next, stoppable
from confide.errors import ParameterError, UsageError, did_you_mean

if TYPE_CHECKING:
    from confide.federation.coordinator.expected_accuracy import Expected
    from confide.federation.coordinator.validation import Validation
    from confide.federation.flare.provision import Federation
    from confide.federation.question import Question


def validate(
    federation: Annotated[
        Path, typer.Option("--federation", "-f", metavar="DIR", help="The folder made by `confide federation init`.")
    ],
    model_name: Annotated[
        str, typer.Option("--model-name", "-n", metavar="NAME", help="The name under which sites know the model.")
    ],
    mode: Annotated[
        str,
        typer.Option(
            "--mode", "-m", metavar="MODE", help="disclosure-control, secure-sum, private or noisy-scores; see above."
        ),
    ],
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The study, as sites' policies name it. [default: the federation's name]"),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="E", help="private: the price at each site, such as 1.")
    ] = None,
    site_share: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="private: the share of epsilon for each site's own results; 0 for the sum alone. [default: 1/2]",
        ),
    ] = None,
    colluders: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="private: so many sites may collude with the coordinator. [default: fewer than half]",
        ),
    ] = None,
    minimum_cell: Annotated[
        int | None,
        typer.Option(metavar="Q", help="Modes without noise: least rows of a class in a cell. [default: 5; sums: 1]"),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:CELLS",
            help="Cells of scores: uniform:100, arcsine:40, logit:32, uniform:16:-4:4. [default: by mode; private: by "
            "--rows and --epsilon]",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="private: about how many rows all sites together have, as they state publicly. It decides the number "
            "of cells. [default: 1,000 a site]",
        ),
    ] = None,
    bins: Annotated[int, typer.Option(metavar="N", help="Bins of the calibration curve.")] = 10,
    sites: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Ask only these sites. [default: all of the federation]")
    ] = None,
    fewest: Annotated[
        int | None,
        typer.Option(metavar="N", help="So many sites must take part at least; signed. [default: all that are asked]"),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="The most that each of two rounds may take.")] = 60,
    null_auc: Annotated[
        float | None, typer.Option(metavar="A", help="Also test whether the pooled AUC is at most A.")
    ] = None,
    level: Annotated[float, typer.Option(metavar="P", help="Confidence level of intervals.")] = 0.95,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="private: whom it protects, row or person.")] = "row",
    rows_per_person: Annotated[
        int, typer.Option(metavar="K", help="private, with --unit person: nobody has more than K rows.")
    ] = 1,
    edition: Annotated[
        int | None,
        typer.Option(metavar="N", help="private: after data changed, the next edition is paid for anew. [default: 1]"),
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="noisy-scores: of its calibration.")] = None,
    sensitivity: Annotated[
        str | None, typer.Option(metavar="S", help="noisy-scores: the model's, stated and not measured.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
    ] = None,
    as_json: JsonOption = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show question, promise, price and expected error; ask nobody, charge nothing."),
    ] = False,
) -> None:
    """Validate a model at several sites that share no rows.

    Every site counts its own rows; counts leave it under one of these promises:

    - disclosure-control: exact, in groups of at least 5 rows of a class. A rule of thumb, not a guarantee.

    - secure-sum: exact, but masked: only the sum over all sites (three or more) can be read.

    - private: differential privacy. Each site adds its share of noise, charges its own ledger first, and masks.

    - noisy-scores: noise on scores as in a published method, for comparison only. It is not differentially private.

    Two rounds: all sites are asked, and nothing is charged, before any site answers. Asking the same question again
    costs nothing more. Exit codes: 1 if a site failed or refused, 3 if it did for lack of budget, 130 if stopped.

    Examples:

        confide validate --federation net --model-name stroke-risk --mode private --epsilon 1 --rows 20000 --dry-run

        confide validate -f net -n stroke-risk -m private -e 1 --rows 20000 --report stroke.html

        confide validate -f net -n stroke-risk -m secure-sum --study stroke-2026 --null-auc 0.7 --json

        confide validate -f net -n stroke-risk -m disclosure-control --sites north,south,west --fewest 2
    """
    if report is not None:
        output.check_report(report, "-")
    network = open_federation(federation)
    from confide.federation.coordinator.rounds import checked_timeout
    from confide.federation.question import Question
    from confide.intervals.interval import check_level

    check_level(level)
    _check_null(null_auc)
    checked_timeout(timeout)
    question = Question.checked(
        study=network.name if study is None else study,
        model=model_name,
        mode=mode,
        sites=asked_sites(sites, network.sites),
        fewest=fewest,
        grid=grid,
        bins=bins,
        minimum_cell=minimum_cell,
        epsilon=_priced(mode, epsilon),
        site_share=site_share,
        colluders=colluders,
        unit=unit,
        rows_per_person=rows_per_person,
        edition=edition,
        delta=delta,
        sensitivity=sensitivity,
        rows=rows,
    )
    if dry_run:
        from confide.cli.site_progress import show_plan

        show_plan(question, prices(question), expected(question, rows, level), as_json=as_json)
        say_next(("Nobody was asked. To ask, leave out:", ("--dry-run",)))
        return
    validation = run(network, question, timeout=timeout, level=level, null_auc=null_auc, as_json=as_json)
    from confide.cli.site_progress import show_validation

    show_validation(validation, report=report, as_json=as_json)
    _say_end(report)


def run(
    network: Federation,
    question: Question,
    *,
    timeout: float,
    level: float,
    null_auc: float | None,
    as_json: bool,
) -> Validation:
    """Ask the sites and work out what follows; a run that fails shows what each site said, and exits."""
    from confide.cli.site_progress import ask, show_failure
    from confide.federation.coordinator.validation import derive
    from confide.federation.flare.session import open_session
    from confide.federation.outcome import RunError

    started = time.monotonic()
    try:
        with stoppable(), open_session(network, timeout=min(timeout, 30.0)) as session:
            sites = f"{len(question.sites)} site{'s' if len(question.sites) > 1 else ''}"
            typer.echo(f"asking {sites} for {question.model}, mode {question.mode}", err=True)
            outcome = ask(session, question, timeout=timeout)
    except RunError as error:
        raise typer.Exit(show_failure(error, question, as_json=as_json)) from None
    except KeyboardInterrupt:
        typer.echo(
            "error: stopped, and the sites were told. What was charged stays charged: the same question costs nothing "
            "more",
            err=True,
        )
        raise typer.Exit(STOPPED) from None
    typer.echo(f"{outcome.rounds} rounds, {time.monotonic() - started:.1f} seconds in all", err=True)
    return derive(outcome, level=level, null_auc=null_auc)


def asked_sites(text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """The sites that were typed, else all; one that the federation does not have is refused."""
    if text is None:
        return known
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    if not named:
        raise ParameterError("--sites names no site; give names with commas, or leave it out")
    for name in named:
        if name not in known:
            raise ParameterError(
                f"the federation has no site {name!r}. {did_you_mean(name, known)}Its sites are {', '.join(known)}"
            )
    return named


def prices(question: Question) -> dict[str, str | None]:
    """What a question costs each site, if anything."""
    from confide.federation.modes.registry import mode_of

    return dict.fromkeys(question.sites, mode_of(question).price(question))


def expected(question: Question, rows: int | None, level: float) -> Expected | None:
    """How accurate the answer will be, in the private mode: from public facts alone."""
    from confide.federation.modes.registry import mode_of

    if not mode_of(question).private:
        return None
    from confide.federation.coordinator.expected_accuracy import expected_accuracy

    with output.busy("simulating answers"):
        return expected_accuracy(question, rows=rows, level=level)


def _priced(mode: str, epsilon: str | None) -> str | None:
    from confide.federation.modes.registry import modes_that_take

    if epsilon is None and mode in modes_that_take("epsilon"):
        raise ParameterError(
            f"mode {mode} needs --epsilon: what it may cost each site (--epsilon 1); usual choices are 0.1 to 2"
        )
    return epsilon


def _check_null(null_auc: float | None) -> None:
    if null_auc is not None and not 0.0 < null_auc < 1.0:
        raise UsageError(f"--null-auc must lie between 0 and 1; got {null_auc:g}")


def _say_end(report: Path | None) -> None:
    if report is not None:
        say_next(("Open the report in a browser:", (str(report.resolve()),)))
    else:
        say_next(
            ("For tables and pictures in one file, ask again, which costs nothing more, with:", ("--report OUT.html",))
        )
