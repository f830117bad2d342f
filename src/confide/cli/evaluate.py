"""Command `confide evaluate`: evaluate scores in a file or a table exactly."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import options, output
from confide.cli.options import (
    EngineOption,
    OptionalFile,
    Query,
    Table,
    choose_source,
    local_file,
    options_of,
    shown_source,
)
from confide.tasks.output_files import check_report
from confide.tasks.requests.evaluate import EvaluateRequest

if TYPE_CHECKING:
    from confide.evaluation.evaluation import Evaluation
    from confide.sources.locations import TableLocation


Report = Annotated[
    Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
]
Figures = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write each figure as SVG, PDF and PNG (300 dpi) into this folder.")
]
Tables = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write each table as CSV, LaTeX, Markdown and Word into this folder."),
]


def check_places(file: str, report: Path | None, figures: Path | None, tables: Path | None) -> None:
    """Refuse files and folders that cannot be written, before anything is computed."""
    if report is not None:
        check_report(report, file)
    if figures is not None:
        from confide.report.evaluation.plots import check_figures

        check_figures(figures, source=file)
    if tables is not None:
        from confide.report.writers.table_files import check_tables

        check_tables(tables, source=file)


def write(
    evaluation: Evaluation,
    source: str | TableLocation,
    report: Path | None,
    figures: Path | None,
    tables: Path | None,
) -> None:
    """Write the report, the figures and the tables, and say where they are."""
    file = local_file(source)
    if report is not None:
        with output.busy("drawing the report"):
            page = evaluation.to_html(title=f"Evaluation of {shown_source(source)}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if figures is not None:
        from confide.report.evaluation.plots import write_figures

        with output.busy("drawing the figures"):
            drawn = write_figures(evaluation, figures, source=file)
        typer.echo(f"figures: {len(drawn)} files in {figures}", err=True)
    if tables is not None:
        _write_tables(evaluation, file, tables)


def _write_tables(evaluation: Evaluation, file: str, folder: Path) -> None:
    from confide.report.evaluation.tables import evaluation_tables
    from confide.report.writers.table_files import MISSING, available_formats, write_tables

    with output.busy("writing the tables"):
        written = write_tables(evaluation_tables(evaluation), folder, numbers=evaluation.to_frame(), source=file)
    typer.echo(f"tables: {len(written)} files in {folder}", err=True)
    if "docx" not in available_formats():
        typer.echo(f"note: {MISSING}", err=True)


def show(evaluation: Evaluation, *, as_json: bool) -> None:
    """Print the banner to standard error and the numbers to standard output."""
    from confide.report.origin import banner_text

    typer.echo(banner_text(), err=True)
    if as_json:
        output.print_json(evaluation.to_dict())
    else:
        from confide.report.evaluation.text import print_evaluation

        print_evaluation(evaluation, output.console())


@options_of(EvaluateRequest)
def evaluate(
    request: partial[EvaluateRequest],
    file: OptionalFile = None,
    as_json: options.AsJson = False,
    report: Report = None,
    figures: Figures = None,
    tables: Tables = None,
    table: Table = None,
    query: Query = None,
    engine: EngineOption = None,
) -> None:
    """Evaluate scores exactly: ranking, calibration, use, each number with its interval.

    Several scores are compared on the same rows. The numbers are exact, not differentially private: they are for those
    who may see the data.

    Examples:

        confide evaluate scores.csv --label died --score risk

        confide evaluate scores.parquet -l died -s new,old --group sex --group site --report out.html

        confide evaluate stays.csv -l died -s risk --cluster patient --specificity 0.9:1 --tables paper --figures paper

        zcat scores.csv.gz | confide evaluate - -l outcome --positive Poor -s s100b --json

        confide evaluate --table postgresql://db.example/heart/trial.scores -l died -s risk --report out.html

        confide evaluate --table "duckdb:///heart.db?table=scores" -l died -s risk
    """
    source = choose_source(file, table, query, engine)
    check_places(local_file(source), report, figures, tables)
    with output.counted_steps("reading and evaluating") as progress:
        from confide.tasks.evaluate import evaluate as task
        from confide.tasks.evaluate import speed_notes

        evaluation = task(source, **request.keywords, progress=progress).with_command(sys.argv[1:])
    write(evaluation, source, report, figures, tables)
    show(evaluation, as_json=as_json)
    for note in speed_notes(evaluation):
        typer.echo(note, err=True)
