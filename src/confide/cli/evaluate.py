"""`confide evaluate`: evaluate scores in a file exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import options, output
from confide.tasks.output_files import check_report


def evaluate(
    file: options.File,
    label: Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels; it has two values.")],
    score: Annotated[
        list[str], typer.Option("--score", "-s", metavar="COL", help="Column of scores; repeat it to compare models.")
    ],
    positive: options.Positive = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of weights: the number of rows that a row stands for.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COL", help="Evaluate each value of this column as well.")
    ] = None,
    thresholds: Annotated[
        list[float] | None,
        typer.Option("--threshold", "-t", metavar="T", help="Call score >= T positive; repeatable. [default: 0.5]"),
    ] = None,
    level: options.Level = 0.95,
    as_json: options.AsJson = False,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
    ] = None,
) -> None:
    """Evaluate scores exactly: ranking, calibration, use, with intervals.

    Several scores are compared on the same rows with the paired DeLong test. The numbers are exact,
    not differentially private: they are for those who may see the data.

    Examples:

        confide evaluate scores.csv --label died --score risk

        confide evaluate scores.parquet -l died -s new_model -s old_model --group sex --report out.html

        zcat scores.csv.gz | confide evaluate - -l outcome --positive Poor -s s100b --json
    """
    if report is not None:
        check_report(report, file)
    with output.busy("reading and evaluating"):
        from confide.tasks.evaluate import evaluate as task

        evaluation = task(
            file,
            label=label,
            score=score,
            positive=positive,
            weight=weight,
            group=group,
            thresholds=thresholds,
            level=level,
        )
    if report is not None:
        with output.busy("drawing the report"):
            page = evaluation.to_html(title=f"Evaluation of {output.shown_name(file)}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(evaluation.to_dict())
    else:
        from confide.report.evaluation.text import print_evaluation

        print_evaluation(evaluation, output.console())
