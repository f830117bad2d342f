"""`confide contest close`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from confide.cli.contest.server_options import AllowHttp, ContestArgument, To
from confide.cli.contest.state_steps import change_state
from confide.cli.federation_common import print_next
from confide.cli.options import AsJson


def close(
    contest: ContestArgument,
    to: To,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before closing.")] = False,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Close a contest for good, before its final.

    Nobody can submit or choose finalists afterwards. Whoever chose none takes part with the best entry on the board. On
    a terminal you are asked before, unless --yes is given.

    Example:

        confide contest close heart --to https://oracle.example
    """
    if not yes and sys.stdin is not None and sys.stdin.isatty():
        typer.confirm(f"Close {contest} for good? It cannot be opened again.", abort=True, err=True)
    changed = change_state(contest, "closed", to, allow_http=allow_http, as_json=as_json)
    if changed.terms.final_epsilon is None:
        typer.echo("this contest has no final: the board stands", err=True)
        return
    print_next(
        ("Fetch the scores of the finalists:", (f"confide contest finalists {contest} --to {to} -o finalists.zip",)),
        (
            "Compute the final where the labels are:",
            (f"confide contest publish {contest}/holder finalists.zip --labels LABELS.csv --ledger LEDGER --to {to}",),
        ),
    )
