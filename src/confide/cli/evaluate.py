"""`confide evaluate`: evaluate scores in a file exactly."""

from __future__ import annotations

import sys

from confide.cli import evaluate_options as given
from confide.cli import options, output
from confide.cli.evaluate_output import check_places, show, write
from confide.cli.inputs import split_columns


def evaluate(
    file: options.File,
    label: given.Label,
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
) -> None:
    """Evaluate scores exactly: ranking, calibration, use, each number with its interval.

    Several scores are compared on the same rows. The numbers are exact, not differentially private: they are for those
    who may see the data.

    Examples:

        confide evaluate scores.csv --label died --score risk

        confide evaluate scores.parquet -l died -s new,old --group sex --group site --report out.html

        confide evaluate stays.csv -l died -s risk --cluster patient --specificity 0.9:1 --tables paper --figures paper

        zcat scores.csv.gz | confide evaluate - -l outcome --positive Poor -s s100b --json
    """
    check_places(file, report, figures, tables)
    with output.busy("reading and evaluating"):
        from confide.tasks.evaluate import evaluate as task

        evaluation = task(
            file,
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
        ).with_command(sys.argv[1:])
    write(evaluation, file, report, figures, tables)
    show(evaluation, as_json=as_json)
