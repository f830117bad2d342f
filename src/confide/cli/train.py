"""`confide train`: a classifier under differential privacy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    refuse_given,
    remark_on_sides,
    workflow_subject,
)
from confide.cli.workflow_output import print_price, write_workflow
from confide.errors import ParameterError

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow

MANY_FEATURES = 300


def train(
    file: File,
    label: Label = None,
    text: Text = None,
    column: Columns = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="What `confide select` wrote; says how rows are read and held out."),
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="naive-bayes or logistic-regression.")] = "naive-bayes",
    budget: BudgetOption = None,
    epsilon: Epsilon = None,
    hold_out: HoldOut = None,
    hold_out_by: HoldOutBy = None,
    positive: Positive = None,
    bits: Bits = None,
    leave_out: LeaveOut = None,
    vocabulary: Vocabulary = None,
    row_weight: Annotated[
        int | None,
        typer.Option(metavar="R", help="Naive Bayes: a row counts for at most R features. [default: 3]"),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Naive Bayes: spread a row's weight, or sample R features. [default: spread]"
        ),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(metavar="Z", help="Naive Bayes: keep features that tell by Z deviations. [default: 0.5]"),
    ] = None,
    calibration: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Naive Bayes: share of epsilon that makes probabilities. [default: 0.1]"),
    ] = None,
    regularization: Annotated[
        float | None,
        typer.Option(
            metavar="L", help="Logistic regression: penalty on weights. [default: follows from epsilon and width]"
        ),
    ] = None,
    perturb: Annotated[
        str | None, typer.Option(metavar="WHAT", help="Logistic regression: objective or output. [default: objective]")
    ] = None,
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
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a page about the model that may be published.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The page's title.")] = None,
) -> None:
    """Train a classifier under differential privacy, and charge the ledger.

    Features are public rules, as for `confide select`, or those that it selected (--features). Naive Bayes chooses
    features from its own noisy counts and needs no selection; logistic regression is for a few dozen features, so
    select first. Rows that are held out are not read: evaluate the model on them with `confide release --model`, which
    costs nothing more up to what training cost.

    Examples:

        confide train messages.csv --label spam --text message --budget 1 --out model.json

        confide train patients.csv -l died -c smoker -c age=50,60,70 -c "sex=f|m" --dry-run

        confide train messages.csv --features features.json --model logistic-regression --out model.json

        confide release messages.csv --model model.json --metric auc,accuracy --report evaluation.html
    """
    output.check_json_out(out, file, ledger)
    output.check_published_page(report, file, ledger)
    reading: dict[str, Any] = {
        "label": label,
        "positive": positive,
        "text": text,
        "bits": bits,
        "leave_out": leave_out,
        "vocabulary": vocabulary,
        "hold_out": hold_out,
        "hold_out_by": hold_out_by,
        "budget": budget,
        "unit": unit,
        "rows_per_person": rows_per_person,
    }
    before = _begun(features, reading, column)
    how: dict[str, Any] = {
        "row_weight": row_weight,
        "limit": limit,
        "keep": keep,
        "calibration": calibration,
        "regularization": regularization,
        "perturb": perturb,
    }
    from dataclasses import replace

    from confide.learning.holdout import TRAINING
    from confide.learning.models import prepare_model
    from confide.ledger.payer import Payer
    from confide.privacy.guarantee import checked_epsilon
    from confide.releases.terms import Terms

    spent = Fraction(0) if before.selection is None else before.selection.guarantee.epsilon
    plan = before.budget_split(selects=before.selection is not None)
    own = plan.left("train", spent) if epsilon is None else checked_epsilon(epsilon)
    hidden: dict[str, Any] = {
        "epsilon": own,
        "neighbours": _relation(neighbours, before),
        "unit": before.unit,
        "rows_per_person": before.rows_per_person,
    }
    part = before.part(Terms.checked(**hidden), TRAINING)
    prepare_model(before.no_rows(), model, how, **hidden)  # refuses wrong parameters before the file is read
    source = readable(file)
    who: dict[str, Any] = {"ledger": ledger, "account": account, "analyst": analyst, "also_charge": also_charge}
    payer = Payer(subject=workflow_subject(before, source, (leave_out, vocabulary)), **who).checked()
    with output.busy("reading"):
        rows = before.rows(source, TRAINING)
    prepared = prepare_model(rows, model, how, part=part, **hidden)
    costs = {**({"select": spent} if spent else {}), "train": own, "evaluate": plan.left("evaluate", spent + own)}
    remark_on_sides(before)
    if model == "logistic-regression" and rows.width > MANY_FEATURES:
        typer.echo(
            f"remark: {rows.width:,} features are many for logistic regression, whose noise grows with them; "
            "`confide select` a few dozen first, or train naive-bayes.",
            err=True,
        )
    if dry_run:
        print_price(payer.quote(prepared), before, costs, as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        receipt = payer.pay(prepared)
    done = replace(before, model=receipt.releases[0])
    write_workflow(done, out)
    if report is not None:
        from confide.report.model.page import model_page

        output.write_whole(report, model_page(done, costs, title=title or "A private model"))
        typer.echo(f"report: {report}", err=True)
    for note in payer.notes(receipt):
        typer.echo(str(note), err=True)
    from confide.report.model.documents import costs_document
    from confide.report.model.tables import weights_table
    from confide.report.model.text import print_step

    if as_json:
        document = {**done.to_dict(), "ledger": receipt.to_dict(), "costs": costs_document(done, costs)}
        output.print_json({**document, "names": list(done.names())})
    else:
        print_step(receipt, done, costs, weights_table(done), output.console())


def _begun(features: Path | None, reading: dict[str, Any], columns: list[str] | None) -> Workflow:
    """The workflow that goes on from selected features, or begins here."""
    if features is None:
        return new_workflow(columns=columns, **reading)
    from confide.learning.workflow import Workflow

    refuse_given("is said by the file of --features", column=columns, **reading)
    begun = Workflow.read(features)
    if begun.selection is None:
        raise ParameterError(f"{features} has no selected features; give the file that `confide select` wrote")
    return begun


def _relation(asked: str | None, before: Workflow) -> str:
    """The neighbours that were asked for; those of the selection if there is one, as costs add up only so."""
    if before.selection is None:
        return asked or "add-remove-one"
    selected = before.selection.guarantee.neighbours.value
    if asked not in (None, selected):
        raise ParameterError(f"the features were selected under {selected} neighbours; leave --neighbours out")
    return selected
