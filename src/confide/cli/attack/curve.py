"""Command `confide attack curve`: attack the points of a published ROC curve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.attack.options import AsJson
from confide.cli.options import Positive


def attack_curve(
    curve: Annotated[
        Path,
        typer.Argument(
            metavar="CURVE", help="File with columns fpr, tpr and, where published, threshold; from (0, 0) to (1, 1)."
        ),
    ],
    before: Annotated[
        Path | None, typer.Option(metavar="CURVE", help="Earlier curve of the same rows without one: find that row.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Scores of all rows, without labels: find the labels.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows that the adversary knows: find them on the curve.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", "-l", metavar="COL", help="With --known: labels.")] = None,
    score: Annotated[
        str | None, typer.Option("--score", "-s", metavar="COL", help="Column of scores of --scores or --known.")
    ] = None,
    positive: Positive = None,
    digits: Annotated[
        int | None, typer.Option(metavar="D", help="Decimals that rates were rounded to. [default: exact]")
    ] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", metavar="N", min=2, help="Rows, if known.")] = None,
    positives: Annotated[int | None, typer.Option(metavar="N", min=1, help="Positive rows, if known.")] = None,
    negatives: Annotated[int | None, typer.Option(metavar="N", min=1, help="Negative rows, if known.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what the points of a published ROC curve give away: class sizes, labels, single rows.

    The curve alone tells the class sizes and the labels of ranked rows. With --scores it tells which rows these are.
    With --before, two curves tell the class and the place of the row that was added in between. With --known, rows that
    the adversary knows are found on the curve, which narrows down the rows beside them.

    Examples:

        confide attack curve roc.csv --rows 172

        confide attack curve roc.csv --scores scores.csv --score risk --digits 2

        confide attack curve march.csv --before february.csv --json

        confide attack curve roc.csv --known mine.csv --label died --score risk --positives 72 --negatives 100
    """
    from confide.tasks.attack import attack_curve as attack

    with output.busy("reading and attacking"):
        done = attack(
            curve,
            digits=digits,
            rows=rows,
            positives=positives,
            negatives=negatives,
            before=before,
            scores=scores,
            known=known,
            label=label,
            score=score,
            positive=positive,
        )
    if as_json:
        output.print_json(done.to_dict())
        return
    from confide.report.attack.curve import curve_lines

    for line in curve_lines(done):
        typer.echo(line)
