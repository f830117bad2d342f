"""`confide contest publish`: compute the final of a closed contest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output
from confide.cli.contest.publish_steps import send, server_of
from confide.cli.contest.server_options import AllowHttp, OptionalTo


def publish(
    holder: Annotated[Path, typer.Argument(metavar="HOLDER", help="The folder that `confide contest new` made.")],
    finalists_file: Annotated[
        Path, typer.Argument(metavar="FINALISTS", help="The file finalists.zip of the closed contest.")
    ],
    labels_file: Annotated[
        Path, typer.Option("--labels", metavar="FILE", help="The private file that the contest was made from.")
    ],
    to: OptionalTo = None,
    allow_http: AllowHttp = False,
    ledger: options.LedgerOption = None,
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Account to charge. [default: the one that paid for the board]")
    ] = None,
    also_charge: options.AlsoCharge = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE.json", help="File of the result. [default: final.json by HOLDER]"),
    ] = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Compute the final of a closed contest where the labels are, and charge the ledger.

    The final reads the rows that the board never used, once, for all finalists together. The result may be published:
    it is written to a file and, with --to, sent to the server, which is asked beforehand whether it will take it. The
    same finalists get the same result at no further cost.

    Examples:

        confide contest finalists heart --to https://contest.example --out finalists.zip

        confide contest publish heart/holder finalists.zip --labels labels.csv --dry-run

        confide contest publish heart/holder finalists.zip --labels labels.csv --to https://contest.example
    """
    from confide.report.contest.publish_text import print_final, print_price
    from confide.tasks.contest_publish import prepare_publication

    with output.busy("reading"):
        ready = prepare_publication(
            holder,
            labels_file,
            finalists_file,
            account=account,
            ledger=ledger,
            also_charge=also_charge,
            out=out,
        )
    client = None if to is None else server_of(to, ready, allow_http=allow_http)
    if dry_run:
        price = ready.quote()
        output.print_json(price.to_dict()) if as_json else print_price(price, output.console())
        if price.refusal is not None:
            typer.echo(f"error: {price.refusal}", err=True)
            sys.exit(3)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.publish()
    for note in done.notes:
        typer.echo(note, err=True)
    typer.echo(f"written: {done.file}", err=True)
    output.print_json(done.to_dict()) if as_json else print_final(done, output.console())
    if client is not None:
        send(client, done)
