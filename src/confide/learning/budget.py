"""Budget of a whole workflow: the price of each step, and the total.

Selection and training read the same rows, so their epsilons add up. The evaluation of held-out rows reads other rows. A
row lies on one side only, so the total is the larger of the two sides, not their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from confide.errors import ParameterError
from confide.privacy.guarantee import checked_epsilon

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
                "nothing of the workflow's budget is left for training; give selecting less, or the workflow a larger "
                "`budget`"
            )
        return remaining


def together(costs: Mapping[str, Fraction], *, parallel: bool) -> Fraction:
    """Return the total cost of steps. Costs on training rows add up; held-out rows count only where they cost more."""
    training = sum((cost for step, cost in costs.items() if step != "evaluate"), Fraction(0))
    evaluation = costs.get("evaluate", Fraction(0))
    return max(training, evaluation) if parallel else training + evaluation
