"""`confide contest pause`."""

from __future__ import annotations

from confide.cli.contest.server_options import AllowHttp, ContestArgument, To
from confide.cli.contest.state_steps import change_state
from confide.cli.options import AsJson


def pause(contest: ContestArgument, to: To, allow_http: AllowHttp = False, as_json: AsJson = False) -> None:
    """Pause a contest: nobody can submit until it is opened again.

    The board stays as it is. Submissions that are being scored are finished.

    Example:

        confide contest pause heart --to https://oracle.example
    """
    change_state(contest, "paused", to, allow_http=allow_http, as_json=as_json)
