"""Places where tokens are made: the server's own folder, or the server over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from confide.cli.contest.server_options import client_of
from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.report.contest.status_text import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDesk:
    """Functions that make, list and revoke tokens of a contest."""

    make: Callable[[str, str, date | None], str]
    listed: Callable[[], Sequence[Token]]
    revoke: Callable[[str], None]

    def new(self, participant: str, *, organiser: bool, until: date | None = None) -> str:
        """Make a token and return its secret."""
        return self.make(participant, "organiser" if organiser else "participant", until)


def desk_of(contest: str, *, home: Path | None, to: str | None, allow_http: bool) -> TokenDesk:
    """Return the desk of a contest at a server's folder or address."""
    if (home is None) == (to is None):
        raise UsageError("give --home on the server's machine, or --to elsewhere")
    if home is not None:
        from confide.service import administration

        folder = home
        return TokenDesk(
            make=lambda participant, role, until: administration.new_token(
                folder, contest, participant, role, until=until
            ),
            listed=lambda: administration.tokens(folder, contest),
            revoke=lambda identity: administration.revoke_token(folder, contest, identity),
        )
    client = client_of(str(to), contest, allow_http=allow_http)
    return TokenDesk(
        make=lambda participant, role, until: (
            client.new_token(participant, organiser=role == "organiser", until=until).token
        ),
        listed=client.tokens,
        revoke=client.revoke,
    )
