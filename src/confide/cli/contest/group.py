"""Verbs of `confide contest`."""

from __future__ import annotations

from typing import ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb


class Verbs(LazyGroup):
    """Verbs of `confide contest`."""

    verbs: ClassVar = {
        "plan": Verb(
            "confide.cli.contest.plan:plan",
            "Plan a contest: the error of its scores, the order on its board, and what nobody can learn.",
        ),
        "new": Verb(
            "confide.cli.contest.new:new",
            "Make a contest from a file of labels: mask the labels once, and charge the ledger.",
        ),
        "check": Verb(
            "confide.cli.contest.check:check",
            "Check a file of scores against the template of a contest, offline and at no cost.",
        ),
        "token": Verb("confide.cli.contest.token:token", "Give a participant or an organiser access to a contest."),
        "open": Verb("confide.cli.contest.open:open_contest", "Open a contest for submissions."),
        "pause": Verb(
            "confide.cli.contest.pause:pause", "Pause a contest: nobody can submit until it is opened again."
        ),
        "status": Verb("confide.cli.contest.status:status", "Show the state of a contest, and who has submitted."),
        "finalists": Verb(
            "confide.cli.contest.finalists:finalists", "Choose finalists, or fetch those of a closed contest."
        ),
        "close": Verb("confide.cli.contest.close:close", "Close a contest for good, before its final."),
        "publish": Verb(
            "confide.cli.contest.publish:publish",
            "Compute the final of a closed contest where the labels are, and charge the ledger.",
        ),
        "backup": Verb("confide.cli.contest.backup:backup", "Copy a server's home folder, and check the copy."),
        "restore": Verb("confide.cli.contest.restore:restore", "Check a backup, and put it where a server can use it."),
        "demo": Verb(
            "confide.cli.contest.demo:demo",
            "Run a whole contest on this machine: a server, ten teams, an attacker, the board and the final.",
        ),
    }


app = typer.Typer(
    cls=Verbs,
    help="Run a contest on secret labels, whose answers cannot give the labels away.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
