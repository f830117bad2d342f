"""Command `confide release`: release metrics under differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from confide.cli import options, output
from confide.cli.options import EngineOption, OptionalFile, Query, Table, choose_source, local_file, readable
from confide.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from confide.tasks.release import ReadyRelease, ReleaseQuote, ReleaseResult


T = TypeVar("T")

GRIDS = (
    "arcsine:32, uniform:16, uniform:16:-4:4, logit:64, edges:0,0.1,0.3,1 or public:FILE:COLUMN:16 (quantiles of "
    "public scores); or, for a fifth of epsilon, quantiles:16, quantiles:16:-4:4 (of the private ones) or medians:10"
)

Score = Annotated[list[str] | None, typer.Option("--score", "-s", metavar="COL", help="Column of scores, one.")]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL.json", help="Instead of columns: the file that `confide train` wrote; run on held-out rows."
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="E",
        help="Privacy budget of this release, for example 1 or 1/3. [default with --model: that of its workflow]",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        autocompletion=options.several_of(options.METRICS),
        help="Metric to release; repeatable, or several with commas. [default: auc]",
    ),
]
Neighbours = Annotated[
    str | None,
    typer.Option(
        metavar="RELATION",
        autocompletion=options.one_of(options.NEIGHBOURS),
        help="What may differ: a row's values (replace-one), its presence (add-remove-one) or its label (label-only). "
        "[default: replace-one; with --model that of the training]",
    ),
]
Mechanism = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Mechanism that adds noise; auto chooses from public facts alone. For comparison with the papers: "
        "pareto, student-t, published-cauchy, published-laplace; of curves laplace-per-point, fixed-space, "
        "recursive-medians, symmetric-binormal.",
    ),
]
Threshold = Annotated[
    list[float] | None,
    typer.Option(
        "--threshold", "-t", metavar="T", help="For confusion measures, one: score >= T is positive. [default: 0.5]"
    ),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:CELLS",
        help=f"Cells of scores, for curves and private-counts: {GRIDS}. [default: cells on 0 to 1, for "
        "probabilities; under label-only cells with equally many rows]",
    ),
]
Strategy = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=options.one_of(options.STRATEGIES),
        help="How cells of curves are counted: flat, tree, tree:8, haar or auto.",
    ),
]
Shape = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=options.one_of(options.SHAPES),
        help="Shape of curves: concave (default), isotonic, counts, binormal or roc-glm; costs nothing.",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(metavar="MEASURE=P", help="Choose a threshold from the curves: recall=0.9 or specificity=0.9."),
]
Safe = Annotated[
    bool, typer.Option("--safe", help="With --target: the lower end of its interval must reach the target.")
]
WithAuc = Annotated[
    bool,
    typer.Option(
        "--with-auc", help="With curves: a quarter of epsilon for an AUC of its own; for scores with few values."
    ),
]
PrevalenceGuess = Annotated[
    float | None, typer.Option(metavar="P", help="A public guess of the share of positives; steers the noise.")
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        autocompletion=options.one_of(options.UNITS),
        help="What it protects: row or person. [default: row; with --model that of the training]",
    ),
]
DataName = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="With --table: the declared name and version of its rows, which identify them in the ledger.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="OUT.json", help="Write JSON that may be published as it is: no ledger in it."),
]
Report = Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page that may be published as it is.")]
Reveal = Annotated[
    bool,
    typer.Option(
        "--reveal", help="Draw exact curves on the report too. It is then NOT private and must not be published."
    ),
]


def split_names(given: Sequence[str] | None, default: str) -> list[str]:
    """Return the names in repeated options, each of which may hold several with commas."""
    return [name.strip() for one in given or [default] for name in one.split(",") if name.strip()]


def at_most_one(given: Sequence[T] | None, option: str) -> T | None:
    """Return the value of an option. Refuse a repeated one: silently taking the last would charge for the wrong one."""
    if given and len(given) > 1:
        raise ParameterError(f"a release takes one {option}; request each of them by itself")
    return given[0] if given else None


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


def release(
    file: OptionalFile = None,
    label: options.Label = None,
    score: Score = None,
    model: Model = None,
    epsilon: Epsilon = None,
    metrics: Metrics = None,
    delta: options.Delta = "0",
    neighbours: Neighbours = None,
    mechanism: Mechanism = "auto",
    positive: options.PrivatePositive = None,
    threshold: Threshold = None,
    grid: GridOption = None,
    strategy: Strategy = "auto",
    shape: Shape = None,
    target: TargetOption = None,
    safe: Safe = False,
    with_auc: WithAuc = False,
    prevalence_guess: PrevalenceGuess = None,
    unit: Unit = None,
    rows_per_person: options.RowsPerPerson = None,
    level: options.Level = 0.95,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.Analyst = None,
    also_charge: options.AlsoCharge = False,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    out: Out = None,
    report: Report = None,
    title: options.Title = None,
    reveal: Reveal = False,
    table: Table = None,
    query: Query = None,
    engine: EngineOption = None,
    data_name: DataName = None,
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
    source = choose_source(file, table, query, engine)
    private = local_file(source)
    output.check_published_page(report, private, ledger)
    output.check_json_out(out, private, ledger, model)
    if reveal and report is None:
        raise UsageError("--reveal draws exact curves on a report and nowhere else; give --report OUT.html with it")
    from confide.tasks.release import prepare_release

    with output.busy("reading"):
        ready = prepare_release(
            readable(source) if isinstance(source, str) else source,
            label=label,
            score=at_most_one(score, "--score"),
            model=model,
            positive=positive,
            metrics=split_names(metrics, "auc"),
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            mechanism=mechanism,
            threshold=at_most_one(threshold, "--threshold"),
            grid=grid,
            strategy=strategy,
            shape=shape,
            target=at_most_one(target, "--target"),
            safe=safe,
            with_auc=with_auc,
            prevalence_guess=prevalence_guess,
            unit=unit,
            rows_per_person=rows_per_person,
            level=level,
            ledger=ledger,
            account=account,
            analyst=analyst,
            also_charge=also_charge,
            reveal=reveal,
            data_name=data_name,
        )
    print_remarks(ready)
    if dry_run:
        print_price(ready.quote(), as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.pay()
    write_document(done, out)
    write_page(done, report, title)
    print_result(done, as_json=as_json)
