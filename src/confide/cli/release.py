"""`confide release`: a number that may be published, charged to a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from confide.cli import output
from confide.cli.curve_options import GRIDS, asked_grid, asked_target, check_reveal, grid_in_words, public_files
from confide.cli.inputs import readable
from confide.cli.options import AccountOption, AlsoCharge, Analyst
from confide.cli.scored import scored
from confide.errors import ParameterError

if TYPE_CHECKING:
    from confide.ledger.receipts import Quote, Receipt
    from confide.privacy.guarantee import Guarantee
    from confide.releases.release import PreparedRelease, Release


def release(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="CSV, TSV, JSON lines or Parquet, text also as .gz; `-` is standard input."
        ),
    ],
    label: Annotated[
        str | None, typer.Option("--label", "-l", metavar="COL", help="Column of labels, two values.")
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option("--score", "-s", metavar="COL", help="Column of scores, one.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL.json", help="Instead of columns: what `confide train` wrote, run on rows held out."
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="E",
            help="Privacy budget of this release, for example 1 or 1/3. [default with --model: its workflow's]",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="What to release; repeatable, or several with commas. [default: auc]",
        ),
    ] = None,
    delta: Annotated[str, typer.Option(metavar="D", help="For mechanisms that need one, far below 1 / rows.")] = "0",
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="RELATION",
            help="replace-one, add-remove-one or label-only. [default: replace-one; with --model the training's]",
        ),
    ] = None,
    mechanism: Annotated[str, typer.Option(metavar="NAME", help="How; auto chooses from public facts alone.")] = "auto",
    positive: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="The positive label, unless labels are 0/1, -1/1 or false/true."),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold", "-t", metavar="T", help="For confusion measures, one: score >= T is positive. [default: 0.5]"
        ),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:CELLS",
            help=f"Cells of scores, for curves and private-counts: {GRIDS}. [default: cells on 0 to 1, for "
            "probabilities; under label-only cells with equally many rows]",
        ),
    ] = None,
    strategy: Annotated[
        str, typer.Option(metavar="NAME", help="How cells of curves are counted: flat, tree, tree:8, haar or auto.")
    ] = "auto",
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Of curves: concave (default), isotonic, counts, binormal or roc-glm; costs nothing."
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE=P", help="Choose a threshold from the curves: recall=0.9 or specificity=0.9."),
    ] = None,
    safe: Annotated[
        bool, typer.Option("--safe", help="With --target: even the lower end of its interval is to reach it.")
    ] = False,
    prevalence_guess: Annotated[
        float | None, typer.Option(metavar="P", help="A public guess of the positives' share; steers the noise.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT", help="Whom it protects: row or person. [default: row; with --model the training's]"
        ),
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(metavar="K", help="With --unit person: nobody has more than K rows. [default: 1]")
    ] = None,
    level: Annotated[float, typer.Option(metavar="P", help="Confidence level of intervals.")] = 0.95,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A path or postgresql://...; [default: $CONFIDE_LEDGER, or the user's own]"),
    ] = None,
    account: AccountOption = None,
    analyst: Analyst = None,
    also_charge: AlsoCharge = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the price; charge and release nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a page that may be published as it is.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The page's title.")] = None,
    reveal: Annotated[
        bool,
        typer.Option(
            "--reveal", help="Draw exact curves on the report too: it is then NOT private and not to be published."
        ),
    ] = False,
) -> None:
    """Release a metric under differential privacy, with intervals, and charge the ledger.

    The budget is charged before noise is drawn, and never refunded. The same question about the same file gets the
    same answer at no further cost. A request that does not fit is refused with exit code 3. Accounts are opened with
    `confide ledger new`.

    Each score must be a function of its own row: no ranks, nothing standardised by these rows. Round scores that a
    model gave for many rows at once, to six decimals say: their last digits depend on the other rows.

    Metrics: auc, average_precision, brier, prevalence, confusion (all that follows from the matrix at
    --threshold), or single ones of it: accuracy, recall, specificity, precision, f1, ...

    With --model the rows that were held out of training are read, and scored by the model; what they cost does not add
    up with the training. To evaluate a model on another file, score that with `confide predict` and name the --score.

    Curves, with bands: roc, pr, calibration (curves for all three) and counts, the table that they are drawn
    from; --target chooses a threshold on them. With a curve or a target everything asked for, observed_expected too,
    follows from one table of noisy counts: asking again with another --level, --shape, --target or curve costs
    nothing, with another --grid, --strategy or --threshold it costs again.

    Examples:

        confide ledger new trial-7 --epsilon 3 --data scores.csv

        confide release scores.csv --label died --score risk --epsilon 1 --account trial-7 --dry-run

        confide release scores.csv -l died -s risk -e 1 --account trial-7 --report auc.html

        confide release scores.csv -l died -s risk -e 2 -m auc,average_precision,recall -t 0.2 --account trial-7 --json

        confide release scores.csv -l died -s risk -e 1 -m roc,pr,calibration --grid logit:64 --account trial-7

        confide release scores.csv -l died -s risk -e 1 -m curves,auc --target recall=0.9 --safe --account trial-7

        confide release test.csv -l won -s submission -e 0.1 --neighbours label-only --account contest --analyst team-4

        confide release messages.csv --model model.json -m auc,accuracy --account messages --report evaluation.html
    """
    metrics = [name.strip() for given in metric or ["auc"] for name in given.split(",") if name.strip()]
    if report is not None:
        output.check_report(report, file)
        output.check_not_ledger(report, ledger)
    cut = next(iter(_at_most_one(threshold, "--threshold")), None)
    source_of_scores = scored(model, label=label, score=_at_most_one(score, "--score"), positive=positive)
    protected, most_rows = source_of_scores.protects(unit, rows_per_person)
    options: dict[str, Any] = {
        "epsilon": source_of_scores.epsilon(epsilon),
        "delta": delta,
        "neighbours": source_of_scores.neighbours(neighbours),
        "mechanism": mechanism,
        "threshold": cut,
        "grid": asked_grid(grid, file),
        "strategy": strategy,
        "shape": shape,
        "target": asked_target(_at_most_one(target, "--target"), safe=safe),
        "prevalence_guess": prevalence_guess,
        "unit": protected,
        "rows_per_person": most_rows,
        "level": level,
    }
    trial = check_terms(metrics, options)
    if reveal:
        check_reveal(trial, report)
    source = readable(file)
    from confide.ledger.payer import FileSubject, Payer

    subject = FileSubject(
        file=source,
        label=source_of_scores.label,
        positive=source_of_scores.positive,
        details=source_of_scores.details(),
        public_files=public_files(grid),
    )
    payer = Payer(subject=subject, ledger=ledger, account=account, analyst=analyst, also_charge=also_charge).checked()
    with output.busy("reading"):
        prepared = source_of_scores.prepare(source, metrics, options)
    if dry_run:
        _show_price(payer.quote(prepared), prepared, as_json=as_json)
        return
    receipt = payer.pay(prepared)
    if report is not None:
        from confide.report.release.page import release_page

        about = source_of_scores.about()
        if _has_grid(receipt):
            about["grid"] = grid_in_words(grid)
        named = title or ("Private release beside exact curves" if reveal else "Private release")
        revealed = prepared[0].counts if reveal else None
        output.write_whole(report, release_page(receipt, title=named, about=about, revealed=revealed))
        typer.echo(f"report: {report}", err=True)
        if reveal:
            typer.echo(f"warning: {report} shows exact curves: it is not private and not to be published", err=True)
    for note in payer.notes(receipt):
        typer.echo(str(note), err=True)
    if as_json:
        output.print_json({**document(receipt), "data": source_of_scores.data()})
    else:
        from confide.report.release.text import print_release

        print_release(receipt, output.console())


def _has_grid(receipt: Receipt[Release]) -> bool:
    """Whether anything was counted on a grid."""
    return any({"grid", "cells"} & set(release.options) for release in receipt.releases)


T = TypeVar("T")


def _at_most_one(given: list[T] | None, option: str) -> list[T]:
    """Refuse an option that is repeated: silently taking the last would charge for the wrong thing."""
    if given and len(given) > 1:
        raise ParameterError(f"a release takes one {option}; ask for each of them by itself")
    return given or []


def check_terms(metrics: Sequence[str], options: dict[str, Any]) -> tuple[PreparedRelease, ...]:
    """Refuse wrong parameters before the file is read: prepare the request for a made-up dataset."""
    from confide.counts import ScoreCounts
    from confide.releases.registry import prepare

    return prepare(metrics, ScoreCounts.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]), **options)


def document(receipt: Receipt[Release]) -> dict[str, Any]:
    """The JSON: one release flat, several in a list."""
    from confide.releases.release import SCHEMA
    from confide.report.release.tables import split_of, whole_guarantee

    ledger = {
        "account": receipt.account,
        "charged": float(receipt.charged.epsilon),
        "spent": float(receipt.spent.epsilon),
        "remaining": float(receipt.remaining.epsilon),
        "spent_delta": float(receipt.spent.delta),
        "remaining_delta": float(receipt.remaining.delta),
        "reused": receipt.reused,
    }
    if len(receipt.releases) == 1:
        return {**receipt.releases[0].to_dict(), "ledger": ledger}
    return {
        "schema": SCHEMA,
        "releases": [
            {key: value for key, value in part.to_dict().items() if key != "schema"} for part in receipt.releases
        ],
        "split": split(split_of(receipt)),
        "guarantee": whole_guarantee(receipt).to_dict(),
        "ledger": ledger,
    }


def split(parts: Sequence[tuple[Sequence[str], Guarantee]]) -> list[dict[str, Any]]:
    """What each noise costs, and the metrics that share it."""
    return [
        {"metrics": list(names), "epsilon": float(part.epsilon), "delta": float(part.delta)} for names, part in parts
    ]


def _show_price(quote: Quote, prepared: Sequence[PreparedRelease], *, as_json: bool) -> None:
    """Show what it would cost; exit with 3 if it does not fit."""
    if as_json:
        parts = [(part.asked or (part.request["metric"],), part.guarantee) for part in prepared]
        output.print_json({"schema": "confide.quote/1", **quote.to_dict(), "split": split(parts)})
    else:
        from confide.report.release.text import print_quote

        print_quote(quote, prepared, output.console())
    if not quote.fits:
        raise typer.Exit(3)
