"""`confide submit`: submit scores to a contest."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.options import AllowHttp, AsJson, To, client_of
from confide.errors import SubmissionError, UsageError

if TYPE_CHECKING:
    from confide.contest.client import OracleClient
    from confide.contest.client.results import Submission


def submit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Ids and scores: CSV or Parquet, a line for each id of the template.")
    ],
    to: To,
    contest: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the contest, unless the address has it.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check the file against the contest's template first.")
    ] = True,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Submit scores to a contest, and see how good they are.

    The token is read from the variable CONFIDE_TOKEN. The file is checked here before it is sent; what does not fit
    costs no submission. The same scores are the same submission: if the connection breaks, submit again. Exit code 3
    means that no submission is left for now.

    Examples:

        confide submit scores.csv --to https://oracle.example/contests/heart

        confide submit scores.parquet --to https://oracle.example --contest heart --json
    """
    if str(file) == "-":
        raise UsageError("a submission is a file; standard input cannot be sent again if the connection breaks")
    client = client_of(to, contest, allow_http=allow_http)
    if check:
        _check(client, file)
    done = _send(client, file)
    with output.busy("waiting for the board"):
        board = client.leaderboard(after=done)
    if as_json:
        entry = board.entry(done.participant)
        output.print_json(
            {**done.to_dict(), "rank": None if entry is None else entry.rank, "entries": len(board.entries)}
        )
        return
    from confide.report.contest import print_submission

    print_submission(done, board, client.contest().terms, output.console())


def _check(client: OracleClient, file: Path) -> None:
    """Refuse a file that does not fit, before it is sent."""
    from confide.tasks.contest_check import check_submission

    with output.busy("checking the file"), tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template.json"
        template.write_text(client.template().to_json(), encoding="utf-8")
        found = check_submission(template, file)
    if not found.fits:
        raise SubmissionError(found.problems)


def _send(client: OracleClient, file: Path) -> Submission:
    with output.bytes_sent("sending") as progress:
        return client.submit(file, progress=progress)
