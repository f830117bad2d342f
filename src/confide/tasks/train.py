"""Train a classifier under differential privacy, paid from an account of a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide.errors import ParameterError
from confide.learning.holdout import TRAINING
from confide.learning.linear_model import LinearModel
from confide.learning.models import prepare_model, width_remark
from confide.learning.workflow import Workflow
from confide.ledger.payer import LedgerPlace, Payer
from confide.ledger.question import PublicQuestion
from confide.privacy.guarantee import Exact, checked_epsilon
from confide.releases.terms import Terms
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


def prepare_train(
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
    features: str | Path | Workflow | None = None,
    model: str = "naive-bayes",
    row_weight: int | None = None,
    limit: str | None = None,
    keep: float | None = None,
    calibration: object = None,
    regularization: float | None = None,
    perturb: str | None = None,
    budget: object = None,
    epsilon: object = None,
    mechanism: str | None = None,
    delta: Exact | None = None,
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
) -> ReadyStep[LinearModel]:
    """Check a training and read its rows; then `quote` its price or `pay` for it. See `train`."""
    reading: dict[str, Any] = {
        "label": label,
        "positive": positive,
        "text": text,
        "bits": bits,
        "leave_out": leave_out,
        "vocabulary": vocabulary,
        "columns": columns,
        "hold_out": hold_out,
        "hold_out_by": hold_out_by,
        "budget": budget,
        "unit": unit,
        "rows_per_person": rows_per_person,
    }
    before = new_workflow(**reading) if features is None else _selected(features, reading)
    options: dict[str, Any] = {
        "row_weight": row_weight,
        "limit": limit,
        "keep": keep,
        "calibration": calibration,
        "regularization": regularization,
        "perturb": perturb,
        "mechanism": mechanism,
        "delta": delta,
    }
    spent = Fraction(0) if before.selection is None else before.selection.guarantee.epsilon
    split = before.budget_split(selects=before.selection is not None)
    own = split.left("train", spent) if epsilon is None else checked_epsilon(epsilon)
    terms: dict[str, Any] = {
        "epsilon": own,
        "neighbours": _neighbours(neighbours, before),
        "unit": before.unit,
        "rows_per_person": before.rows_per_person,
    }
    part = before.part(Terms.checked(**terms), TRAINING)
    words = word_names(before, dictionary)
    prepare_model(before.no_rows(), model, options, **terms)  # refuses wrong parameters before the file is read
    subject = workflow_subject(
        before, source, (leave_out, vocabulary, dictionary), data_name=data_name, question=question
    )
    payer = Payer(subject=subject, ledger=ledger, account=account, analyst=analyst, also_charge=also_charge).checked()
    rows = workflow_rows(before, source, TRAINING)
    prepared = prepare_model(rows, model, options, part=part, **terms)
    costs = {**({"select": spent} if spent else {}), "train": own, "evaluate": split.left("evaluate", spent + own)}
    remarks = (*held_out_remark(before), *width_remark(model, rows.width))
    return ReadyStep(workflow=before, payer=payer, prepared=prepared, costs=costs, words=words, remarks=remarks)


@with_parameters_of(prepare_train)
def train(ready: ReadyStep[LinearModel]) -> StepResult:
    """Train a classifier under differential privacy, and charge an account of a ledger.

    Rows that are held out are not read. Evaluate the model on them with `confide.release(source, model=...)`, which
    costs nothing more up to the price of the training.

    Parameters
    ----------
    source, label, positive, text, bits, leave_out, vocabulary, dictionary, columns
        Private rows and their features, as for `select`.
    features
        Instead of these: the file that `confide select` wrote, or the workflow that `select` returned.
    model
        "naive-bayes", which chooses features from its own noisy counts, or "logistic-regression", for a few dozen
        features.
    row_weight, limit, keep, calibration
        Options of naive Bayes; see `PrivateNaiveBayes`. Logistic regression takes `row_weight` too.
    mechanism, delta
        Noise on the counts of naive Bayes: "laplace" (default), or "gaussian" with a delta, for accounts of
        composition zcdp.
    regularization, perturb
        Options of logistic regression: strength of the penalty; "objective" or "output".
    budget, epsilon, hold_out, hold_out_by, neighbours, unit, rows_per_person
        Price, rows held out and guarantee, as for `select`.
    data_name, question, ledger, account, analyst, also_charge
        Identity of data that are not a file, and who pays, as for `select`.
    """
    return ready.pay()


@with_parameters_of(prepare_train)
def quote_train(ready: ReadyStep[LinearModel]) -> StepQuote:
    """Return the price of a training without charging it. Takes the parameters of `train`."""
    return ready.quote()


def _selected(features: str | Path | Workflow, reading: Mapping[str, Any]) -> Workflow:
    """Return the workflow that goes on from selected features. Refuse parameters that it has decided."""
    for name, value in reading.items():
        if value is not None and value != []:
            raise ParameterError(f"`{name}` is said by the file of `features`; leave it out")
    workflow = features if isinstance(features, Workflow) else Workflow.read(Path(features))
    if workflow.selection is None:
        name = "the workflow" if isinstance(features, Workflow) else str(features)
        raise ParameterError(f"{name} has no selected features; give the file that `confide select` wrote")
    return workflow


def _neighbours(given: str | None, before: Workflow) -> str:
    """Return the neighbours of the training: those of the selection, if there is one, so that costs add up."""
    if before.selection is None:
        return given or "add-remove-one"
    selected = before.selection.guarantee.neighbours.value
    if given not in (None, selected):
        raise ParameterError(f"the features were selected under {selected} neighbours; leave `neighbours` out")
    return selected
