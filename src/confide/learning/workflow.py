"""File that carries a private workflow: its budget, the rows held out, its features and its model.

Selection and training read the same rows, so their epsilons add up. The evaluation of held-out rows reads other rows. A
row lies on one side only, so the total is the larger of the two sides, not their sum.

A model is trained on one side and evaluated on the other. A row lies on one side only, so what the two sides cost does
not add up (parallel composition): under add-remove-one, and under label-only as the rule does not read the label. Under
replace-one it would: a row that is replaced can leave one side and enter the other. So it would between two versions of
a file, in which a row may differ: whoever asks names the file in the part.

It says how rows are read, which features were selected and which model was trained. Everything in it was released under
a guarantee or was public before. So it may be published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError, UnreadableError, UsageError
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.selection import Selection
from confide.privacy.guarantee import Guarantee, checked_epsilon, exact_fraction
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.terms import Terms
from confide.sources.encoding import KEY_RULE, Encoding, read_rows, row_keys

STEPS = ("select", "train", "evaluate")

EVALUATION_SHARE = Fraction(1, 5)
"""Share of the budget for the evaluation, where no rows are held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """Epsilon of each step of a workflow. A selection gets half of the epsilon of the training rows.

    `parallel` is True if the evaluation reads held-out rows whose cost need not be added.

    >>> {step: str(part) for step, part in BudgetSplit(budget=Fraction(1), selects=True, parallel=True).shares.items()}
    {'select': '1/2', 'train': '1/2', 'evaluate': '1'}
    """

    budget: Fraction
    selects: bool
    parallel: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", checked_epsilon(self.budget))

    @property
    def shares(self) -> Mapping[str, Fraction]:
        """Return epsilon by step."""
        evaluation = self.budget if self.parallel else self.budget * EVALUATION_SHARE
        training = self.budget if self.parallel else self.budget - evaluation
        if not self.selects:
            return {"train": training, "evaluate": evaluation}
        return {"select": training / 2, "train": training / 2, "evaluate": evaluation}

    def left(self, step: str, spent: Fraction) -> Fraction:
        """Return the epsilon that is left for a step, after earlier steps on the training rows spent `spent`.

        Held-out rows may cost as much as the training did without raising the total.
        """
        if step == "evaluate":
            return spent if self.parallel else self.shares[step]
        whole = sum((part for name, part in self.shares.items() if name != "evaluate"), Fraction(0))
        remaining = whole - spent if step == "train" else self.shares[step]
        if remaining <= 0:
            raise ParameterError(
                "nothing of the workflow's budget is left for training; give the selection less, or the "
                "workflow a larger `budget`"
            )
        return remaining


def together(costs: Mapping[str, Fraction], *, parallel: bool) -> Fraction:
    """Return the total cost of steps. Costs on training rows add up; held-out rows count only where they cost more."""
    training = sum((cost for step, cost in costs.items() if step != "evaluate"), Fraction(0))
    evaluation = costs.get("evaluate", Fraction(0))
    return max(training, evaluation) if parallel else training + evaluation


TRAINING, HELD_OUT = "training", "held-out"
SIDES = (TRAINING, HELD_OUT)

