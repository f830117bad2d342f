"""`confide select`: features for a model, chosen under differential privacy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from confide.cli import output
from confide.cli.inputs import readable
from confide.cli.options import (
    AccountOption,
    AlsoCharge,
    Analyst,
    AsJson,
    DryRun,
    File,
    Label,
    LedgerOption,
    Out,
    Positive,
    RowsPerPerson,
)
from confide.cli.workflow_options import (
    Bits,
    BudgetOption,
    Columns,
    Epsilon,
    HoldOut,
    HoldOutBy,
    LeaveOut,
    Relation,
    Text,
    Unit,
    Vocabulary,
    new_workflow,
    remark_on_sides,
    workflow_subject,
)
from confide.cli.workflow_output import print_price, write_workflow


def select(
    file: File,
    label: Label = None,
    text: Text = None,
    column: Columns = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", metavar="K", help="How many features to take; not for clusters. [default: 100, or all if fewer]"
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Take features whose score reaches T, instead of K of them.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help="score-perturbation, sparse-vector, peeling, permute-and-flip or clusters."),
    ] = "score-perturbation",
    score: Annotated[
        str,
        typer.Option(metavar="NAME", help="total-count, difference-count, purity-index or information-gain."),
    ] = "total-count",
    features_per_row: Annotated[
        int | None,
        typer.Option(metavar="R", help="Of a row with more features, R count. [default: 10 where it lessens noise]"),
    ] = None,
    clusters: Annotated[int | None, typer.Option(metavar="N", help="With --method clusters. [default: 8]")] = None,
    budget: BudgetOption = None,
    epsilon: Epsilon = None,
    hold_out: HoldOut = None,
    hold_out_by: HoldOutBy = None,
    positive: Positive = None,
    bits: Bits = None,
    leave_out: LeaveOut = None,
    vocabulary: Vocabulary = None,
    neighbours: Relation = None,
    unit: Unit = None,
    rows_per_person: RowsPerPerson = None,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    analyst: Analyst = None,
    also_charge: AlsoCharge = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Select features under differential privacy, and charge the ledger.

    Features are public rules, never learnt from the rows: words hashed to places, or columns cut at points that you
    name. Which features are selected is released; it costs half of the workflow's --budget unless --epsilon says
    otherwise. Rows are held out by a public rule for `confide release --model`, whose cost then does not add up.

    Naive Bayes chooses features from its own noisy counts at no cost: `confide train` without `select` is often better.

    Examples:

        confide select messages.csv --label spam --text message -k 200 --out features.json

        confide select patients.csv -l died -c smoker -c age=50,60,70 -c "sex=f|m" -k 4 --dry-run

        confide select messages.csv -l spam --text message --method peeling --score difference-count -k 20 --json
    """
    output.check_json_out(out, file, ledger)
    workflow = new_workflow(
        label=label,
        positive=positive,
        text=text,
        bits=bits,
        leave_out=leave_out,
        vocabulary=vocabulary,
        columns=column,
        hold_out=hold_out,
        hold_out_by=hold_out_by,
        budget=budget,
        unit=unit,
        rows_per_person=rows_per_person,
    )
    from dataclasses import replace

    from confide.learning.holdout import TRAINING
    from confide.ledger.payer import Payer
    from confide.privacy.guarantee import checked_epsilon
    from confide.releases.terms import Terms
    from confide.selection.methods import prepare_selection

    plan = workflow.budget_split(selects=True)
    own = plan.shares["select"] if epsilon is None else checked_epsilon(epsilon)
    costs = {**plan.shares, "select": own, "train": plan.left("train", own)}
    if k is None and method != "clusters" and (threshold is None or method == "sparse-vector"):
        k = min(100, workflow.encoding.width)
    hidden: dict[str, Any] = {
        "epsilon": own,
        "neighbours": neighbours or "add-remove-one",
        "unit": workflow.unit,
        "rows_per_person": workflow.rows_per_person,
    }
    how: dict[str, Any] = {
        "method": method,
        "score": score,
        "k": k,
        "threshold": threshold,
        "most_features": features_per_row,
        "clusters": clusters,
    }
    part = workflow.part(Terms.checked(**hidden), TRAINING)
    prepare_selection(workflow.no_rows(), **how, **hidden)  # refuses wrong parameters before the file is read
    source = readable(file)
    who: dict[str, Any] = {"ledger": ledger, "account": account, "analyst": analyst, "also_charge": also_charge}
    payer = Payer(subject=workflow_subject(workflow, source, (leave_out, vocabulary)), **who).checked()
    with output.busy("reading"):
        rows = workflow.rows(source, TRAINING)
    prepared = prepare_selection(rows, part=part, **how, **hidden)
    remark_on_sides(workflow)
    if dry_run:
        print_price(payer.quote(prepared), workflow, costs, as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        receipt = payer.pay(prepared)
    done = replace(workflow, selection=receipt.releases[0])
    write_workflow(done, out)
    for note in payer.notes(receipt):
        typer.echo(str(note), err=True)
    from confide.report.model.documents import costs_document
    from confide.report.model.tables import selection_table
    from confide.report.model.text import print_step

    if as_json:
        document = {**done.to_dict(), "ledger": receipt.to_dict(), "costs": costs_document(done, costs)}
        output.print_json({**document, "names": list(done.names())})
    else:
        print_step(receipt, done, costs, selection_table(done), output.console())
