"""Command `confide train`: train a classifier under differential privacy."""

from __future__ import annotations

import typer

from confide.cli import options as shared
from confide.cli import output, workflow_output
from confide.cli import workflow_options as own
from confide.cli.inputs import readable


def train(
    context: typer.Context,
    file: shared.File,
    label: shared.Label = None,
    text: own.Text = None,
    columns: own.Columns = None,
    features: own.Features = None,
    model: own.Model = "naive-bayes",
    budget: own.BudgetOption = None,
    epsilon: own.Epsilon = None,
    mechanism: own.CountMechanism = None,
    delta: own.CountDelta = None,
    hold_out: own.HoldOut = None,
    hold_out_by: own.HoldOutBy = None,
    positive: shared.PrivatePositive = None,
    bits: own.Bits = None,
    leave_out: own.LeaveOut = None,
    vocabulary: own.Vocabulary = None,
    dictionary: own.Dictionary = None,
    row_weight: own.RowWeight = None,
    limit: own.Limit = None,
    keep: own.Keep = None,
    calibration: own.Calibration = None,
    regularization: own.Regularization = None,
    perturb: own.Perturb = None,
    neighbours: own.Relation = None,
    unit: own.Unit = None,
    rows_per_person: shared.RowsPerPerson = None,
    ledger: shared.LedgerOption = None,
    account: shared.AccountOption = None,
    analyst: shared.Analyst = None,
    also_charge: shared.AlsoCharge = False,
    dry_run: shared.DryRun = False,
    as_json: shared.AsJson = False,
    out: shared.Out = None,
    report: own.ModelPage = None,
    title: shared.Title = None,
) -> None:
    """Train a classifier under differential privacy, and charge the ledger.

    Features are public rules, as for `confide select`, or those that it selected (--features). Naive Bayes chooses
    features from its own noisy counts and needs no selection. Logistic regression is for a few dozen features: select
    first. Rows that are held out are not read. Evaluate the model on them with `confide release --model`, which costs
    nothing more up to the price of the training.

    Examples:

        confide train messages.csv --label spam --text message --budget 1 --out model.json

        confide train patients.csv -l died -c smoker -c age=50,60,70 -c "sex=f|m" --dry-run

        confide train messages.csv --features features.json --model logistic-regression --out model.json

        confide release messages.csv --model model.json --metric auc,accuracy --report evaluation.html
    """
    output.check_json_out(out, file, ledger)
    output.check_published_page(report, file, ledger)
    from confide.tasks.train import prepare_train

    with output.busy("reading"):
        ready = prepare_train(
            readable(file),
            label=label,
            text=text,
            columns=columns,
            features=features,
            model=model,
            budget=budget,
            epsilon=epsilon,
            mechanism=mechanism,
            delta=delta,
            hold_out=hold_out,
            hold_out_by=hold_out_by,
            positive=positive,
            bits=bits,
            leave_out=leave_out,
            vocabulary=vocabulary,
            dictionary=dictionary,
            row_weight=row_weight,
            limit=limit,
            keep=keep,
            calibration=calibration,
            regularization=regularization,
            perturb=perturb,
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            ledger=ledger,
            account=account,
            analyst=analyst,
            also_charge=also_charge,
        )
    workflow_output.finish(ready, context, out=out, report=report, title=title, dry_run=dry_run, as_json=as_json)
