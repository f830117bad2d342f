"""An amount of privacy: epsilon and delta, added exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from confide.privacy.guarantee import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Amount of epsilon and delta that is allowed, spent or left; under basic composition both add up.

    >>> ten_times = sum([Budget(epsilon=Fraction(1, 10))] * 10, Budget())
    >>> ten_times == Budget(epsilon=Fraction(1))
    True
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Budget) -> Budget:
        return Budget(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    @classmethod
    def dearest(cls, budgets: Iterable[Budget]) -> Budget:
        """Return the largest epsilon and the largest delta, which may belong to different budgets."""
        every = list(budgets)
        return cls(epsilon=max(one.epsilon for one in every), delta=max(one.delta for one in every))

    def less(self, spent: Budget) -> Budget:
        """Return what is left after spending, never below zero."""
        zero = Fraction(0)
        return Budget(epsilon=max(self.epsilon - spent.epsilon, zero), delta=max(self.delta - spent.delta, zero))

    def in_words(self) -> str:
        """Describe the budget; a delta of zero is left out."""
        return f"epsilon {shown(self.epsilon)}" + (f", delta {shown(self.delta)}" if self.delta else "")

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        return {"epsilon": float(self.epsilon), "delta": float(self.delta)}


NOTHING = Budget()
