"""Messages of refusals for lack of budget: requested, remaining and missing budget, and what would fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from confide.errors import BudgetError
from confide.ledger.budget import NOTHING, Budget
from confide.ledger.spending import Cost, Spending
from confide.privacy.guarantee import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A cap on epsilon or delta (`parameter`), and the spending that it holds for."""

    whose: str
    parameter: str
    cap: Fraction
    spending: Spending

    def amount(self, budget: Budget) -> Fraction:
        """Return the limited amount of a budget."""
        return budget.epsilon if self.parameter == "epsilon" else budget.delta

    @property
    def spent(self) -> Fraction:
        """Amount that was spent."""
        return self.amount(self.spending.total)

    @property
    def left(self) -> Fraction:
        """Amount that is left, never below zero."""
        return max(self.cap - self.spent, Fraction(0))

    def added(self, costs: Sequence[Cost]) -> Fraction:
        """Return the amount that costs would add to the total."""
        return self.amount(self.spending.after(*costs).total) - self.spent

    def exceeded(self, costs: Sequence[Cost]) -> bool:
        """Return whether costs bring the total above the cap; a cap on delta does not limit requests without delta."""
        return self.amount(whole_price(costs)) > 0 and self.spent + self.added(costs) > self.cap

    def missing(self, costs: Sequence[Cost]) -> Fraction:
        """Return the amount by which costs exceed what is left."""
        return self.added(costs) - self.left

    def largest_share(self, costs: Sequence[Cost]) -> Fraction:
        """Return the largest share of the costs that fits."""
        return self.spending.largest_share(costs, self.cap, self.amount)

    def in_words(self, costs: Sequence[Cost]) -> str:
        """Describe why costs do not fit."""
        added, alone = self.added(costs), self.amount(whole_price(costs))
        if not added:
            return f"{self.whose} has spent {self.parameter} {shown(self.spent)}, and its cap is {shown(self.cap)}"
        requested = "was requested" if added == alone else f"more would be spent ({shown(alone)} for the parts alone)"
        return (
            f"{self.whose} has {self.parameter} {shown(self.left)} left, "
            f"but {shown(added)} {requested}: {shown(self.missing(costs))} is missing"
        )


def refusal(exceeded: Sequence[Limit], costs: Sequence[Cost], requested: Fraction) -> BudgetError:
    """Build the error for limits that costs exceed; `requested` is the sum of epsilons in the requests' own terms."""
    by_epsilon = [limit for limit in exceeded if limit.parameter == "epsilon"]
    by_delta = [limit for limit in exceeded if limit.parameter == "delta"]
    first, *others = [*_hardest(by_epsilon, costs), *by_delta]
    fits = _fitting(by_epsilon, by_delta, costs, requested)
    advice = f"{' and '.join(fits)} would fit; more only" if fits else "It can go on only"
    reasons = "; ".join(limit.in_words(costs) for limit in (first, *others))
    price = whole_price(costs).epsilon
    twice = ""
    if price > requested:
        twice = (
            f" (epsilon {shown(requested)} counts as {shown(price)} here, as the account's neighbours are of another "
            "kind: `confide ledger new` takes `neighbours`)"
        )
    return BudgetError(
        f"{reasons}{twice}. {advice} if the data holder raises the cap",
        parameter=first.parameter,
        requested=first.added(costs),
        remaining=first.left,
        missing=first.missing(costs),
    )


def _hardest(limits: Sequence[Limit], costs: Sequence[Cost]) -> list[Limit]:
    """Return the limit of which most is missing."""
    return [max(limits, key=lambda limit: limit.missing(costs))] if limits else []


def _fitting(
    by_epsilon: Sequence[Limit], by_delta: Sequence[Limit], costs: Sequence[Cost], requested: Fraction
) -> list[str]:
    """Return the epsilon that would fit, in the relation of the requests, which may cost a multiple in the account.

    If every price is concentrated, return the rho that would fit, in the relation of the account.
    """
    whole = whole_price(costs)
    share = min((limit.largest_share(costs) for limit in by_epsilon), default=Fraction(1))
    if whole.rho:
        return [f"rho {shown(share * whole.rho, down=True)}"] if 0 < share < 1 and not whole.epsilon else []
    fits = [f"epsilon {shown(share * requested, down=True)}"] if 0 < share < 1 else []
    if share and requested == whole.epsilon:
        fits += [f"delta {shown(limit.largest_share(costs) * whole.delta, down=True)}" for limit in by_delta]
    return fits


def whole_price(costs: Sequence[Cost]) -> Budget:
    """Add up the prices, as if none concerned a part alone."""
    return sum((cost.price for cost in costs), NOTHING)
