"""Select features, train a classifier, and score rows with a private model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.learning.linear_model import LinearModel
from confide.learning.models import prepare_model, width_remark
from confide.learning.selection import Selection
from confide.learning.selection_methods import prepare_selection
from confide.learning.workflow import TRAINING, Workflow
from confide.sources.encoding import read_features
from confide.sources.scored_files import check_destination, write_with_scores
from confide.tasks.requests.learning import SelectRequest, TrainRequest
from confide.tasks.requests.request import verb_of
from confide.tasks.workflow_step import (
    ReadyStep,
    StepQuote,
    StepResult,
    held_out_remark,
    step_payer,
    workflow_rows,
)


def prepare_select(request: SelectRequest) -> ReadyStep[Selection]:
    """Find who pays for a selection and read its rows; then `quote` its price or `pay` for it."""
    terms = request.terms
    payer = step_payer(request, terms.workflow)
    rows = workflow_rows(terms.workflow, request.source, TRAINING)
    prepared = prepare_selection(rows, part=terms.part, **terms.options, **terms.guarantee)
    return ReadyStep(
        workflow=terms.workflow,
        payer=payer,
        prepared=prepared,
        costs=terms.costs,
        words=terms.words,
        remarks=held_out_remark(terms.workflow),
    )


@verb_of(SelectRequest)
def select(request: SelectRequest) -> StepResult:
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
    return prepare_select(request).pay()


@verb_of(SelectRequest)
def quote_select(request: SelectRequest) -> StepQuote:
    """Return the price of a selection without charging it. Takes the parameters of `select`."""
    return prepare_select(request).quote()


def prepare_train(request: TrainRequest) -> ReadyStep[LinearModel]:
    """Find who pays for a training and read its rows; then `quote` its price or `pay` for it."""
    terms = request.terms
    payer = step_payer(request, terms.workflow)
    rows = workflow_rows(terms.workflow, request.source, TRAINING)
    prepared = prepare_model(rows, request.model, terms.options, part=terms.part, **terms.guarantee)
    return ReadyStep(
        workflow=terms.workflow,
        payer=payer,
        prepared=prepared,
        costs=terms.costs,
        words=terms.words,
        remarks=(*held_out_remark(terms.workflow), *width_remark(request.model, rows.width)),
    )


@verb_of(TrainRequest)
def train(request: TrainRequest) -> StepResult:
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
    return prepare_train(request).pay()


@verb_of(TrainRequest)
def quote_train(request: TrainRequest) -> StepQuote:
    """Return the price of a training without charging it. Takes the parameters of `train`."""
    return prepare_train(request).quote()


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
