"""Commands `confide select`, `confide train` and `confide predict`: private features and models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from confide.cli import options, output
from confide.cli.flags import translate
from confide.cli.options import File, readable

if TYPE_CHECKING:
    from confide.tasks.workflow_step import ReadyStep, StepQuote, StepResult


Text = Annotated[
    str | None,
    typer.Option("--text", metavar="COL", help="Column of text: each word is a feature, hashed to one of 2^14 places."),
]
Bits = Annotated[int | None, typer.Option(metavar="B", help="With --text: hash words to 2^B places. [default: 14]")]
LeaveOut = Annotated[
    Path | None, typer.Option(metavar="WORDS.txt", help="With --text: words to leave out, one a line; public.")
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        metavar="WORDS.txt",
        help="With --text: take these words, one a line, instead of hashing. The list must be public: words collected "
        "from the private rows give them away.",
    ),
]
Dictionary = Annotated[
    Path | None,
    typer.Option(
        metavar="WORDS.txt",
        help="With --text: public words, one a line, that name the places of hashed words in tables and on the page; "
        "nothing else changes.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        metavar="RULE",
        help="Column with a public rule: smoker (0/1), age=40,50,60 (cut at points) or sex=f|m (values); repeatable.",
    ),
]
HoldOut = Annotated[
    str | None,
    typer.Option("--hold-out", metavar="SHARE", help="Share of rows kept for evaluation; 0 for none. [default: 0.3]"),
]
HoldOutBy = Annotated[
    list[str] | None,
    typer.Option(
        "--hold-out-by",
        metavar="COL",
        help="Hold out by this column, so that a person's rows stay together. [default: by the row's features]",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        metavar="E", help="Epsilon of the whole workflow, divided among its steps. [default: 1]", show_default=False
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", "-e", metavar="E", help="Epsilon of this step. [default: its part of --budget]"),
]
Mechanism = Annotated[
    str, typer.Option(metavar="NOISE", help="Noise on scores: laplace, or gaussian with --delta, for zcdp accounts.")
]
CountMechanism = Annotated[
    str | None,
    typer.Option(
        metavar="NOISE", help="Noise of naive Bayes: laplace (default), or gaussian with --delta, for zcdp accounts."
    ),
]
CountDelta = Annotated[str | None, typer.Option(metavar="D", help="For gaussian noise; far below 1 / rows.")]
Relation = Annotated[
    str | None,
    typer.Option(
        metavar="RELATION",
        autocompletion=options.one_of(options.NEIGHBOURS),
        help="What may differ: a row's presence (add-remove-one, default), its values (replace-one) or its label "
        "(label-only).",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        autocompletion=options.one_of(options.UNITS),
        help="What it protects: row or person. [default: row]",
    ),
]

K = Annotated[
    int | None,
    typer.Option("-k", metavar="K", help="Number of features to take; not for clusters. [default: 100, or all]"),
]
Threshold = Annotated[
    float | None, typer.Option(metavar="T", help="Take features whose score reaches T, instead of K of them.")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=options.one_of(options.METHODS),
        help="score-perturbation, sparse-vector, peeling, permute-and-flip or clusters.",
    ),
]
FeatureScore = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=options.one_of(options.FEATURE_SCORES),
        help="total-count, difference-count, purity-index or information-gain.",
    ),
]
FeaturesPerRow = Annotated[
    int | None,
    typer.Option(metavar="R", help="From a row with more features, R count. [default: 10 where it reduces noise]"),
]
Clusters = Annotated[int | None, typer.Option(metavar="N", help="With --method clusters. [default: 8]")]

Features = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="File that `confide select` wrote; it says how rows are read and held out."),
]
Model = Annotated[
    str,
    typer.Option(
        metavar="NAME", autocompletion=options.one_of(options.MODELS), help="naive-bayes or logistic-regression."
    ),
]
RowWeight = Annotated[
    int | None, typer.Option(metavar="R", help="Naive Bayes: a row counts for at most R features. [default: 3]")
]
Limit = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Naive Bayes: spread a row's weight, or sample R features. [default: spread]"),
]
Keep = Annotated[
    float | None,
    typer.Option(metavar="Z", help="Naive Bayes: keep features that differ by Z deviations. [default: 0.5]"),
]
Calibration = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="Naive Bayes: share of epsilon for calibrating probabilities. [default: 0.1]"),
]
Regularization = Annotated[
    float | None,
    typer.Option(metavar="L", help="Logistic regression: penalty on weights. [default: from epsilon and width]"),
]
Perturb = Annotated[
    str | None, typer.Option(metavar="WHAT", help="Logistic regression: objective or output. [default: objective]")
]
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


def select(
    context: typer.Context,
    file: options.File,
    label: options.Label = None,
    text: Text = None,
    columns: Columns = None,
    k: K = None,
    threshold: Threshold = None,
    method: Method = "score-perturbation",
    score: FeatureScore = "total-count",
    features_per_row: FeaturesPerRow = None,
    clusters: Clusters = None,
    budget: BudgetOption = None,
    epsilon: Epsilon = None,
    mechanism: Mechanism = "laplace",
    delta: options.Delta = "0",
    hold_out: HoldOut = None,
    hold_out_by: HoldOutBy = None,
    positive: options.PrivatePositive = None,
    bits: Bits = None,
    leave_out: LeaveOut = None,
    vocabulary: Vocabulary = None,
    dictionary: Dictionary = None,
    neighbours: Relation = None,
    unit: Unit = None,
    rows_per_person: options.RowsPerPerson = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.Analyst = None,
    also_charge: options.AlsoCharge = False,
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
    output.check_json_out(out, file, ledger)
    from confide.tasks.learning import prepare_select

    with output.busy("reading"):
        ready = prepare_select(
            readable(file),
            label=label,
            text=text,
            columns=columns,
            k=k,
            threshold=threshold,
            method=method,
            score=score,
            features_per_row=features_per_row,
            clusters=clusters,
            budget=budget,
            epsilon=epsilon,
            mechanism=mechanism,
            delta=delta,
            hold_out=hold_out,
            hold_out_by=hold_out_by,
            positive=positive,
            bits=bits,
            leave_out=leave_out,
            vocabulary=vocabulary,
            dictionary=dictionary,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            ledger=ledger,
            account=account,
            analyst=analyst,
            also_charge=also_charge,
        )
    finish(ready, context, out=out, dry_run=dry_run, as_json=as_json)


def train(
    context: typer.Context,
    file: options.File,
    label: options.Label = None,
    text: Text = None,
    columns: Columns = None,
    features: Features = None,
    model: Model = "naive-bayes",
    budget: BudgetOption = None,
    epsilon: Epsilon = None,
    mechanism: CountMechanism = None,
    delta: CountDelta = None,
    hold_out: HoldOut = None,
    hold_out_by: HoldOutBy = None,
    positive: options.PrivatePositive = None,
    bits: Bits = None,
    leave_out: LeaveOut = None,
    vocabulary: Vocabulary = None,
    dictionary: Dictionary = None,
    row_weight: RowWeight = None,
    limit: Limit = None,
    keep: Keep = None,
    calibration: Calibration = None,
    regularization: Regularization = None,
    perturb: Perturb = None,
    neighbours: Relation = None,
    unit: Unit = None,
    rows_per_person: options.RowsPerPerson = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.Analyst = None,
    also_charge: options.AlsoCharge = False,
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
    output.check_json_out(out, file, ledger)
    output.check_published_page(report, file, ledger)
    from confide.tasks.learning import prepare_train

    with output.busy("reading"):
        ready = prepare_train(
            readable(file),
            label=label,
            text=text,
            columns=columns,
            features=features,
            model=model,
            budget=budget,
            epsilon=epsilon,
            mechanism=mechanism,
            delta=delta,
            hold_out=hold_out,
            hold_out_by=hold_out_by,
            positive=positive,
            bits=bits,
            leave_out=leave_out,
            vocabulary=vocabulary,
            dictionary=dictionary,
            row_weight=row_weight,
            limit=limit,
            keep=keep,
            calibration=calibration,
            regularization=regularization,
            perturb=perturb,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            ledger=ledger,
            account=account,
            analyst=analyst,
            also_charge=also_charge,
        )
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
