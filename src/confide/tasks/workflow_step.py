"""Steps of a private workflow: selecting features and training a model, each paid from an account of a ledger.

Every step follows the same order. Check all parameters without any private row. Find the account and the identity of
the data. Read the rows. Then quote the price, or charge it and draw noise. Nothing is charged before all input was
checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.files import replace_file
from confide.learning.linear_model import LinearModel
from confide.learning.selection import Selection
from confide.learning.workflow import Workflow, together
from confide.ledger.payer import DeclaredSubject, FileSubject, Payer, Subject, refuse_names_of_files
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Quote, Receipt, quote_document
from confide.privacy.prepared import Prepared
from confide.tasks.output_files import check_json_out, ledger_files
from confide.tasks.requests.learning import WorkflowRequest

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
