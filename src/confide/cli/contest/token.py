"""`confide contest token`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.contest.server_options import AllowHttp, ContestArgument, OptionalTo
from confide.cli.contest.token_steps import desk_of
from confide.cli.options import AsJson
from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.report.contest.status_text import Token


def token(
    contest: ContestArgument,
    participant: Annotated[
        str | None, typer.Option("--participant", metavar="NAME", help="Name on the board of who gets the token.")
    ] = None,
    organiser: Annotated[bool, typer.Option("--organiser", help="The token may also organise the contest.")] = False,
    until: Annotated[
        datetime | None,
        typer.Option(
            metavar="DAY",
            formats=["%Y-%m-%d"],
            help="Last day on which the token is valid, in UTC; 180 days from now by default.",
        ),
    ] = None,
    home: Annotated[
        Path | None, typer.Option(metavar="DIR", help="On the server's machine: the folder of `confide serve --home`.")
    ] = None,
    to: OptionalTo = None,
    show: Annotated[bool, typer.Option("--list", help="List the contest's tokens, without their secrets.")] = False,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="Revoke the token with this id; what was sent with it stays.")
    ] = None,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Give a participant or an organiser access to a contest.

    The token is printed once, alone on standard output, and stored nowhere: send it to its holder in secret. On the
    server's machine give --home; this makes the first organiser's token. Elsewhere an organiser gives --to, with the
    own token in the variable CONFIDE_TOKEN. A participant with two tokens is still one participant. Every token has an
    end; a new one for the same participant takes its place.

    Examples:

        confide contest token heart --home oracle --participant host --organiser

        confide contest token heart --to https://oracle.example --participant "Team Curie"

        confide contest token heart --to https://oracle.example --list

        confide contest token heart --home oracle --revoke 01J9ZQ3V8Y6T4W2R0P5N7M1K3H
    """
    if sum((participant is not None, show, revoke is not None)) != 1:
        raise UsageError("give one of --participant, --list and --revoke")
    if until is not None and participant is None:
        raise UsageError("--until is for a new token; give --participant too")
    desk = desk_of(contest, home=home, to=to, allow_http=allow_http)
    if participant is not None:
        secret = desk.new(participant, organiser=organiser, until=None if until is None else until.date())
        role = "organiser" if organiser else "participant"
        if as_json:
            output.print_json({"contest": contest, "participant": participant, "role": role, "token": secret})
        else:
            typer.echo(secret)
        typer.echo(f"a token for {participant}, {role} of {contest}; it is not shown again", err=True)
    elif revoke is not None:
        desk.revoke(revoke)
        typer.echo(f"revoked {revoke}", err=True)
    else:
        _print(contest, desk.listed(), as_json=as_json)


def _print(contest: str, tokens: Sequence[Token], *, as_json: bool) -> None:
    if not as_json:
        from confide.report.contest.status_text import print_tokens

        print_tokens(contest, tokens, output.console())
        return
    names = ("id", "participant", "role", "created_at", "expires_at", "revoked_at")
    output.print_json({"contest": contest, "tokens": [{name: getattr(one, name) for name in names} for one in tokens]})
