"""Where the scores of a release come from: a column of the file, or a private model run on the rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from confide.errors import ParameterError

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow
    from confide.releases.release import PreparedRelease


class Scored(Protocol):
    """Rows with scores, and what follows from where they come from."""

    @property
    def label(self) -> str:
        """The column of labels."""

    @property
    def positive(self) -> str | None:
        """The positive label, where it was named."""

    def details(self) -> dict[str, Any]:
        """Return the public facts that identify the scores."""

    def epsilon(self, given: str | None) -> object:
        """The epsilon of the release."""

    def neighbours(self, given: str | None) -> str:
        """The neighbours of the release."""

    def protects(self, unit: str | None, rows_per_person: int | None) -> tuple[str, int]:
        """Whom the release protects, and how many rows each of them has at most."""

    def about(self) -> dict[str, str]:
        """What the page says about the scores."""

    def data(self) -> dict[str, Any]:
        """What the JSON says about them."""

    def prepare(self, file: Path, metrics: Sequence[str], options: dict[str, Any]) -> tuple[PreparedRelease, ...]:
        """Count a file, one class only being no error, and prepare the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnScores:
    """Scores in a column."""

    label: str
    score: str
    positive: str | None = None

    def details(self) -> dict[str, Any]:
        """The column."""
        return {"score": self.score}

    def epsilon(self, given: str | None) -> object:
        """What was given."""
        if given is None:
            raise ParameterError("say what the release may cost (--epsilon 1); usual choices are 0.1 to 2")
        return given

    def neighbours(self, given: str | None) -> str:
        """What was given, else replace-one."""
        return given or "replace-one"

    def protects(self, unit: str | None, rows_per_person: int | None) -> tuple[str, int]:
        """What was given, else each row."""
        return unit or "row", 1 if rows_per_person is None else rows_per_person

    def about(self) -> dict[str, str]:
        """The columns."""
        positive = {} if self.positive is None else {"positive label": self.positive}
        return {"label": self.label, "score": self.score, **positive}

    def data(self) -> dict[str, Any]:
        """The columns."""
        return {"label": self.label, "score": self.score, "positive": self.positive}

    def prepare(self, file: Path, metrics: Sequence[str], options: dict[str, Any]) -> tuple[PreparedRelease, ...]:
        """Count the columns."""
        from confide.releases.registry import prepare
        from confide.sources.tables import count_table

        counted = count_table(file, label=self.label, score=self.score, positive=self.positive, one_class=True)
        return prepare(metrics, counted.counts, **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScores:
    """Scores of a private model, for the rows that were held out when it was trained."""

    workflow: Workflow

    @property
    def label(self) -> str:
        """The column of labels that the model was trained for."""
        return self.workflow.label

    @property
    def positive(self) -> str | None:
        """The positive label that it was trained for."""
        return self.workflow.positive

    def details(self) -> dict[str, Any]:
        """The digest of the whole model, with how rows are read and held out."""
        return {"model": self.workflow.digest()}

    def epsilon(self, given: str | None) -> object:
        """What was given, else what the workflow's budget leaves for the evaluation."""
        if given is not None:
            return given
        plan = self.workflow.budget_split(selects=self.workflow.selection is not None)
        return plan.left("evaluate", sum((step.epsilon for step in self.workflow.steps.values()), Fraction(0)))

    def neighbours(self, given: str | None) -> str:
        """What was given, else those of the training."""
        return given or self.workflow.trained().guarantee.neighbours.value

    def protects(self, unit: str | None, rows_per_person: int | None) -> tuple[str, int]:
        """Whom the training protected; nobody else, as what the two cost would not go together."""
        trained = (self.workflow.unit, self.workflow.rows_per_person)
        asked = (unit or trained[0], trained[1] if rows_per_person is None else rows_per_person)
        if asked != trained:
            several = f" with at most {trained[1]} rows each" if trained[1] > 1 else ""
            raise ParameterError(
                f"the model was trained to protect each {trained[0]}{several}, and so is its evaluation; leave --unit "
                "and --rows-per-person out"
            )
        return trained

    def about(self) -> dict[str, str]:
        """The model and its rows."""
        workflow = self.workflow
        rows = (
            "all, of which the model was trained: it may do worse on others"
            if workflow.held_out is None
            else f"held out before training, {float(workflow.held_out):g} of all"
        )
        return {"label": workflow.label, "score": f"a private {workflow.trained().kind} model", "rows": rows}

    def data(self) -> dict[str, Any]:
        """The model, as JSON."""
        workflow = self.workflow
        held_out = None if workflow.held_out is None else float(workflow.held_out)
        kind = workflow.trained().kind
        return {"label": workflow.label, "model": kind, "positive": workflow.positive, "held_out": held_out}

    def prepare(self, file: Path, metrics: Sequence[str], options: dict[str, Any]) -> tuple[PreparedRelease, ...]:
        """Run the model on the rows held out, and count its scores."""
        from confide.learning.holdout import HELD_OUT
        from confide.releases.registry import prepare
        from confide.releases.terms import Terms

        hidden = {name: options[name] for name in ("epsilon", "neighbours", "unit", "rows_per_person")}
        part = self.workflow.part(Terms.checked(**hidden), HELD_OUT)
        counts = self.workflow.counts(self.workflow.rows(file, HELD_OUT))
        return tuple(replace(one, part=part) for one in prepare(metrics, counts, **options))


def refuse_given(why: str, **options: Any) -> None:
    """Refuse options that another one has decided already."""
    for name, value in options.items():
        if value is not None and value != []:
            raise ParameterError(f"--{name.replace('_', '-')} {why}; leave it out")


def scored(model: Path | None, *, label: str | None, score: list[str], positive: str | None) -> Scored:
    """Where the options say that scores come from."""
    if model is not None:
        from confide.learning.workflow import Workflow

        refuse_given("is said by the file of --model", label=label, score=score, positive=positive)
        workflow = Workflow.read(model)
        workflow.trained()
        return ModelScores(workflow=workflow)
    if label is None or not score:
        raise ParameterError("name the columns of labels and of scores (--label COL --score COL), or give --model FILE")
    if label == score[0]:
        raise ParameterError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    return ColumnScores(label=label, score=score[0], positive=positive)
