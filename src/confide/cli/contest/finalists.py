"""`confide contest finalists`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.contest.server_options import AllowHttp, ContestArgument, To, client_of
from confide.cli.federation_common import print_next
from confide.cli.options import AsJson
from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.client import OracleClient


def finalists(
    contest: ContestArgument,
    to: To,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose", metavar="ID", help="A submission of yours for the final, in place of earlier choices."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE.zip", help="Organiser: write the scores of all finalists here."),
    ] = None,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Choose finalists, or fetch those of a closed contest.

    A participant chooses among own submissions, with --choose for each, until the contest is closed. Without options
    the choice is shown. An organiser fetches all finalists' scores with --out once the contest is closed; they hold no
    label. The holder computes the final from them.

    Examples:

        confide contest finalists heart --to https://oracle.example

        confide contest finalists heart --to https://oracle.example --choose 01J9ZQ... --choose 01JA02...

        confide contest finalists heart --to https://oracle.example -o finalists.zip
    """
    if choose and out is not None:
        raise UsageError("--choose is for participants and --out for organisers; give one of them")
    client = client_of(to, contest, allow_http=allow_http)
    if out is not None:
        _fetch(client, out)
        print_next(
            (
                "Compute the final where the labels are:",
                (f"confide contest publish {contest}/holder {out} --labels LABELS.csv --ledger LEDGER --to {to}",),
            )
        )
        return
    choice = client.choose_finalists(choose) if choose else client.finalists()
    if as_json:
        output.print_json({"contest": contest, **choice.to_dict()})
        return
    for one in choice.submissions:
        typer.echo(one)
    if not choice.chosen:
        typer.echo("you chose none, so your best entry on the board takes part in the final", err=True)


def _fetch(client: OracleClient, out: Path) -> None:
    from confide.tasks.output_files import check_writable

    if out.suffix.lower() != ".zip":
        raise UsageError(f"{out} must end in .zip, as the scores of finalists are a ZIP archive")
    check_writable(out)
    with output.busy("fetching the scores of the finalists"):
        client.finalists_archive(out)
    typer.echo(f"written: {out}", err=True)
