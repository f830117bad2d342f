"""Command `confide attack contest`: rehearse a contest against its own scoring oracle."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import output
from confide.cli.attack.options import AsJson, Seed


def attack_contest(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", help="Number of rows of the test set.")],
    queries: Annotated[int, typer.Option("--queries", "-q", metavar="K", help="Number of submissions allowed.")],
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Answers of the oracle: METRIC:exact, METRIC:digits=5 or METRIC:epsilon=1 (for each answer), for auc, "
            "average_precision, accuracy, log_loss or brier. [default: auc:digits=5, with a Ladder accuracy]",
        ),
    ] = None,
    positives: Annotated[int | None, typer.Option(metavar="N", help="Number of positive rows. [default: half]")] = None,
    ladder: Annotated[
        str | None, typer.Option(metavar="STEP", help="Defend with the Ladder of Blum & Hardt and this step.")
    ] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Rehearse a contest: attack its scoring oracle with submissions alone, without any learning. Needs no data.

    Labels are drawn at random. One attack reads them from the answers. Another puts random submissions together until
    the leaderboard shows a high score.

    Examples:

        confide attack contest --rows 500 --queries 100

        confide attack contest --rows 500 --queries 100 --oracle accuracy --ladder 0.02

        confide attack contest --rows 500 --queries 100 --oracle auc:epsilon=0.01 --json
    """
    from confide.tasks.attack import attack_contest as rehearse

    with output.busy("holding the contest"):
        held = rehearse(rows, queries, oracle=oracle, positives=positives, ladder=ladder, seed=seed)
    if as_json:
        output.print_json(held.to_dict())
        return
    from confide.report.attack.contest_text import contest_lines

    for line in contest_lines(held):
        typer.echo(line)
