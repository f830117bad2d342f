"""Command `confide select`: choose features under differential privacy."""

from __future__ import annotations

import typer

from confide.cli import options as shared
from confide.cli import output, workflow_output
from confide.cli import workflow_options as own
from confide.cli.inputs import readable


def select(
    context: typer.Context,
    file: shared.File,
    label: shared.Label = None,
    text: own.Text = None,
    columns: own.Columns = None,
    k: own.K = None,
    threshold: own.Threshold = None,
    method: own.Method = "score-perturbation",
    score: own.FeatureScore = "total-count",
    features_per_row: own.FeaturesPerRow = None,
    clusters: own.Clusters = None,
    budget: own.BudgetOption = None,
    epsilon: own.Epsilon = None,
    mechanism: own.Mechanism = "laplace",
    delta: shared.Delta = "0",
    hold_out: own.HoldOut = None,
    hold_out_by: own.HoldOutBy = None,
    positive: shared.PrivatePositive = None,
    bits: own.Bits = None,
    leave_out: own.LeaveOut = None,
    vocabulary: own.Vocabulary = None,
    dictionary: own.Dictionary = None,
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
) -> None:
    """Select features under differential privacy, and charge the ledger.

    Features are public rules, never learnt from the rows: words hashed to places, or columns cut at points that you
    name. Of a column with two features (sex=f|m, age=65), the first value or the upper interval is a candidate, as the
    other one says the same. The selected features are released. This costs half of the workflow's --budget unless
    --epsilon says otherwise. Rows are held out by a public rule for `confide release --model`, so that its cost does
    not add up. Naive Bayes chooses features from its own noisy counts at no cost: `confide train` without `select` is
    often better.

    Examples:

        confide select messages.csv --label spam --text message -k 200 --out features.json

        confide select patients.csv -l died -c smoker -c age=50,60,70 -c "sex=f|m" -k 4 --dry-run

        confide select messages.csv -l spam --text message --method peeling --score difference-count -k 20 --json
    """
    output.check_json_out(out, file, ledger)
    from confide.tasks.select import prepare_select

    with output.busy("reading"):
        ready = prepare_select(
            readable(file),
            label=label,
            text=text,
            columns=columns,
            k=k,
            threshold=threshold,
            method=method,
            score=score,
            features_per_row=features_per_row,
            clusters=clusters,
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
            neighbours=neighbours,
            unit=unit,
            rows_per_person=rows_per_person,
            ledger=ledger,
            account=account,
            analyst=analyst,
            also_charge=also_charge,
        )
    workflow_output.finish(ready, context, out=out, dry_run=dry_run, as_json=as_json)
