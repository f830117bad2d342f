"""Command `confide evaluate`: evaluate scores in a file or a table exactly."""

from __future__ import annotations

import sys
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
    shown_source,
    split_columns,
)
from confide.errors import ParameterError
from confide.tasks.output_files import check_report

if TYPE_CHECKING:
    from confide.evaluation.evaluation import Evaluation
    from confide.sources.locations import TableLocation


Label = Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels; it has two values.")]
Score = Annotated[
    list[str] | None,
    typer.Option("--score", "-s", metavar="COL", help="Column of scores; repeat it, or use commas, to compare models."),
]
Imputed = Annotated[
    list[str] | None,
    typer.Option(
        "--imputed",
        metavar="NAME=COL,COL",
        help="A model with one column of scores for each imputed dataset; estimates are pooled (Rubin). Repeatable.",
    ),
]
Weight = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of weights: the number of rows that a row stands for.")
]
SurveyWeight = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of sampling weights: inverse sampling probabilities.")
]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", metavar="COL", help="Evaluate each value of this column too; repeat it to cross."),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Rows with one value here depend on each other, as the stays of one patient do."),
]
Fold = Annotated[
    str | None, typer.Option(metavar="COL", help="Fold of a cross-validation; ranking is averaged over folds.")
]
MissingRows = Annotated[
    str, typer.Option("--missing", metavar="RULE", help="Rows without a score: refuse, or drop and count them.")
]
Threshold = Annotated[
    list[float] | None,
    typer.Option("--threshold", "-t", metavar="T", help="Call score >= T positive; repeatable. [default: 0.5]"),
]
CostRatio = Annotated[
    float | None,
    typer.Option(metavar="R", help="Cost of a missed positive over that of a false alarm: find the best threshold."),
]
Specificity = Annotated[
    list[str] | None,
    typer.Option("--specificity", metavar="LOW:HIGH", help="Partial AUC over these specificities; repeatable."),
]
Sensitivity = Annotated[
    list[str] | None,
    typer.Option("--sensitivity", metavar="LOW:HIGH", help="Partial AUC over these sensitivities; repeatable."),
]
IntervalMethod = Annotated[
    str | None,
    typer.Option(
        "--interval", metavar="METHOD", help="plain, logit or bootstrap, for all numbers. [default: what suits each]"
    ),
]
Replicates = Annotated[int, typer.Option(metavar="N", help="Replicates of the bootstrap; 0 for none, which is fast.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the bootstrap.")]
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


def ranges(given: list[str] | None, parameter: str) -> list[tuple[float, float]] | None:
    """Read ranges such as 0.9:1."""
    return None if given is None else [_range(text, parameter) for text in given]


def _range(text: str, parameter: str) -> tuple[float, float]:
    low, separator, high = text.partition(":")
    try:
        if separator:
            return float(low), float(high)
    except ValueError:
        pass
    raise ParameterError(f"`{parameter}` must be a range such as 0.9:1, got {text!r}")


def imputed_columns(given: list[str] | None) -> dict[str, list[str]] | None:
    """Read models such as risk=risk_1,risk_2."""
    from confide.cli.options import split_columns

    if given is None:
        return None
    models: dict[str, list[str]] = {}
    for text in given:
        name, separator, columns = text.partition("=")
        if not (name and separator and columns) or name in models:
            raise ParameterError(
                f"`imputed` must name each model once with its columns, for example risk=risk_1,risk_2; got {text!r}"
            )
        models[name] = split_columns([columns], "imputed")
    return models


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


def evaluate(
    label: Label,
    file: OptionalFile = None,
    score: Score = None,
    imputed: Imputed = None,
    positive: options.Positive = None,
    weight: Weight = None,
    survey_weight: SurveyWeight = None,
    group: Group = None,
    cluster: Cluster = None,
    fold: Fold = None,
    missing: MissingRows = "refuse",
    thresholds: Threshold = None,
    cost_ratio: CostRatio = None,
    specificity: Specificity = None,
    sensitivity: Sensitivity = None,
    level: options.Level = 0.95,
    interval: IntervalMethod = None,
    replicates: Replicates = 1_000,
    seed: Seed = 0,
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

        evaluation = task(
            source,
            label=label,
            score=split_columns(score or ()),
            imputed=imputed_columns(imputed),
            positive=positive,
            weight=weight,
            survey_weight=survey_weight,
            group=split_columns(group or (), "group"),
            cluster=cluster,
            fold=fold,
            missing=missing,
            thresholds=thresholds,
            cost_ratio=cost_ratio,
            specificity=ranges(specificity, "specificity"),
            sensitivity=ranges(sensitivity, "sensitivity"),
            level=level,
            interval=interval,
            replicates=replicates,
            seed=seed,
            progress=progress,
        ).with_command(sys.argv[1:])
    write(evaluation, source, report, figures, tables)
    show(evaluation, as_json=as_json)
    for note in speed_notes(evaluation):
        typer.echo(note, err=True)
