"""`confide contest new`: make a contest from a file of labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output
from confide.cli.contest.metric_options import METRIC_HELP
from confide.cli.federation_common import print_notes


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the contest: small letters, digits, hyphens.")],
    labels_file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Private file of ids and labels: CSV, TSV, JSON lines or Parquet."),
    ],
    label: Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", metavar="E", help="Promise of the board: of all its answers together.")
    ],
    id: Annotated[str, typer.Option("--id", metavar="COL", help="Column of ids, which are public.")] = "id",  # noqa: A002
    positive: options.PrivatePositive = None,
    metric: Annotated[str, typer.Option("--metric", "-m", metavar="NAME", help=METRIC_HELP)] = "auc",
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Decision threshold, for metrics that need one. [default: 0.5]")
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Share of rows for the board. [default: 0.5 if there is a final, else all]"),
    ] = None,
    final_epsilon: Annotated[
        str | None,
        typer.Option(metavar="E", help="Promise of the final, on the other rows. [default: no final]"),
    ] = None,
    final_delta: Annotated[
        str, typer.Option(metavar="D", help="For a final with shaped noise, which is less noise; far below 1 / rows.")
    ] = "0",
    per_answer: Annotated[
        bool, typer.Option("--per-answer", help="Charge each answer instead of masking labels: for few questions.")
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title on pages. [default: the name]")] = None,
    score: Annotated[str, typer.Option(metavar="COL", help="Column of scores in submissions.")] = "score",
    daily_limit: Annotated[int, typer.Option(metavar="N", help="Scored submissions of a participant each day.")] = 5,
    total_limit: Annotated[int, typer.Option(metavar="N", help="Scored submissions of a participant in all.")] = 1000,
    finalists: Annotated[int, typer.Option(metavar="N", help="Submissions of a participant in the final.")] = 2,
    level: options.Level = 0.95,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    also_charge: options.AlsoCharge = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder in which the contest's folder is made.")
    ] = Path(),
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Make a contest from a file of labels: mask the labels once, and charge the ledger.

    Each label is flipped once, with a public probability. NAME/server.zip holds the masked labels and may leave:
    everything that a server answers from it keeps the one promise of --epsilon. NAME/holder/ stays with you. The ids
    are public: NAME/template.json lists them, sorted by their text. With --per-answer no label is masked: you run the
    server yourself, where the labels are, and each answer is charged.

    With --final-epsilon a part of the rows is kept for the final, which you compute where the labels are (`confide
    contest publish`). A keyed hash of the id divides the rows, so what the two cost does not add up.

    The account must have label-only neighbours and be for this file. The same contest, made again, gets the same masked
    labels at no further cost.

    Examples:

        confide ledger new trial --epsilon 2 --delta 1e-6 --neighbours label-only --label died --data labels.csv

        confide contest new heart labels.csv --label died --epsilon 2 --account trial --dry-run

        confide contest new heart labels.csv --id id --label died --metric auc --public 0.5 --epsilon 2
        --final-epsilon 1 --final-delta 1e-6 --account trial

        confide contest new vendor labels.csv -l died -e 0.1 --per-answer --account trial
    """
    from confide.tasks.contest_new import prepare_contest

    given = {key: value for key, value in locals().items() if key not in ("prepare_contest", "dry_run", "as_json")}
    with output.busy("reading"):
        ready = prepare_contest(**given)
    from confide.report.contest.new_text import print_new, print_price

    if dry_run:
        price = ready.quote()
        print_notes(price.notes)
        output.print_json(price.to_dict()) if as_json else print_price(price, output.console())
        if price.refusal is not None:
            typer.echo(f"error: {price.refusal}", err=True)
            sys.exit(3)
        return
    with output.busy("charging the ledger and masking labels"):
        made = ready.make()
    print_notes(made.notes)
    output.print_json(made.to_dict()) if as_json else print_new(made, output.console())
