"""Command `confide attack labelings`: count the labelings that an AUC leaves possible."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.attack.options import AsJson
from confide.errors import ParameterError, UsageError

_WHAT = {False: "counting labelings", True: "counting labelings, and the submissions that tell them apart"}


def attack_labelings(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", help="Number of ranked rows.")],
    auc: Annotated[
        str, typer.Option(metavar="A", help="The AUC: a fraction is exact, decimals are rounded to that many digits.")
    ],
    positives: Annotated[int | None, typer.Option(metavar="N", help="Number of positive rows, if known.")] = None,
    cut: Annotated[bool, typer.Option("--cut", help="Decimals were cut off, not rounded.")] = False,
    ties: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Rows that share each score, from the lowest; they add up to --rows."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Print every labeling, from the lowest score to the highest, a line each.")
    ] = False,
    queries: Annotated[
        bool, typer.Option("--queries", help="Also count the submissions that find the true labeling.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count, or list, the labelings of ranked rows that an AUC leaves possible (Whitehill 2019). Needs no data.

    Examples:

        confide attack labelings --rows 106 --auc 1387/1440

        confide attack labelings --rows 106 --auc 1387/1440 --json

        confide attack labelings --rows 172 --auc 0.90278 --positives 72

        confide attack labelings --rows 11 --auc 17/24 --positives 8 --list
    """
    from confide.tasks.attack import attack_labelings as count
    from confide.tasks.attack import possible_labelings

    if listed and (as_json or queries):
        raise UsageError("--list prints labelings and nothing else; leave --json and --queries out")
    groups = None if ties is None else _numbers(ties)
    if listed:
        for chunk in possible_labelings(rows, auc, positives=positives, cut=cut, ties=groups).stream():
            sys.stdout.writelines("".join(map(str, labels)) + "\n" for labels in chunk.tolist())
        return
    with output.busy(_WHAT[queries], takes_long=queries):
        done = count(rows, auc, positives=positives, cut=cut, ties=groups, queries=queries)
    if as_json:
        output.print_json(done.to_dict())
        return
    from confide.report.attack.labelings import labelings_lines

    for line in labelings_lines(done):
        typer.echo(line)


def _numbers(ties: str) -> tuple[int, ...]:
    parts = [part.strip() for part in ties.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ParameterError(f"ties must be whole numbers with commas, for example 1,3,1; got {ties!r}")
    return tuple(int(part) for part in parts)
