"""What `confide evaluate` writes: its banner, the report, figures and tables, and the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from confide.cli import output
from confide.cli.table_options import local_file, shown_source
from confide.tasks.output_files import check_report

if TYPE_CHECKING:
    from confide.evaluation.evaluation import Evaluation
    from confide.sources.locations import TableLocation


def check_places(file: str, report: Path | None, figures: Path | None, tables: Path | None) -> None:
    """Refuse files and folders that cannot be written, before anything is computed."""
    if report is not None:
        check_report(report, file)
    if figures is not None:
        from confide.report.evaluation.figure_files import check_figures

        check_figures(figures, source=file)
    if tables is not None:
        from confide.report.shared.table_files import check_tables

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
        from confide.report.evaluation.figure_files import write_figures

        with output.busy("drawing the figures"):
            drawn = write_figures(evaluation, figures, source=file)
        typer.echo(f"figures: {len(drawn)} files in {figures}", err=True)
    if tables is not None:
        _write_tables(evaluation, file, tables)


def _write_tables(evaluation: Evaluation, file: str, folder: Path) -> None:
    from confide.report.evaluation.tables import evaluation_tables
    from confide.report.shared.table_files import available_formats, write_tables
    from confide.report.shared.word import MISSING

    with output.busy("writing the tables"):
        written = write_tables(evaluation_tables(evaluation), folder, numbers=evaluation.to_frame(), source=file)
    typer.echo(f"tables: {len(written)} files in {folder}", err=True)
    if "docx" not in available_formats():
        typer.echo(f"note: {MISSING}", err=True)


def show(evaluation: Evaluation, *, as_json: bool) -> None:
    """Print the banner to standard error and the numbers to standard output."""
    from confide.report.shared.banner import banner_text

    typer.echo(banner_text(), err=True)
    if as_json:
        output.print_json(evaluation.to_dict())
    else:
        from confide.report.evaluation.text import print_evaluation

        print_evaluation(evaluation, output.console())
