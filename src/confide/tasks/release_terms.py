"""Terms of a release, which follow from its request before any row is read: scores, cells, options, and their check.

Scores are a column of a table, or those of a private model that is run on the rows held out of its training.
"""

from __future__ import annotations

import filecmp
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import NoRowsError, ParameterError, UsageError
from confide.grid import Grid
from confide.privacy.guarantee import checked_epsilon
from confide.privacy.neighbours import Neighbours
from confide.releases.registry import prepare
from confide.releases.release import PreparedRelease
from confide.releases.terms import Terms

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow
    from confide.tasks.requests.release import ReleaseRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTerms:
    """Where the scores of a release come from, its options, and what it is for made-up rows."""

    scores: Scores
    options: Mapping[str, Any]
    trial: tuple[PreparedRelease, ...] = field(repr=False)

    @classmethod
    def of(cls, request: ReleaseRequest) -> ReleaseTerms:
        """Return the terms of a request; refuse wrong ones."""
        scores = _scores(request)
        options = _options(request, scores)
        return cls(scores=scores, options=options, trial=_try_options(request.metrics, options))


class Scores(Protocol):
    """Source of the scores, and the defaults that follow from it."""

    @property
    def label(self) -> str:
        """Return the name of the labels."""

    @property
    def positive(self) -> str | None:
        """Return the positive label, if the user named it."""

    def details(self) -> dict[str, Any]:
        """Return the public facts that identify the scores."""

    def epsilon(self, given: object) -> object:
        """Return the epsilon of the release."""

    def neighbours(self, given: str | None) -> str:
        """Return the neighbours of the release."""

    def protects(self, unit: str | None, rows_per_person: int | None) -> tuple[str, int]:
        """Return the unit that the release protects, and its largest number of rows."""

    def about(self) -> dict[str, str]:
        """Describe the scores for readers of a page."""

    def data(self) -> dict[str, Any]:
        """Describe the scores as plain data."""

    def prepare(
        self, source: Any, metrics: str | Sequence[str], options: Mapping[str, Any], cells: Grid | None = None
    ) -> tuple[PreparedRelease, ...]:
        """Count the rows of a source, and prepare the request. A source with one class is no error.

        `cells` are public cells that are enough for the request (see `common_cells`); None if scores are needed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnScores:
    """Scores in a column. `value` is the positive label as the user gave it, `positive` as text."""

    label: str
    score: str
    value: object = None

    @property
    def positive(self) -> str | None:
        """Return the positive label as text."""
        return None if self.value is None else str(self.value)

    def details(self) -> dict[str, Any]:
        """Return the name of the column."""
        return {"score": self.score}

    def epsilon(self, given: object) -> object:
        """Return the given epsilon. There is no default."""
        if given is None:
            raise ParameterError("say what the release may cost (`epsilon=1`); usual choices are 0.1 to 2")
        return given

    def neighbours(self, given: str | None) -> str:
        """Return the given neighbours, by default replace-one."""
        return given or "replace-one"

    def protects(self, unit: str | None, rows_per_person: int | None) -> tuple[str, int]:
        """Return what is given, by default each row."""
        return unit or "row", 1 if rows_per_person is None else rows_per_person

    def about(self) -> dict[str, str]:
        """Name the columns."""
        positive = {} if self.positive is None else {"positive label": self.positive}
        return {"label": self.label, "score": self.score, **positive}

    def data(self) -> dict[str, Any]:
        """Name the columns."""
        return {"label": self.label, "score": self.score, "positive": self.positive}

    def prepare(
        self, source: Any, metrics: str | Sequence[str], options: Mapping[str, Any], cells: Grid | None = None
    ) -> tuple[PreparedRelease, ...]:
        """Count the columns, each row by itself. Where the number of rows is private, there may be none."""
        try:
            counts = self._count(source, cells)
        except NoRowsError:
            if Neighbours.parse(options["neighbours"]) != Neighbours.ADD_REMOVE_ONE:
                raise
            counts = ScoreCounts.empty()
        return prepare(metrics, counts, **options)

    def _count(self, source: Any, cells: Grid | None) -> ScoreCounts:
        from confide.sources.frames import count_frame, is_frame
        from confide.sources.tables import MOST_CELLS, count_cells, count_table, discreet

        if isinstance(source, ScoreCounts):
            return source
        columns: dict[str, Any] = {"label": self.label, "score": self.score, "positive": self.value}
        if is_frame(source):
            with discreet(source, private=True):
                return count_frame(source, **columns, one_class=True)
        if cells is not None and len(cells) <= MOST_CELLS:
            return count_cells(source, **columns, edges=cells.edges)
        return count_table(source, **columns, one_class=True).counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelScores:
    """Scores of a private model, for the rows that were held out when it was trained."""

    workflow: Workflow

    @property
    def label(self) -> str:
        """Return the column of labels that the model was trained for."""
        return self.workflow.label

    @property
    def positive(self) -> str | None:
        """Return the positive label that the model was trained for."""
        return self.workflow.positive

    def details(self) -> dict[str, Any]:
        """Return the digest of the whole workflow: the model, and how rows are read and held out."""
        return {"model": self.workflow.digest()}

    def epsilon(self, given: object) -> object:
        """Return the given epsilon, by default what the budget of the workflow leaves for the evaluation."""
        if given is not None:
            return given
        plan = self.workflow.budget_split(selects=self.workflow.selection is not None)
        return plan.left("evaluate", sum((step.epsilon for step in self.workflow.steps.values()), Fraction(0)))

    def neighbours(self, given: str | None) -> str:
        """Return the given neighbours, by default those of the training."""
        return given or self.workflow.trained().guarantee.neighbours.value

    def protects(self, unit: str | None, rows_per_person: int | None) -> tuple[str, int]:
        """Return what the training protected. Refuse anything else: the two costs could not be compared."""
        trained = (self.workflow.unit, self.workflow.rows_per_person)
        wanted = (unit or trained[0], trained[1] if rows_per_person is None else rows_per_person)
        if wanted != trained:
            several = f" with at most {trained[1]} rows each" if trained[1] > 1 else ""
            raise ParameterError(
                f"the model was trained to protect each {trained[0]}{several}, and so is its evaluation; leave `unit` "
                "and `rows_per_person` out"
            )
        return trained

    def about(self) -> dict[str, str]:
        """Name the model and its rows."""
        workflow = self.workflow
        rows = (
            "all; the model was trained on them, so it may do worse on others"
            if workflow.held_out is None
            else f"held out before training, {float(workflow.held_out):g} of all"
        )
        return {"label": workflow.label, "score": f"a private {workflow.trained().kind} model", "rows": rows}

    def data(self) -> dict[str, Any]:
        """Name the model and its rows."""
        workflow = self.workflow
        held_out = None if workflow.held_out is None else float(workflow.held_out)
        kind = workflow.trained().kind
        return {"label": workflow.label, "model": kind, "positive": workflow.positive, "held_out": held_out}

    def prepare(
        self, source: Any, metrics: str | Sequence[str], options: Mapping[str, Any], cells: Grid | None = None
    ) -> tuple[PreparedRelease, ...]:
        """Run the model on the rows held out, and count its scores."""
        from confide.learning.workflow import HELD_OUT

        hidden = {name: options[name] for name in ("epsilon", "neighbours", "unit", "rows_per_person")}
        part = self.workflow.part(Terms.checked(**hidden), HELD_OUT)
        counts = self.workflow.counts(self.workflow.rows(source, HELD_OUT))
        return tuple(replace(one, part=part) for one in prepare(metrics, counts, **options))


def _scores(request: ReleaseRequest) -> Scores:
    """Return the scores that a request describes."""
    if request.model is None:
        return ColumnScores(label=str(request.label), score=str(request.score), value=request.positive)
    from confide.learning.workflow import Workflow

    workflow = request.model if isinstance(request.model, Workflow) else Workflow.read(Path(request.model))
    workflow.trained()
    return ModelScores(workflow=workflow)


def _options(request: ReleaseRequest, scores: Scores) -> dict[str, Any]:
    """Return the options of the release, with the defaults that its scores have."""
    unit, most_rows = scores.protects(request.unit, request.rows_per_person)
    return {
        "epsilon": scores.epsilon(request.epsilon),
        "delta": request.delta,
        "neighbours": scores.neighbours(request.neighbours),
        "mechanism": request.mechanism,
        "threshold": request.threshold,
        "grid": read_grid(request.grid, request.source),
        "strategy": request.strategy,
        "shape": request.shape,
        "target": request.target,
        "with_auc": request.with_auc,
        "prevalence_guess": request.prevalence_guess,
        "unit": unit,
        "rows_per_person": most_rows,
        "level": request.level,
    }


_ENOUGH, _MOST_MADE_UP = 40, 10**6  # made-up rows of each score and class, times epsilon; and at most


def _try_options(metrics: str | Sequence[str], options: Mapping[str, Any]) -> tuple[PreparedRelease, ...]:
    """Refuse wrong parameters before any row is read, by preparing the request for made-up rows."""
    each = np.full(4, _made_up_rows(options), dtype=np.int64)
    return prepare(metrics, ScoreCounts(np.array([0.1, 0.2, 0.3, 0.4]), each, each), **options)


def _made_up_rows(options: Mapping[str, Any]) -> int:
    """Return a number of rows that is enough for every mechanism at the epsilon of each release."""
    try:
        epsilon = checked_epsilon(options["epsilon"])
    except ParameterError:  # which preparing the request will say
        return 1
    return min(math.ceil(_ENOUGH / epsilon) * int(options.get("rows_per_person") or 1), _MOST_MADE_UP)


_PREFIX = "public:"


def read_grid(grid: Grid | str | None, source: Any) -> Grid | str | None:
    """Return a grid; cells of a public file are read, other names are resolved by the release."""
    if not isinstance(grid, str) or not grid.startswith(_PREFIX):
        return grid
    *path, column, cells = ["", "", *grid.removeprefix(_PREFIX).split(":")]
    file = Path(":".join(path[2:]))
    if len(path) < 3 or not cells.isdecimal():
        raise ParameterError(f"`grid` must look like public:FILE:COLUMN:16; got {grid!r}")
    if isinstance(source, Path) and _same(file, source):
        raise UsageError(
            f"{file} holds the private rows: their quantiles would give scores away; "
            "give a public file, or quantiles:16 to find private ones"
        )
    from confide.sources.tables import table_column

    return Grid.quantiles(table_column(file, column), int(cells))


def public_files(grid: Grid | str | None) -> tuple[Path, ...]:
    """Return the file that the cells of a grid come from, if there is one."""
    if not isinstance(grid, str) or not grid.startswith(_PREFIX):
        return ()
    return (Path(":".join(grid.removeprefix(_PREFIX).split(":")[:-2])),)


def describe_grid(grid: Grid | str | None) -> str:
    """Describe a grid for readers of a page; all that the user typed is public."""
    if grid is None:
        return "the default, for scores that are probabilities"
    return grid if isinstance(grid, str) else f"{len(grid)} cells that were given"


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)
