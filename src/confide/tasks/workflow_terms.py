"""Terms of a step of a private workflow, which follow from its request before any row is read, and their check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.learning.models import prepare_model
from confide.learning.selection import default_k
from confide.learning.selection_methods import prepare_selection
from confide.learning.workflow import TRAINING, Workflow
from confide.privacy.guarantee import checked_epsilon, exact_fraction
from confide.privacy.prepared import Part
from confide.releases.terms import Terms
from confide.sources.encoding import Encoding
from confide.sources.words import read_vocabulary

if TYPE_CHECKING:
    from confide.tasks.requests.learning import SelectRequest, TrainRequest, WorkflowRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTerms:
    """Workflow before a step, the step's options and guarantee, the costs of all steps, and names of hashed words."""

    workflow: Workflow
    options: Mapping[str, Any]
    guarantee: Mapping[str, Any]
    part: Part | None
    costs: Mapping[str, Fraction]
    words: Mapping[str, str]


def selection_terms(request: SelectRequest) -> StepTerms:
    """Return the terms of a selection; refuse wrong ones, by trying them without rows."""
    workflow = _new_workflow(request)
    split = workflow.budget_split(selects=True)
    own = split.shares["select"] if request.epsilon is None else checked_epsilon(request.epsilon)
    guarantee: dict[str, Any] = {
        "epsilon": own,
        "delta": request.delta,
        "neighbours": request.neighbours or "add-remove-one",
        "unit": workflow.unit,
        "rows_per_person": workflow.rows_per_person,
    }
    terms = StepTerms(
        workflow=workflow,
        options=_rule(request, workflow),
        guarantee=guarantee,
        part=workflow.part(Terms.checked(**guarantee), TRAINING),
        costs={**split.shares, "select": own, "train": split.left("train", own)},
        words=_word_names(workflow, request.dictionary),
    )
    prepare_selection(workflow.no_rows(), **terms.options, **guarantee)
    return terms


def _rule(request: SelectRequest, workflow: Workflow) -> dict[str, Any]:
    """Return the rule by which features are selected."""
    complements = workflow.encoding.complements
    usual = default_k(request.method, request.threshold, workflow.encoding.width - len(complements))
    return {
        "method": request.method,
        "score": request.score,
        "k": usual if request.k is None else request.k,
        "threshold": request.threshold,
        "most_features": request.features_per_row,
        "clusters": request.clusters,
        "excluded": complements,
        "mechanism": request.mechanism,
    }


def training_terms(request: TrainRequest) -> StepTerms:
    """Return the terms of a training; refuse wrong ones, by trying them without rows."""
    before = _new_workflow(request) if request.features is None else _read_selection(request.features)
    spent = Fraction(0) if before.selection is None else before.selection.guarantee.epsilon
    split = before.budget_split(selects=before.selection is not None)
    own = split.left("train", spent) if request.epsilon is None else checked_epsilon(request.epsilon)
    guarantee: dict[str, Any] = {
        "epsilon": own,
        "neighbours": _neighbours(request.neighbours, before),
        "unit": before.unit,
        "rows_per_person": before.rows_per_person,
    }
    terms = StepTerms(
        workflow=before,
        options={name: getattr(request, name) for name in _MODEL_OPTIONS},
        guarantee=guarantee,
        part=before.part(Terms.checked(**guarantee), TRAINING),
        costs={**({"select": spent} if spent else {}), "train": own, "evaluate": split.left("evaluate", spent + own)},
        words=_word_names(before, request.dictionary),
    )
    prepare_model(before.no_rows(), request.model, terms.options, **guarantee)
    return terms


_MODEL_OPTIONS = (
    *("row_weight", "limit", "keep", "calibration"),
    *("regularization", "perturb"),
    *("mechanism", "delta"),
)
"""Options of a classifier; `prepare_model` knows which classifier has which."""


def _read_selection(features: str | Path | Workflow) -> Workflow:
    """Return the workflow that goes on from selected features."""
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


def _new_workflow(request: WorkflowRequest) -> Workflow:
    """Return the workflow that a request begins. No private row is read."""
    encoding = Encoding.parse(
        text=request.text,
        bits=request.bits,
        leave_out=request.leave_out,
        vocabulary=request.vocabulary,
        columns=_several(request.columns),
    )
    share = exact_fraction("0.3" if request.hold_out is None else request.hold_out, "`hold_out`")
    budget = Fraction(1) if request.budget is None else checked_epsilon(exact_fraction(request.budget, "`budget`"))
    workflow = Workflow(
        encoding=encoding,
        label=str(request.label),
        positive=request.positive,
        held_out=None if share == 0 else share,
        held_out_by=_several(request.hold_out_by),
        budget=budget,
        unit=request.unit or "row",
        rows_per_person=1 if request.rows_per_person is None else request.rows_per_person,
    )
    try:
        workflow.written().encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError("a column, value or label is not text in UTF-8; write its name again") from None
    return workflow


def _several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names or ())


def _word_names(workflow: Workflow, dictionary: str | Path | None) -> dict[str, str]:
    """Return names of the places of hashed words, from a file of public words."""
    return {} if dictionary is None else workflow.encoding.word_names(read_vocabulary(dictionary))
