"""Commands `confide select`, `confide train` and `confide predict`: private features and models."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from confide.cli import options, output
from confide.cli.flags import translate
from confide.cli.options import File, options_of, readable
from confide.tasks.requests.learning import SelectRequest, TrainRequest

if TYPE_CHECKING:
    from confide.tasks.learning import ReadyStep, StepQuote, StepResult


ModelPage = Annotated[
    Path | None, typer.Option(metavar="OUT.html", help="Write a page about the model that may be published.")
]


def finish(
    ready: ReadyStep[Any],
    context: typer.Context,
    *,
    out: Path | None,
    report: Path | None = None,
    title: str | None = None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Print the price of a step, or pay for it and print its result."""
    for remark in ready.remarks:
        typer.echo(_in_flags(remark, context), err=True)
    if dry_run:
        _print_price(ready.quote(), as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.pay()
    if out is not None:
        done.save(out)
        typer.echo(f"written: {out}", err=True)
    if report is not None:
        from confide.report.model import model_page

        page = model_page(done.workflow, done.costs, title=title or "A private model", words=done.words)
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    for note in done.notes:
        typer.echo(note, err=True)
    _print_result(done, as_json=as_json)


def _in_flags(remark: str, context: typer.Context) -> str:
    return translate(remark, context.command) if isinstance(context.command, TyperCommand) else remark


def _print_price(price: StepQuote, *, as_json: bool) -> None:
    """Print the price of a step beside those of the whole workflow. Exit with 3 if it does not fit."""
    from confide.report.model import print_price

    if as_json:
        output.print_json(price.to_dict())
    else:
        print_price(price.quote, price.workflow, price.costs, output.console())
    if price.quote.refusal is not None:
        typer.echo(f"error: {price.quote.refusal}", err=True)
        sys.exit(3)


def _print_result(done: StepResult, *, as_json: bool) -> None:
    from confide.report.model import print_step, selection_table, weights_table

    if as_json:
        output.print_json(done.to_dict())
        return
    table = (selection_table if done.workflow.model is None else weights_table)(done.workflow, done.words)
    print_step(done.receipt, done.workflow, done.costs, table, output.console())


@options_of(SelectRequest)
def select(
    request: partial[SelectRequest],
    context: typer.Context,
    file: options.File,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
) -> None:
    """Select features under differential privacy, and charge the ledger.

    Features are public rules, never learnt from the rows: words hashed to places, or columns cut at points that you
    name. Of a column with two features (sex=f|m, age=65), the first value or the upper interval is a candidate, as the
    other one says the same. The selected features are released. This costs half of the workflow's --budget unless
    --epsilon says otherwise. Rows are held out by a public rule for `confide release --model`, so that its cost does
    not add up. Naive Bayes chooses features from its own noisy counts at no cost: `confide train` without `select` is
    often better.

    Examples:

        confide select messages.csv --label spam --text message -k 200 --out features.json

        confide select patients.csv -l died -c smoker -c age=50,60,70 -c "sex=f|m" -k 4 --dry-run

        confide select messages.csv -l spam --text message --method peeling --score difference-count -k 20 --json
    """
    output.check_json_out(out, file, request.keywords.get("ledger"))
    from confide.tasks.learning import prepare_select

    with output.busy("reading"):
        ready = prepare_select(request(readable(file)))
    finish(ready, context, out=out, dry_run=dry_run, as_json=as_json)


@options_of(TrainRequest)
def train(
    request: partial[TrainRequest],
    context: typer.Context,
    file: options.File,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: ModelPage = None,
    title: options.Title = None,
) -> None:
    """Train a classifier under differential privacy, and charge the ledger.

    Features are public rules, as for `confide select`, or those that it selected (--features). Naive Bayes chooses
    features from its own noisy counts and needs no selection. Logistic regression is for a few dozen features: select
    first. Rows that are held out are not read. Evaluate the model on them with `confide release --model`, which costs
    nothing more up to the price of the training.

    Examples:

        confide train messages.csv --label spam --text message --budget 1 --out model.json

        confide train patients.csv -l died -c smoker -c age=50,60,70 -c "sex=f|m" --dry-run

        confide train messages.csv --features features.json --model logistic-regression --out model.json

        confide release messages.csv --model model.json --metric auc,accuracy --report evaluation.html
    """
    ledger = request.keywords.get("ledger")
    output.check_json_out(out, file, ledger)
    output.check_published_page(report, file, ledger)
    from confide.tasks.learning import prepare_train

    with output.busy("reading"):
        ready = prepare_train(request(readable(file)))
    finish(ready, context, out=out, report=report, title=title, dry_run=dry_run, as_json=as_json)


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="File that `confide train` wrote.")],
    file: File,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="SCORES.csv", help="The same rows with scores; .csv or .parquet.")
    ],
    score: Annotated[str, typer.Option(metavar="COL", help="Name of the new column.")] = "score",
) -> None:
    """Write the rows of a file with a model's probability of the positive class beside each.

    The model is private and may be used on any rows. The scores belong to the rows and are as private as they are. To
    publish how well the model does, use `confide release FILE --model MODEL.json`, which reads the rows held out.

    Examples:

        confide predict model.json new_messages.csv --out scored.csv

        confide predict model.json patients.parquet --score risk --out risks.parquet
    """
    from confide.tasks.learning import predict as predict_rows

    with output.busy("reading and scoring"):
        done = predict_rows(model, readable(file), out=out, score=score)
    typer.echo(f"written: {done.written} (scores of these rows: as private as the rows)", err=True)
