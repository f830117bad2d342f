"""`confide evaluate`: exact evaluation of one or more scores in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.errors import ParameterError

if TYPE_CHECKING:
    from confide.evaluation.evaluation import Evaluation


def evaluate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="CSV, TSV, JSON lines or Parquet, text also as .gz; `-` is standard input."
        ),
    ],
    label: Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels, two values.")],
    score: Annotated[
        list[str], typer.Option("--score", "-s", metavar="COL", help="Column of scores; repeat it to compare models.")
    ],
    positive: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="The positive label, unless labels are 0/1, -1/1 or false/true."),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of weights: how many rows a row stands for.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COL", help="Evaluate each value of this column as well.")
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", "-t", metavar="T", help="Call score >= T positive; repeatable. [default: 0.5]"),
    ] = None,
    level: Annotated[float, typer.Option(metavar="P", help="Confidence level of intervals.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
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
        output.check_report(report, file)
    if len(set(score)) < len(score):
        raise ParameterError("a score column is named twice; name each column once")
    if label in score:
        raise ParameterError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    with output.busy("reading and evaluating"):
        evaluation = evaluate_file(
            file,
            label=label,
            scores=score,
            positive=positive,
            weight=weight,
            group=group,
            thresholds=threshold,
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


def evaluate_file(
    file: str,
    *,
    label: str,
    scores: list[str],
    positive: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    thresholds: list[float] | None = None,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate columns of a file; one score without groups is counted inside the engine."""
    from confide.evaluation.evaluate import evaluate_counts, evaluate_rows
    from confide.intervals.interval import check_level
    from confide.sources.tables import count_table, table_rows

    check_level(level)
    if len(scores) == 1 and group is None:
        counted = count_table(file, label=label, score=scores[0], weight=weight, positive=positive)
        return evaluate_counts(
            counted.counts,
            rows=counted.rows,
            weighted=weight is not None,
            name=scores[0],
            thresholds=thresholds,
            level=level,
        )
    rows = table_rows(file, label=label, scores=scores, weight=weight, group=group, positive=positive)
    return evaluate_rows(rows, thresholds=thresholds, level=level)
