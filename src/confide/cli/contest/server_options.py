"""Options of commands that ask an evaluation server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from confide.errors import TokenError

if TYPE_CHECKING:
    from confide.client import OracleClient

ContestArgument = Annotated[str, typer.Argument(metavar="CONTEST", help="Name of the contest.")]
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="URL", help="Address of the server. The token is read from the variable CONFIDE_TOKEN."
    ),
]
OptionalTo = Annotated[
    str | None,
    typer.Option("--to", metavar="URL", help="Address of the server; your own token is read from CONFIDE_TOKEN."),
]
AllowHttp = Annotated[
    bool, typer.Option("--allow-http", help="Allow http:// to another machine, where others may read the token.")
]


def client_of(to: str, contest: str | None, *, allow_http: bool, token_needed: bool = True) -> OracleClient:
    """Return a client of a contest; refuse to ask without a token where one is needed."""
    from confide.client import OracleClient

    client = OracleClient(to, contest=contest, allow_http=allow_http)
    if token_needed and not client.has_token:
        raise TokenError(
            "there is no token; set the variable CONFIDE_TOKEN to the token that the organiser gave you. It is no "
            "option, since others can see the options of a command"
        )
    return client
