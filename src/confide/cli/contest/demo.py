"""`confide contest demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.contest.demo_server_steps import require_server
from confide.cli.contest.demo_steps import run_demo
from confide.cli.options import AsJson


def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new folder for all files. [default: a temporary one]")
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of the test set; two fifths of them count.")] = 2000,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="E", help="Promise of the board.")] = "2",
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Repeat the same labels and teams; masks are new each time.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the server running at the end, to look at its pages, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a whole contest on this machine: a server, ten teams, an attacker, the board and the final.

    Labels are coin flips. The holder masks them, a real server gets the masked labels, and everybody submits over HTTP.
    The attacker runs the attacks of `confide attack contest` on the server, and beside it on exact answers. At the end
    stand the board, the share of labels that the attacker got right beside the bound, and the final with its shake-up.
    It takes about a minute.

    Examples:

        confide contest demo

        confide contest demo trial --rows 1000 --epsilon 1 --keep

        confide contest demo --json
    """
    from confide.tasks.contest_demo import plan_demo

    require_server()
    with output.busy("preparing"):
        plan = plan_demo(folder, rows=rows, epsilon=epsilon, seed=seed)
    run_demo(plan, keep=keep, as_json=as_json)
