"""One budget for a whole workflow: what each step may cost, and what the steps cost together.

Selecting and training read the same rows, so their epsilons add up. The evaluation of rows that were held out reads
others: a row lies on one side only, so it costs the larger of the two sides, not their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from confide.errors import ParameterError
from confide.privacy.guarantee import checked_epsilon

STEPS = ("select", "train", "evaluate")

EVALUATION_SHARE = Fraction(1, 5)
"""What the evaluation gets of a budget that it shares with training, where no rows are held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """The epsilon of each step of a workflow: half of what training rows may cost goes to selecting, if there is any.

    `parallel` says that the evaluation reads rows that were held out, and that what they cost need not be added.

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
        """Epsilon by step."""
        evaluation = self.budget if self.parallel else self.budget * EVALUATION_SHARE
        training = self.budget if self.parallel else self.budget - evaluation
        if not self.selects:
            return {"train": training, "evaluate": evaluation}
        return {"select": training / 2, "train": training / 2, "evaluate": evaluation}

    def left(self, step: str, spent: Fraction) -> Fraction:
        """What a step may cost, after those before it on the training rows cost so much.

        Rows that were held out may cost as much as the training did, and nothing more is spent.
        """
        if step == "evaluate":
            return spent if self.parallel else self.shares[step]
        whole = sum((part for name, part in self.shares.items() if name != "evaluate"), Fraction(0))
        remaining = whole - spent if step == "train" else self.shares[step]
        if remaining <= 0:
            raise ParameterError(
                "nothing of the workflow's budget is left for training; give selecting less, or the workflow a larger "
                "--budget"
            )
        return remaining


def together(costs: Mapping[str, Fraction], *, parallel: bool) -> Fraction:
    """What steps cost in all: those on training rows add up, and held-out rows count only where they cost more."""
    training = sum((cost for step, cost in costs.items() if step != "evaluate"), Fraction(0))
    evaluation = costs.get("evaluate", Fraction(0))
    return max(training, evaluation) if parallel else training + evaluation
