"""`confide contest check`: check a file of scores before it is submitted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output


def check(
    template_file: Annotated[Path, typer.Argument(metavar="TEMPLATE", help="The organiser's file template.json.")],
    scores_file: Annotated[Path, typer.Argument(metavar="SCORES", help="CSV or Parquet with an id and a score a row.")],
    as_json: options.AsJson = False,
) -> None:
    """Check a file of scores against the template of a contest, offline and at no cost.

    Ids must be those of the template, each once, in any order. Scores must be finite numbers, between 0 and 1 if the
    metric of the contest needs probabilities. Other columns are ignored. Exits with 1 if the file does not fit.

    Examples:

        confide contest check heart/template.json scores.csv

        confide contest check template.json scores.parquet --json
    """
    from confide.report.contest.check_text import print_check
    from confide.tasks.contest_check import check_submission

    found = check_submission(template_file, scores_file)
    if as_json:
        output.print_json(found.to_dict())
    else:
        print_check(found, output.shown_name(str(scores_file)), output.console())
    if not found.fits:
        sys.exit(1)
