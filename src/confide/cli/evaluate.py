"""`confide evaluate`: evaluate scores in a file exactly."""

from __future__ import annotations

import sys

from confide.cli import evaluate_options as given
from confide.cli import options, output
from confide.cli.evaluate_output import check_places, show, write
from confide.cli.inputs import split_columns
from confide.cli.table_options import EngineOption, OptionalFile, Query, Table, choose_source, local_file


def evaluate(
    label: given.Label,
    file: OptionalFile = None,
    score: given.Score = None,
    imputed: given.Imputed = None,
    positive: options.Positive = None,
    weight: given.Weight = None,
    survey_weight: given.SurveyWeight = None,
    group: given.Group = None,
    cluster: given.Cluster = None,
    fold: given.Fold = None,
    missing: given.MissingRows = "refuse",
    thresholds: given.Threshold = None,
    cost_ratio: given.CostRatio = None,
    specificity: given.Specificity = None,
    sensitivity: given.Sensitivity = None,
    level: options.Level = 0.95,
    interval: given.IntervalMethod = None,
    replicates: given.Replicates = 1_000,
    seed: given.Seed = 0,
    as_json: options.AsJson = False,
    report: given.Report = None,
    figures: given.Figures = None,
    tables: given.Tables = None,
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

        evaluation = task(
            source,
            label=label,
            score=split_columns(score or ()),
            imputed=given.imputed_columns(imputed),
            positive=positive,
            weight=weight,
            survey_weight=survey_weight,
            group=split_columns(group or (), "group"),
            cluster=cluster,
            fold=fold,
            missing=missing,
            thresholds=thresholds,
            cost_ratio=cost_ratio,
            specificity=given.ranges(specificity, "specificity"),
            sensitivity=given.ranges(sensitivity, "sensitivity"),
            level=level,
            interval=interval,
            replicates=replicates,
            seed=seed,
            progress=progress,
        ).with_command(sys.argv[1:])
    write(evaluation, source, report, figures, tables)
    show(evaluation, as_json=as_json)
