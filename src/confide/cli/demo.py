"""`confide demo`: the main job on the bundled example."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.evaluate import evaluate_file
from confide.errors import UsageError


def demo(
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where to put the data and the report.")] = Path("demo"),
) -> None:
    """Evaluate two models on a bundled real example and write a report.

    500 patients after a heart attack: risk of death within a year by a logistic regression on what
    is known on admission, and by age alone.

    Example:

        confide demo
    """
    from confide.examples import HEART_ATTACK
    from confide.report.text import print_text

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    data, report = folder / HEART_ATTACK.name, folder / "report.html"
    output.check_writable(report)
    output.write_whole(data, HEART_ATTACK.read_text(encoding="utf-8"))
    command = f"confide evaluate {data} --label died --score logistic --score age_only --group sex --report {report}"
    typer.echo(f"The same as:\n  {command}\n", err=True)
    with output.busy("evaluating the bundled example"):
        evaluation = evaluate_file(str(data), label="died", scores=["logistic", "age_only"], group="sex")
        page = evaluation.to_html(title=f"Evaluation of {data.name}")
    output.write_whole(report, page)
    print_text(evaluation, output.console())
    typer.echo(f"\nOpen the report in a browser: {report.resolve()}", err=True)
