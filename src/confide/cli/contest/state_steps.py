"""Change the state of a contest, and say what it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from confide.cli import output
from confide.cli.contest.server_options import client_of

if TYPE_CHECKING:
    from confide.client.results import Contest


def change_state(contest: str, state: str, to: str, *, allow_http: bool, as_json: bool) -> Contest:
    """Ask the server to change a contest's state; print the contest as it is then."""
    client = client_of(to, contest, allow_http=allow_http)
    changed = client.set_state(state)
    if as_json:
        output.print_json(changed.to_dict())
    typer.echo(f"{contest} is {changed.state}: {client.address}", err=True)
    return changed
