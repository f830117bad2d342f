"""Amounts of budget, and spending on parts of the rows.

Costs without a part add up. Within one partition only the most expensive part counts, for epsilon, delta and rho apart:
a row lies in one part. Costs of different partitions add up, as a row lies in a part of each.

Proof that this is never too little. Take two neighbours, and first a relation under which they differ within one part
of each partition: a row added or removed, or a label that no rule reads. Every answer with another part then reads the
same rows on both sides, and reveals nothing however it was chosen; the other answers, each chosen with all earlier ones
known, compose as always. Their costs are the common ones and, for each partition, those of the part that the row lies
in, whichever that is: at most the total. It bounds epsilon and delta separately, so it is a bound on both at once.

Accounts of label-only and of replace-one also take add-remove-one answers, at twice their epsilon and at least twice
their delta. Where the row leaves one part and enters another, the answers of either cost what one step costs: half the
price of the one and half of the other, at most the larger price. Where it stays, it costs its part's price.

Rho (`privacy.concentration`) composes in the same way, amount by amount.

Sums and maxima of amounts that are not negative depend on no order, and no further cost makes them smaller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from confide.privacy.guarantee import shown
from confide.privacy.prepared import Part


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


Amount: TypeAlias = Callable[[Budget], Fraction]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A price in an account, and the part whose rows alone it concerns; without a part it concerns every row."""

    price: Budget
    part: Part | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Costs so far: those that concern every row, and those of each part.

    >>> halves = [Cost(price=Budget(epsilon=Fraction(2)), part=Part("by hash, 2 parts", name)) for name in "ab"]
    >>> whole = Cost(price=Budget(epsilon=Fraction(1)))
    >>> Spending().after(*halves, whole).total.in_words()
    'epsilon 3'
    """

    common: Budget = NOTHING
    parts: Mapping[Part, Budget] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))

    def after(self, *costs: Cost) -> Spending:
        """Return the spending with more costs."""
        common, parts = self.common, dict(self.parts)
        for cost in costs:
            if cost.part is None:
                common += cost.price
            else:
                parts[cost.part] = parts.get(cost.part, NOTHING) + cost.price
        return Spending(common=common, parts=parts)

    @property
    def total(self) -> Budget:
        """Return the cost of the row that it costs most."""
        dearest = (Budget.dearest(costs) for costs in _grouped(self.parts.items()).values())
        return sum(dearest, self.common)

    def largest_share(self, costs: Sequence[Cost], cap: Fraction, amount: Amount) -> Fraction:
        """Return the largest share of all costs, at most 1, that keeps the total within a cap; 0 if there is none.

        The total is the largest of finitely many lines in the share: one for each choice of a part in each
        partition. Each step finds the line that is highest at the share, and goes to where it meets the cap.
        """
        requested = Spending().after(*costs)
        lines = _grouped((part, self._line(requested, part, amount)) for part in {**self.parts, **requested.parts})
        share = Fraction(1)
        while True:
            start, slope = amount(self.common), amount(requested.common)
            for choices in lines.values():
                first, rise = max(choices, key=lambda line: line[0] + share * line[1])
                start, slope = start + first, slope + rise
            if start + share * slope <= cap:
                return share
            if start >= cap:
                return Fraction(0)
            share = (cap - start) / slope

    def _line(self, requested: Spending, part: Part, amount: Amount) -> tuple[Fraction, Fraction]:
        return amount(self.parts.get(part, NOTHING)), amount(requested.parts.get(part, NOTHING))


def covering(costs: Iterable[Cost]) -> list[Budget]:
    """A list of prices that covers the costs of any one row, one by one.

    For each partition the prices of every part are ordered, and position by position the largest epsilon and the
    largest delta of all parts are taken: whichever part a row lies in, each price of it has one that is as large.
    """
    every = list(costs)
    by_part: defaultdict[Part, list[Budget]] = defaultdict(list)
    for cost in every:
        if cost.part is not None:
            by_part[cost.part].append(cost.price)
    ordered = {part: sorted(prices, key=_size, reverse=True) for part, prices in by_part.items()}
    common = [cost.price for cost in every if cost.part is None]
    for parts in _grouped(ordered.items()).values():
        common += [Budget.dearest(prices) for prices in zip_longest(*parts, fillvalue=NOTHING)]
    return common


def _grouped(parts: Iterable[tuple[Part, T]]) -> dict[str, list[T]]:
    """Group costs by partition and part."""
    groups: defaultdict[str, list[T]] = defaultdict(list)
    for part, value in parts:
        groups[part.partition].append(value)
    return groups


def _size(price: Budget) -> tuple[Fraction, Fraction]:
    return price.epsilon, price.delta
