"""`confide contest open`."""

from __future__ import annotations

from confide.cli.contest.server_options import AllowHttp, ContestArgument, To
from confide.cli.contest.state_steps import change_state
from confide.cli.options import AsJson


def open_contest(contest: ContestArgument, to: To, allow_http: AllowHttp = False, as_json: AsJson = False) -> None:
    """Open a contest for submissions.

    A new contest is a draft, which organisers alone can see. Open it, or open it again after a pause.

    Example:

        confide contest open heart --to https://oracle.example
    """
    change_state(contest, "open", to, allow_http=allow_http, as_json=as_json)
