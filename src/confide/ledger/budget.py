"""An amount of privacy: epsilon, delta and rho, added exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from confide.privacy.guarantee import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Amount of epsilon, delta and rho that is allowed, spent or left; each adds up.

    `rho` is the concentrated part of an amount (zCDP). Only accounts of composition zcdp have one, see `concentrated`.

    >>> ten_times = sum([Budget(epsilon=Fraction(1, 10))] * 10, Budget())
    >>> ten_times == Budget(epsilon=Fraction(1))
    True
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def __add__(self, other: Budget) -> Budget:
        return Budget(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta, rho=self.rho + other.rho)

    @classmethod
    def dearest(cls, budgets: Iterable[Budget]) -> Budget:
        """Return the largest epsilon, delta and rho, which may belong to different budgets."""
        every = list(budgets)
        return cls(
            epsilon=max(one.epsilon for one in every),
            delta=max(one.delta for one in every),
            rho=max(one.rho for one in every),
        )

    def less(self, spent: Budget) -> Budget:
        """Return what is left after spending, never below zero."""
        zero = Fraction(0)
        return Budget(
            epsilon=max(self.epsilon - spent.epsilon, zero),
            delta=max(self.delta - spent.delta, zero),
            rho=max(self.rho - spent.rho, zero),
        )

    def in_words(self) -> str:
        """Describe the budget; a delta or rho of zero is left out, and so is epsilon where there is rho alone."""
        amounts = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        named = [f"{name} {shown(amount)}" for name, amount in amounts.items() if amount]
        return ", ".join(named) if self.epsilon or self.rho else ", ".join(["epsilon 0", *named])

    def to_dict(self) -> dict[str, float]:
        """Return plain data; rho only if there is any."""
        plain = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        return {**plain, "rho": float(self.rho)} if self.rho else plain


NOTHING = Budget()
