"""Command `confide release`: release metrics under differential privacy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import options, output
from confide.cli.options import (
    EngineOption,
    OptionalFile,
    Query,
    Table,
    choose_source,
    local_file,
    options_of,
    readable,
)
from confide.errors import UsageError
from confide.tasks.requests.release import ReleaseRequest

if TYPE_CHECKING:
    from confide.tasks.release import ReadyRelease, ReleaseQuote, ReleaseResult


Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="OUT.json", help="Write JSON that may be published as it is: no ledger in it."),
]
Report = Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page that may be published as it is.")]


def print_remarks(ready: ReadyRelease) -> None:
    """Print what is unusual about a request, before it is paid."""
    for remark in ready.remarks:
        typer.echo(f"note: {remark}", err=True)


def print_price(price: ReleaseQuote, *, as_json: bool) -> None:
    """Print the price of a release. Exit with 3 if it does not fit."""
    if as_json:
        output.print_json(price.to_dict())
    else:
        from confide.report.release import print_quote

        print_quote(price.quote, price.prepared, output.console())
    if not price.fits:
        raise typer.Exit(3)


def write_document(done: ReleaseResult, out: Path | None) -> None:
    """Write what may be published as JSON, if the user named a file."""
    if out is None:
        return
    output.write_whole(out, output.as_json(done.to_public_dict()))
    typer.echo(f"written: {out}", err=True)


def write_page(done: ReleaseResult, report: Path | None, title: str | None) -> None:
    """Write the page, if the user named one."""
    if report is None:
        return
    output.write_whole(report, done.to_html(title=title))
    typer.echo(f"report: {report}", err=True)
    if done.revealed is not None:
        typer.echo(f"warning: {report} shows exact curves: it is not private and must not be published", err=True)


def print_result(done: ReleaseResult, *, as_json: bool) -> None:
    """Print what was released, and the notes of the payer."""
    for note in done.notes:
        typer.echo(str(note), err=True)
    if as_json:
        output.print_json(done.to_dict())
    else:
        from confide.report.release import print_release

        print_release(done.receipt, output.console())


@options_of(ReleaseRequest)
def release(
    request: partial[ReleaseRequest],
    file: OptionalFile = None,
    table: Table = None,
    query: Query = None,
    engine: EngineOption = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    out: Out = None,
    report: Report = None,
    title: options.Title = None,
) -> None:
    """Release metrics under differential privacy, with intervals, and charge the ledger.

    The budget is charged before noise is drawn, and never refunded. The same question about the same file gets the
    same answer at no further cost. A request that does not fit is refused with exit code 3. Open accounts with
    `confide ledger new`.

    Each score must be a function of its own row: no ranks, nothing standardised by these rows. Round scores that a
    model gave for many rows at once, for example to six decimals: their last digits depend on the other rows.

    Metrics: auc, average_precision, brier, prevalence, confusion (all that follows from the matrix at
    --threshold), or single measures of it: accuracy, recall, specificity, precision, f1, ...

    A table in a database (--table) is identified by the name and version that you declare (--data-name). Declare a new
    version whenever its rows change. Counts on a grid or at a threshold are taken inside the database. With --query the
    number of rows is private too, as it depends on values: give --neighbours add-remove-one.

    With --model, the rows that were held out of training are read and scored by the model. Their cost does not add
    up with that of the training. To evaluate a model on another file, score the file with `confide predict` and name
    the --score.

    Curves, with bands: roc, pr, calibration (curves for all three) and counts, the table behind them; --target
    chooses a threshold on them. With a curve or a target, everything that is requested, observed_expected too,
    follows from one table of noisy counts. Another --level, --shape, --target or curve then costs nothing; another
    --grid, --strategy or --threshold costs again.

    The AUC of a curve has a wide interval if scores have few values. With --with-auc, a quarter of epsilon buys an AUC
    with noise of its own, in the same charge.

    Examples:

        confide ledger new trial-7 --epsilon 3 --data scores.csv

        confide release scores.csv --label died --score risk --epsilon 1 --account trial-7 --dry-run

        confide release scores.csv -l died -s risk -e 1 --account trial-7 --report auc.html

        confide release scores.csv -l died -s risk -e 2 -m auc,average_precision,recall -t 0.2 --account trial-7 --json

        confide release scores.csv -l died -s risk -e 1 --account trial-7 --out published.json --report published.html

        confide release scores.csv -l died -s risk -e 1 -m roc,pr,calibration --grid logit:64 --account trial-7

        confide release scores.csv -l died -s risk -e 1 -m curves,auc --target recall=0.9 --safe --account trial-7

        confide release scores.csv -l died -s points -e 1 -m roc --grid uniform:12:0:12 --with-auc --account trial-7

        confide release test.csv -l won -s submission -e 0.1 --neighbours label-only --account contest --analyst team-4

        confide release messages.csv --model model.json -m auc,accuracy --account messages --report evaluation.html

        confide release --table postgresql://db.example/heart/trial.scores --data-name "heart attacks, version 2"
        -l died -s risk -e 1 -m roc,pr --grid logit:64 --account heart
    """
    source, given = choose_source(file, table, query, engine), request.keywords
    private, ledger = local_file(source), given.get("ledger")
    output.check_published_page(report, private, ledger)
    output.check_json_out(out, private, ledger, given.get("model"))
    if given.get("reveal") and report is None:
        raise UsageError("--reveal draws exact curves on a report and nowhere else; give --report OUT.html with it")
    from confide.tasks.release import prepare_release

    with output.busy("reading"):
        ready = prepare_release(request(readable(source) if isinstance(source, str) else source))
    print_remarks(ready)
    if dry_run:
        print_price(ready.quote(), as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.pay()
    write_document(done, out)
    write_page(done, report, title)
    print_result(done, as_json=as_json)
