"""Select features, train a classifier, and score rows with a private model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.learning.linear_model import LinearModel
from confide.learning.models import prepare_model, width_remark
from confide.learning.selection import Selection, default_k
from confide.learning.selection_methods import prepare_selection
from confide.learning.workflow import TRAINING, Workflow
from confide.ledger.payer import LedgerPlace, Payer
from confide.ledger.question import PublicQuestion
from confide.privacy.guarantee import Exact, checked_epsilon
from confide.releases.terms import Terms
from confide.sources.encoding import read_features
from confide.sources.predictions_out import check_destination, write_with_scores
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
        Rule that selects features; see `confide.learning.prepare_selection`. `k` is 100 by default.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Prediction:
    """Probabilities of the positive class, one for each row in the order of the source. As private as the rows.

    `written` is the file that holds the rows with their scores, if one was requested.
    """

    scores: FloatArray
    written: Path | None = None

    def __len__(self) -> int:
        return int(self.scores.size)

    def __repr__(self) -> str:
        written = "" if self.written is None else f", written to {self.written}"
        return f"<Prediction of {len(self):,} rows{written}>"


def predict(
    model: str | Path | Workflow, source: Any, *, out: str | Path | None = None, score: str = "score"
) -> Prediction:
    """Compute the probability of the positive class for each row.

    The model is private and may be used on any rows. The scores belong to the rows and are as private as they are.

    Parameters
    ----------
    model
        The file that `confide train` wrote, or the workflow that `train` returned.
    source
        Rows to score: the path of a file (CSV, TSV, JSON lines, Parquet), or an Ibis table.
    out, score
        File to write, .csv or .parquet: the same rows with a column of this name. Needs the path of a file as source.
    """
    workflow = model if isinstance(model, Workflow) else Workflow.read(Path(model))
    workflow.trained()
    destination = None if out is None else Path(out)
    if destination is not None and not isinstance(source, str | Path):
        raise ParameterError("`out` writes the rows of a file with their scores; give the path of a file as source")
    if destination is not None:
        check_destination(source, destination)
    scores = workflow.scores(workflow.selected(read_features(source, workflow.encoding)))
    if destination is not None:
        write_with_scores(source, destination, score, scores)
    return Prediction(scores=scores, written=destination)
