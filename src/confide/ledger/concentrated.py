"""Concentrated accounts: rho adds up beside epsilon and delta, and is converted at the account's order.

`privacy.concentration` says how, and proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from confide.ledger.budget import Budget
from confide.ledger.refusals import Limit, whole_price
from confide.ledger.spending import Cost
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import Guarantee, shown


def converted(total: Budget, at: Concentration) -> Budget:
    """Return the epsilon and delta of a total of prices, beside its rho."""
    if not total.rho:
        return total
    return replace(total, epsilon=total.epsilon + at.epsilon_of(total.rho), delta=total.delta + at.delta)


def concentrated_price(guarantee: Guarantee, at: Concentration, *, pure_outside: bool = False) -> Budget:
    """Return the price of a release: its rho, or its epsilon and delta if it is counted outside.

    With `pure_outside`, a pure release is counted outside even if it is cheaper inside.
    """
    rho = None if pure_outside and guarantee.rho is None else at.rho_of(guarantee)
    return Budget(epsilon=guarantee.epsilon, delta=guarantee.delta) if rho is None else Budget(rho=rho)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedLimit(Limit):
    """A cap on epsilon or delta where rho costs `order` times its amount, and `once` as soon as there is any."""

    order: Fraction
    once: Fraction

    def price(self, budget: Budget) -> Fraction:
        """Return the limited amount of a budget without what rho costs once."""
        return budget.epsilon + self.order * budget.rho if self.parameter == "epsilon" else budget.delta

    def amount(self, budget: Budget) -> Fraction:
        """Return the limited amount of a total of prices."""
        return self.price(budget) + (self.once if budget.rho else 0)

    def largest_share(self, costs: Sequence[Cost]) -> Fraction:
        """Return the largest share of the costs that fits."""
        concentrated = self.spending.after(*costs).total.rho > 0
        return self.spending.largest_share(costs, self.cap - (self.once if concentrated else 0), self.price)

    @property
    def rho_left(self) -> Fraction:
        """Rho that is left for all rows, never below zero."""
        left = self.cap - self.once - self.price(self.spending.total)
        return max(left, Fraction(0)) / self.order

    def in_words(self, costs: Sequence[Cost]) -> str:
        """Describe why costs do not fit."""
        whole = whole_price(costs)
        if not whole.rho:
            return Limit.in_words(self, costs)
        added, missing = shown(self.added(costs)), shown(self.missing(costs))
        if self.parameter == "delta":
            return f"{self.whose} has delta {shown(self.left)} left, but {added} more is needed: {missing} is missing"
        return (
            f"{self.whose} has epsilon {shown(self.left)} left (rho {shown(self.rho_left)}), but {whole.in_words()} "
            f"was requested, which costs epsilon {added}: {missing} is missing"
        )