_ALL = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOut:
    """Hold out a share of the rows: those whose key, a hash of 64 bits of what `by` names, is among the highest.

    Rows with the same key lie on the same side. `by` says all that the key depends on, and no more than what is in the
    row without its label. Where it tells persons apart (`persons`), all rows of a person lie on one side.

    >>> rule = HoldOut(share=Fraction(1, 4), by="column id")
    >>> rule.held_out(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64))
    array([False, False,  True])
    """

    share: Fraction
    by: str
    persons: bool = False

    def __post_init__(self) -> None:
        share = exact_fraction(self.share, "the share held out")
        if not 0 < share < 1:
            raise ParameterError(f"the share held out must lie between 0 (none) and 1, for example 0.3; got {share}")
        object.__setattr__(self, "share", share)

    def held_out(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which rows are held out: those whose key is at least `(1 - share) 2^64`."""
        edge = min(int((1 - self.share) * _ALL), _ALL - 1)
        held: NDArray[np.bool_] = keys >= np.uint64(edge)
        return held

    def part(self, side: str) -> Part:
        """One side, as the ledger knows it."""
        if side not in SIDES:
            raise ParameterError(f"rows are on one of the sides {' and '.join(SIDES)}; got {side!r}")
        return Part(f"{self.share} held out by {self.by}", side)

    def part_for(self, terms: Terms, side: str) -> Part | None:
        """Return the side that a request is about; None where the sides' costs add up, as a person may lie on both."""
        if terms.neighbours == Neighbours.REPLACE_ONE:
            raise ParameterError(
                "rows are held out under add-remove-one or label-only neighbours: a row that is replaced could change "
                "sides. Choose one of them, or train with nothing held out (`hold_out=0`)"
            )
        return self.part(side) if terms.rows_per_person == 1 or self.persons else None


SCHEMA = "confide.workflow/1"

_LONGEST_BY = 300  # characters of column names that a part of the ledger spells out


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """State of a workflow: how rows become features, which rows are for training, and what was released so far.

    `label` and `positive` name the column of labels and the positive label. `held_out` is the share of rows that are
    kept for evaluation. A hash of the columns `held_out_by` decides which rows these are; without them, a hash of the
    columns of the features. `budget` is the epsilon of the whole workflow. All steps protect the same unit: each row,
    or each person, who has at most `rows_per_person` rows. Without `selection` all features are used; without `model`
    nothing was trained yet.
    """

    encoding: Encoding
    label: str
    positive: str | None = None
    held_out: Fraction | None = None
    held_out_by: tuple[str, ...] = ()
    budget: Fraction = Fraction(1)
    unit: str = "row"
    rows_per_person: int = 1
    selection: Selection | None = None
    model: LinearModel | None = None

    def __post_init__(self) -> None:
        if self.label in self.encoding.columns:
            raise ParameterError(f"column {self.label!r} is the label; remove it from the features")
        if self.label in self.held_out_by:
            raise ParameterError("rows cannot be held out by their label; name a column that tells persons apart")
        if self.held_out_by and self.held_out is None:
            raise ParameterError("columns to hold out by need a share of rows to hold out (`hold_out=0.3`)")
        _ = self.hold_out  # refuses a wrong share
        self._check_answers()

    def _check_answers(self) -> None:
        """Refuse a selection or a model that does not match the features, as in a file that was changed."""
        width = self.encoding.width
        if self.selection is not None:
            if self.selection.width != width:
                raise ParameterError("the selection is not one of the features that the file describes; select again")
            width = len(self.selection.features)
        if self.model is not None and (self.model.width != width or not np.isfinite(self.model.all_weights).all()):
            raise ParameterError("the model is not one of the features that the file describes; train again")

    @property
    def hold_out(self) -> HoldOut | None:
        """Return the rule that holds rows out, if any are held out."""
        if self.held_out is None:
            return None
        by = ", ".join(map(json.dumps, self.held_out_columns))  # quoted, so that no two lists read alike
        if len(by) > _LONGEST_BY:
            by = f"with sha256 {sha256(by.encode()).hexdigest()}"
        return HoldOut(share=self.held_out, by=f"a hash ({KEY_RULE}) of columns {by}", persons=bool(self.held_out_by))

    @property
    def held_out_columns(self) -> tuple[str, ...]:
        """Return the columns whose values decide which rows are held out."""
        return self.held_out_by or self.encoding.columns

    @property
    def parallel(self) -> bool:
        """Tell whether the costs of the two sides need not be added.

        That is so if each row, or all rows of a person, lie on one side.
        """
        return self.held_out is not None and (self.rows_per_person == 1 or bool(self.held_out_by))

    def budget_split(self, *, selects: bool) -> BudgetSplit:
        """Divide the budget among the steps."""
        return BudgetSplit(budget=self.budget, selects=selects, parallel=self.parallel)

    def part(self, terms: Terms, side: str) -> Part | None:
        """Return the side of the rows that a request reads, as the ledger records it."""
        return None if self.hold_out is None else self.hold_out.part_for(terms, side)

    def rows(self, file: Any, side: str) -> FeatureRows:
        """Read the rows of one side, or all rows where none are held out, with the selected features."""
        every = read_rows(file, self.encoding, label=self.label, positive=self.positive)
        if self.hold_out is not None:
            held = self.hold_out.held_out(
                row_keys(file, self.held_out_columns, beside=(self.label, *self.encoding.columns))
            )
            if held.size != len(every):
                raise DataError("the file changed while it was read; try again when nobody writes to it")
            every = every.rows(held if side == HELD_OUT else ~held)
        return self.selected(every)

    def no_rows(self) -> FeatureRows:
        """Return an empty dataset with the selected features, for validating parameters."""
        return self.selected(self.encoding.encoded({name: [] for name in self.encoding.columns}))

    def selected(self, rows: FeatureRows) -> FeatureRows:
        """Keep the selected features of rows."""
        if self.selection is None:
            return rows
        return rows.only(np.array(self.selection.features, dtype=np.int64))

    def scores(self, rows: FeatureRows) -> FloatArray:
        """Return the model's probabilities for rows with the selected features."""
        return self.trained().probabilities(rows.matrix())

    def counts(self, rows: FeatureRows) -> ScoreCounts:
        """Count the model's probabilities by class. One class, or no rows at all, is no error."""
        if len(rows) == 0:
            return ScoreCounts(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return ScoreCounts.from_arrays(rows.labels, self.scores(rows), one_class=True)

    def trained(self) -> LinearModel:
        """Return the model. Refuse a workflow without one."""
        if self.model is None:
            raise ParameterError("the file holds selected features but no model; run `confide train` with it first")
        return self.model

    def weights(self) -> dict[str, float]:
        """Return the model's weights by the names of the features, the most important first."""
        model, names = self.trained(), self.names()
        importances = model.importances
        order = sorted(range(len(model.features)), key=importances.__getitem__, reverse=True)
        return {names[model.features[place]]: model.weights[place] for place in order}

    def names(self) -> tuple[str, ...]:
        """Return the names of the features that are used, in their order."""
        return self.encoding.names(range(self.encoding.width) if self.selection is None else self.selection.features)

    @property
    def steps(self) -> dict[str, Guarantee]:
        """Return the guarantee of each step so far, by its name."""
        found = {"select": self.selection, "train": self.model}
        return {name: answer.guarantee for name, answer in found.items() if answer is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "label": self.label,
            "positive": self.positive,
            "encoding": self.encoding.to_dict(),
            "held_out": None if self.held_out is None else str(self.held_out),
            "held_out_by": list(self.held_out_by),
            "budget": str(self.budget),
            "unit": self.unit,
            "rows_per_person": self.rows_per_person,
            "selection": _stored(self.selection),
            "model": _stored(self.model),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Workflow:
        """Rebuild a workflow from `to_dict`."""
        if plain.get("schema") != SCHEMA:
            raise ParameterError(
                f"`confide select` or `confide train` did not write this file: its schema is not {SCHEMA}"
            )
        selection, model = plain["selection"], plain["model"]
        return cls(
            encoding=Encoding.from_dict(plain["encoding"]),
            label=plain["label"],
            positive=plain["positive"],
            held_out=None if plain["held_out"] is None else Fraction(plain["held_out"]),
            held_out_by=tuple(plain["held_out_by"]),
            budget=Fraction(plain["budget"]),
            unit=plain["unit"],
            rows_per_person=plain["rows_per_person"],
            selection=None if selection is None else Selection.from_dict(selection, _guarantee(selection)),
            model=None if model is None else LinearModel.from_dict(model, _guarantee(model)),
        )

    def digest(self) -> str:
        """Return a hash of everything that decides how rows are read and scored. All of it is public."""
        plain = {name: value for name, value in self.to_dict().items() if name != "budget"}
        return sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode()).hexdigest()

    def written(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def read(cls, file: Path) -> Workflow:
        """Read a file that `confide select` or `confide train` wrote."""
        try:
            plain = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(plain, dict) and plain.get("schema") == SCHEMA:
                return cls.from_dict(plain)
        except ParameterError:
            raise
        except (FileNotFoundError, IsADirectoryError):
            raise UsageError(f"there is no file {file}; give one that `confide select` or `train` wrote") from None
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError):
            pass  # whatever is wrong, the file is not ours
        raise UnreadableError(f"{file} is not a file of `confide select` or `confide train`; check its name")


def _stored(answer: Selection | LinearModel | None) -> dict[str, Any] | None:
    """Return an answer as plain data, with the exact fractions of its guarantee."""
    if answer is None:
        return None
    exact = {"epsilon": str(answer.guarantee.epsilon), "delta": str(answer.guarantee.delta)}
    if answer.guarantee.rho is not None:
        exact["rho"] = str(answer.guarantee.rho)
    return {**answer.to_dict(), "exact": exact}


def _guarantee(plain: Mapping[str, Any]) -> Guarantee:
    said, exact = plain["guarantee"], plain["exact"]
    return Guarantee(
        epsilon=Fraction(exact["epsilon"]),
        delta=Fraction(exact["delta"]),
        neighbours=said["neighbours"],
        unit=said["unit"],
        public=tuple(said["public"]),
        rows_per_person=said.get("rows_per_person", 1),
        rho=Fraction(exact["rho"]) if "rho" in exact else None,
    )
