"""Server of a final: asked before anything is charged, and told the result afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from confide.cli import output
from confide.cli.contest.server_options import client_of
from confide.errors import OracleError

if TYPE_CHECKING:
    from confide.client import OracleClient
    from confide.tasks.contest_publish import PublishedFinal, ReadyFinal

_CLOSED, _PUBLISHED = "closed", "published"


def server_of(to: str, ready: ReadyFinal, *, allow_http: bool) -> OracleClient:
    """Return a client of the contest's server; refuse a token or a state with which the final cannot be published.

    A final that is published may be computed once more if that is free: it may be the very same.
    """
    name = ready.terms.name
    client = client_of(to, None, allow_http=allow_http)
    with output.busy("asking the server"):
        state = client.status(name).state
    if state == _PUBLISHED and not ready.quote().quote.answered:
        raise OracleError(
            f"the final of {name} is published, and it was not computed from these finalists, labels and ledger; "
            f"nothing was charged. See {client.address_of(name)}/final"
        )
    if state not in (_CLOSED, _PUBLISHED):
        raise OracleError(
            f"contest {name} is {state}, not closed; nothing was charged. Close it first: confide contest close {name} "
            f"--to {to}"
        )
    return client


def send(client: OracleClient, done: PublishedFinal) -> None:
    """Publish a result, unless the server shows this very result already."""
    name = done.terms.name
    page = f"{client.address_of(name)}/final"
    with output.busy("publishing"):
        if client.status(name).state == _PUBLISHED:
            shown, own = client.final(name), done.result.to_dict()
            if any(shown.get(key) != value for key, value in own.items()):
                raise OracleError(f"another result is published, and it stays: {page}")
            words = "published already, with this very result"
        else:
            client.publish_final(done.result, name)
            words = "published"
    typer.echo(f"{words}: {page}", err=True)
