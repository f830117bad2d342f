"""`confide contest status`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.contest.server_options import AllowHttp, ContestArgument, To, client_of
from confide.cli.options import AsJson


def status(contest: ContestArgument, to: To, allow_http: AllowHttp = False, as_json: AsJson = False) -> None:
    """Show the state of a contest, and who has submitted.

    It needs an organiser's token. Everybody can read terms, board and final on the contest's page.

    Examples:

        confide contest status heart --to https://oracle.example

        confide contest status heart --to https://oracle.example --json
    """
    found = client_of(to, contest, allow_http=allow_http).status()
    if as_json:
        output.print_json(found.to_dict())
        return
    from confide.report.contest.status_text import print_status

    print_status(found, output.console())
