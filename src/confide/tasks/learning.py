"""Select features, train a classifier, and score rows with a private model.

Every step of a private workflow follows the same order. Check all parameters without any private row. Find the account
and the identity of the data. Read the rows. Then quote the price, or charge it and draw noise. Nothing is charged
before all input was checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from confide.atomic_files import replace_file
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.models import prepare_model, width_remark
from confide.learning.selection import Selection
from confide.learning.selection_methods import prepare_selection
from confide.learning.workflow import TRAINING, Workflow, together
from confide.ledger.payer import DeclaredSubject, FileSubject, Payer, Subject, refuse_names_of_files
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Quote, Receipt, quote_document
from confide.privacy.prepared import Prepared
from confide.sources.encoding import read_features
from confide.sources.predictions_out import check_destination, write_with_scores
from confide.tasks.output_files import check_json_out, ledger_files
from confide.tasks.requests.learning import SelectRequest, TrainRequest, WorkflowRequest
from confide.tasks.requests.options import verb_of

Answer = TypeVar("Answer", Selection, LinearModel)
Source: TypeAlias = Any
"""Path of a file (CSV, TSV, JSON lines, Parquet), a dataframe, or an Ibis table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepQuote:
    """Price of a step beside the planned costs of the whole workflow; nothing was charged."""

    quote: Quote
    workflow: Workflow = field(repr=False)
    costs: Mapping[str, Fraction]
    prepared: Prepared[Any] = field(repr=False)

    @property
    def fits(self) -> bool:
        """Tell whether the account can pay."""
        return self.quote.fits

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        parts = [((self.prepared.request["metric"],), self.prepared.guarantee)]
        return {**quote_document(self.quote, parts), "workflow": workflow_costs(self.workflow, self.costs)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """Workflow after a paid step, the receipt, the costs of all steps, and notes for the user.

    `workflow.written()` is the text of the file for the next step. `words` names places of hashed words.
    `source` is the file of the private rows, None for a table; `ledger_files` are those of the ledger and its key.
    `save` overwrites none of them.
    """

    workflow: Workflow
    receipt: Receipt[Any]
    costs: Mapping[str, Fraction]
    words: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: Path | None = None
    ledger_files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", MappingProxyType(dict(self.costs)))
        object.__setattr__(self, "words", MappingProxyType(dict(self.words)))

    def __repr__(self) -> str:
        return f"StepResult({self.receipt.releases[0]}; paid {self.receipt.in_words()} by {self.receipt.account})"

    def save(self, file: str | Path) -> None:
        """Write the file for the next step, whose name ends in .json. It may be published."""
        path = Path(file)
        check_json_out(path, self.source, self.ledger_files)
        replace_file(path, self.workflow.written())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        paid = {"ledger": self.receipt.to_dict(), "costs": workflow_costs(self.workflow, self.costs)}
        return {**self.workflow.to_dict(), **paid, "names": list(self.workflow.names())}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyStep(Generic[Answer]):
    """Step whose input was checked and whose rows were read. Nothing was charged.

    `remarks` tell the user what is unusual about the request.
    """

    workflow: Workflow
    payer: Payer
    prepared: Prepared[Answer]
    costs: Mapping[str, Fraction]
    words: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def quote(self) -> StepQuote:
        """Return the price. Nothing is charged."""
        price = self.payer.quote(self.prepared)
        return StepQuote(quote=price, workflow=self.workflow, costs=self.costs, prepared=self.prepared)

    def pay(self) -> StepResult:
        """Charge the account, then draw noise."""
        receipt = self.payer.pay(self.prepared)
        answer = receipt.releases[0]
        done = (
            replace(self.workflow, selection=answer)
            if isinstance(answer, Selection)
            else replace(self.workflow, model=answer)
        )
        notes = tuple(str(note) for note in self.payer.notes(receipt))
        subject = self.payer.subject
        return StepResult(
            workflow=done,
            receipt=receipt,
            costs=self.costs,
            words=self.words,
            notes=notes,
            source=subject.file if isinstance(subject, FileSubject) else None,
            ledger_files=ledger_files(self.payer.ledger),
        )


def step_payer(request: WorkflowRequest, workflow: Workflow) -> Payer:
    """Return who pays for a step of a workflow, after finding the account."""
    return Payer(
        subject=_subject(request, workflow),
        ledger=request.ledger,
        account=request.account,
        analyst=request.analyst,
        also_charge=request.also_charge,
    ).checked()


def _subject(request: WorkflowRequest, workflow: Workflow) -> Subject:
    """Identify the data of a step: a file by its bytes, a table by the name or question that the caller states."""
    source, data_name, question = request.source, request.data_name, request.question
    details = {"workflow": workflow.digest()}
    if isinstance(source, str | Path):
        refuse_names_of_files(data_name=data_name, question=question)
        return FileSubject(
            file=Path(source),
            label=workflow.label,
            positive=workflow.positive,
            details=details,
            public_files=request.files_of_words,
        )
    if (data_name is None) == (question is None):
        raise ParameterError(
            "a table has no identity of its own; give `data_name`, its declared name and version, or `question`, not "
            "both; or give the path of a file"
        )
    if request.files_of_words:
        raise ParameterError("files of words are compared with a private file; give the path of the file as source")
    given = question or PublicQuestion(data=str(data_name))
    stated = replace(given, label=workflow.label, positive=workflow.positive, details={**given.details, **details})
    return DeclaredSubject(stated=stated)


def workflow_rows(workflow: Workflow, source: Source, side: str) -> FeatureRows:
    """Read the rows of one side. Values of a dataframe are converted each by itself."""
    from confide.sources.frames import is_frame, private_columns
    from confide.sources.tables import discreet

    if is_frame(source):
        columns = (workflow.label, *workflow.encoding.columns, *workflow.held_out_columns)
        with discreet(source, private=True):
            source = private_columns(source, columns)
    return workflow.rows(source, side)


def held_out_remark(workflow: Workflow) -> tuple[str, ...]:
    """Explain how rows are held out, where equal rows could make the sample unrepresentative."""
    if workflow.held_out is None or workflow.held_out_by or workflow.encoding.text_columns:
        return ()
    return (
        f"rows that are equal in {', '.join(workflow.held_out_columns)} are all held out or all trained on. If "
        "these columns have few different values, the rows held out may not represent the others. Then name a column "
        "that differs from row to row, such as a patient's number or a measurement (`hold_out_by=COL`).",
    )


def workflow_costs(workflow: Workflow, costs: Mapping[str, Fraction]) -> dict[str, Any]:
    """Return the budget of a workflow by steps, as plain data."""
    return {
        "budget": float(workflow.budget),
        "steps": {step: float(cost) for step, cost in costs.items()},
        "parallel": workflow.parallel,
        "together": float(together(costs, parallel=workflow.parallel)),
    }


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
