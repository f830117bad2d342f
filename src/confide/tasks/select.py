"""Select features under differential privacy, paid from an account of a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confide.learning.holdout import TRAINING
from confide.ledger.payer import LedgerPlace, Payer
from confide.ledger.question import PublicQuestion
from confide.privacy.guarantee import Exact, checked_epsilon
from confide.releases.terms import Terms
from confide.selection.methods import prepare_selection
from confide.selection.rules import default_k
from confide.selection.selection import Selection
from confide.tasks.parameters import with_parameters_of
from confide.tasks.workflow_step import (
    ReadyStep,
    Source,
    StepQuote,
    StepResult,
    held_out_remark,
    new_workflow,
    word_names,
    workflow_rows,
    workflow_subject,
)


def prepare_select(
    source: Source,
    *,
    label: str | None = None,
    positive: str | None = None,
    text: str | None = None,
    columns: str | Sequence[str] | None = None,
    bits: int | None = None,
    leave_out: str | Path | None = None,
    vocabulary: str | Path | None = None,
    dictionary: str | Path | None = None,
    method: str = "score-perturbation",
    score: str = "total-count",
    k: int | None = None,
    threshold: float | None = None,
    clusters: int | None = None,
    features_per_row: int | None = None,
    budget: object = None,
    epsilon: object = None,
    mechanism: str = "laplace",
    delta: Exact = 0,
    hold_out: object = None,
    hold_out_by: str | Sequence[str] | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    data_name: str | None = None,
    question: PublicQuestion | None = None,
    ledger: LedgerPlace = None,
    account: str | None = None,
    analyst: str | None = None,
    also_charge: bool = False,
) -> ReadyStep[Selection]:
    """Check a selection and read its rows; then `quote` its price or `pay` for it. See `select`."""
    workflow = new_workflow(
        label=label,
        positive=positive,
        text=text,
        bits=bits,
        leave_out=leave_out,
        vocabulary=vocabulary,
        columns=columns,
        hold_out=hold_out,
        hold_out_by=hold_out_by,
        budget=budget,
        unit=unit,
        rows_per_person=rows_per_person,
    )
    split = workflow.budget_split(selects=True)
    own = split.shares["select"] if epsilon is None else checked_epsilon(epsilon)
    costs = {**split.shares, "select": own, "train": split.left("train", own)}
    terms: dict[str, Any] = {
        "epsilon": own,
        "delta": delta,
        "neighbours": neighbours or "add-remove-one",
        "unit": workflow.unit,
        "rows_per_person": workflow.rows_per_person,
    }
    complements = workflow.encoding.complements
    rule: dict[str, Any] = {
        "method": method,
        "score": score,
        "k": default_k(method, threshold, workflow.encoding.width - len(complements)) if k is None else k,
        "threshold": threshold,
        "most_features": features_per_row,
        "clusters": clusters,
        "excluded": complements,
        "mechanism": mechanism,
    }
    part = workflow.part(Terms.checked(**terms), TRAINING)
    words = word_names(workflow, dictionary)
    prepare_selection(workflow.no_rows(), **rule, **terms)  # refuses wrong parameters before the file is read
    subject = workflow_subject(
        workflow, source, (leave_out, vocabulary, dictionary), data_name=data_name, question=question
    )
    payer = Payer(subject=subject, ledger=ledger, account=account, analyst=analyst, also_charge=also_charge).checked()
    prepared = prepare_selection(workflow_rows(workflow, source, TRAINING), part=part, **rule, **terms)
    remarks = held_out_remark(workflow)
    return ReadyStep(workflow=workflow, payer=payer, prepared=prepared, costs=costs, words=words, remarks=remarks)


@with_parameters_of(prepare_select)
def select(ready: ReadyStep[Selection]) -> StepResult:
    """Select features under differential privacy, and charge an account of a ledger.

    Features are public rules: words hashed to places, or columns cut at points that you name. Of a column with two
    features, such as "sex=f|m" or "age=65", one is a candidate (sex=f, age>=65), as the other says the same. The
    selection is released. Rows are held out by a public rule for the evaluation of a model.

    Parameters
    ----------
    source
        Private rows: the path of a file (CSV, TSV, JSON lines, Parquet), a dataframe, or an Ibis table. The bytes of a
        file identify its data. All else needs `data_name` or `question`.
    label, positive
        Column of labels, and the positive label unless labels are 0/1, -1/1 or false/true.
    text, bits, leave_out, vocabulary
        Column of text, whose words are hashed to `2**bits` places (14 by default); files of public words to leave out,
        or to take instead of hashing.
    dictionary
        File of public words that name the places of hashed words in tables and on pages. Nothing else changes.
    columns
        Rules for columns, such as "smoker" (0/1), "age=40,50,60" (cut at points) and "sex=f|m" (values).
    method, score, k, threshold, clusters, features_per_row
        Rule that selects features; see `confide.selection.prepare_selection`. `k` is 100 by default.
    budget, epsilon
        Epsilon of the whole workflow (1 by default), and of this step (half of it by default).
    mechanism, delta
        Noise on scores: "laplace", or "gaussian" with a delta, for accounts of composition zcdp.
    hold_out, hold_out_by
        Share of rows kept for evaluation (0.3 by default, 0 for none), and columns that tell persons apart.
    neighbours, unit, rows_per_person
        Neighbouring relation of the guarantee.
    data_name, question
        For data that are not a file: their declared name and version, such as "patients, version 1"; or the whole
        public question.
    ledger, account, analyst, also_charge
        Who pays. Without `account`, the only account that knows the data pays. `also_charge` charges an account
        although another one knows the same data.
    """
    return ready.pay()


@with_parameters_of(prepare_select)
def quote_select(ready: ReadyStep[Selection]) -> StepQuote:
    """Return the price of a selection without charging it. Takes the parameters of `select`."""
    return ready.quote()
