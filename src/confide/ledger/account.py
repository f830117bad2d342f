"""An account: what may be spent on some data, what was, and whether a price still fits. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from confide.errors import BudgetError, LedgerError, ParameterError
from confide.ledger.budget import NOTHING, Budget
from confide.ledger.entries import Entry, Kind, canonical_json
from confide.privacy.guarantee import UNITS, Guarantee, checked_delta, exact_fraction, shown
from confide.privacy.neighbours import Neighbours, price_factor

DEFAULT_EPSILON_CAP = Fraction(10)
DEFAULT_DELTA_CAP = Fraction(1, 100_000)
DEFAULT_CAP = Budget(epsilon=DEFAULT_EPSILON_CAP, delta=DEFAULT_DELTA_CAP)

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What may be spent: in all, by each analyst, and by those analysts who have a cap of their own."""

    total: Budget = DEFAULT_CAP
    each_analyst: Fraction | None = None
    analysts: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "analysts", MappingProxyType(dict(self.analysts)))

    def changed(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        analyst_epsilon: object = None,
        analysts: Mapping[str, object] | None = None,
    ) -> Caps:
        """Return the caps with those that are given replaced. A cap may lie below what is spent: nothing is left."""
        own = {checked_name(name, "analyst"): _checked_cap(cap) for name, cap in (analysts or {}).items()}
        return Caps(
            total=Budget(
                epsilon=self.total.epsilon if epsilon is None else _checked_cap(epsilon),
                delta=self.total.delta if delta is None else checked_delta(delta),
            ),
            each_analyst=self.each_analyst if analyst_epsilon is None else _checked_cap(analyst_epsilon),
            analysts={**self.analysts, **own},
        )

    def of_analyst(self, analyst: str) -> Fraction | None:
        """The most epsilon that an analyst may spend, if that is limited."""
        return self.analysts.get(analyst, self.each_analyst)

    @property
    def name_analysts(self) -> bool:
        """Whether somebody has a cap, so that those who ask must say who they are."""
        return self.each_analyst is not None or bool(self.analysts)

    def to_json(self) -> str:
        """What an entry stores besides the total."""
        return canonical_json(self.to_dict(), "caps")

    def to_dict(self) -> dict[str, Any]:
        """Return the caps of analysts as plain data, with exact fractions as text."""
        return {
            "each_analyst": None if self.each_analyst is None else str(self.each_analyst),
            "analysts": {name: str(cap) for name, cap in self.analysts.items()},
        }

    @classmethod
    def from_entry(cls, entry: Entry) -> Caps:
        """Read the caps that an entry sets."""
        terms = entry.asked
        each = terms["each_analyst"]
        return cls(
            total=entry.amount,
            each_analyst=None if each is None else Fraction(each),
            analysts={name: Fraction(cap) for name, cap in terms["analysts"].items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The state of an account: the fold of its entries.

    Its neighbouring relation and unit are fixed when it is opened: sums of epsilons mean something
    only under one relation.
    """

    name: str
    neighbours: Neighbours
    unit: str = "row"
    caps: Caps = Caps()
    spent: Budget = NOTHING
    spent_by: Mapping[str, Budget] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_name(self.name, "account")
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        object.__setattr__(self, "spent_by", MappingProxyType(dict(self.spent_by)))
        if self.unit not in UNITS:
            raise ParameterError(f"unit must be one of {', '.join(UNITS)}; got {self.unit!r}")

    @classmethod
    def fold(cls, entries: Iterable[Entry]) -> Account:
        """Read the state from the entries of a whole chain."""
        first, *others = entries
        if first.kind != Kind.OPEN:
            raise LedgerError(f"account {first.account!r} does not begin with its terms; restore it from a backup")
        terms = first.asked
        account = cls(
            name=first.account, neighbours=terms["neighbours"], unit=terms["unit"], caps=Caps.from_entry(first)
        )
        for entry in others:
            account = account.after(entry)
        return account

    def after(self, entry: Entry) -> Account:
        """The state after one more entry."""
        if entry.kind == Kind.CAP:
            return replace(self, caps=Caps.from_entry(entry))
        if entry.kind == Kind.CHARGE:
            return self.charged(entry.amount, entry.analyst)
        return self

    def charged(self, price: Budget, analyst: str | None) -> Account:
        """The state after a price was paid."""
        by = dict(self.spent_by)
        if analyst is not None:
            by[analyst] = by.get(analyst, NOTHING) + price
        return replace(self, spent=self.spent + price, spent_by=by)

    def terms(self) -> str:
        """The terms of the account as an entry stores them."""
        plain = {"neighbours": self.neighbours.value, "unit": self.unit, **self.caps.to_dict()}
        return canonical_json(plain, "terms")

    def remaining(self, analyst: str | None = None) -> Budget:
        """What is left in the account, or to one analyst of it."""
        left = self.caps.total.less(self.spent)
        own = self._left_to(analyst)
        return left if own is None else replace(left, epsilon=min(left.epsilon, own))

    def _left_to(self, analyst: str | None) -> Fraction | None:
        cap = None if analyst is None else self.caps.of_analyst(analyst)
        if analyst is None or cap is None:
            return None
        return max(cap - self.spent_by.get(analyst, NOTHING).epsilon, Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        named = sorted({*self.spent_by, *self.caps.analysts})
        return {
            "account": self.name,
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "cap": self.caps.total.to_dict(),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining().to_dict(),
            "each_analyst": None if self.caps.each_analyst is None else float(self.caps.each_analyst),
            "analysts": [self._analyst(name) for name in named],
        }

    def _analyst(self, name: str) -> dict[str, Any]:
        cap = self.caps.of_analyst(name)
        return {
            "analyst": name,
            "cap": None if cap is None else float(cap),
            "spent": self.spent_by.get(name, NOTHING).to_dict(),
            "remaining": self.remaining(name).to_dict(),
        }

    def price(self, guarantee: Guarantee) -> Budget:
        """What a release costs here, in terms of the account's own relation."""
        if guarantee.unit != self.unit:
            raise ParameterError(
                f"account {self.name!r} protects each {self.unit}, but the release protects each {guarantee.unit}; "
                f"the two are counted apart. Ask with unit {self.unit!r}, or open another account"
            )
        here = guarantee.in_account_of(self.neighbours)
        if here is None:
            known = " or ".join(r.value for r in Neighbours if price_factor(r, self.neighbours) is not None)
            raise ParameterError(
                f"account {self.name!r} counts in terms of {self.neighbours.value} neighbours, for which a release for "
                f"{guarantee.neighbours.value} neighbours promises nothing. Ask with neighbours {known}, or open "
                "another account"
            )
        return Budget(epsilon=here.epsilon, delta=here.delta)

    def require(self, guarantees: Sequence[Guarantee], analyst: str | None) -> tuple[Budget, ...]:
        """Return the price of each release if all of them fit together; refuse otherwise."""
        prices = tuple(self.price(guarantee) for guarantee in guarantees)
        if prices and analyst is None and self.caps.name_analysts:
            raise ParameterError(
                f"account {self.name!r} has caps for analysts; name the analyst who asks (--analyst NAME)"
            )
        total = sum(prices, NOTHING)
        if not self.remaining(analyst).covers(total):
            raise self._refusal(total, sum((g.epsilon for g in guarantees), Fraction(0)), analyst)
        return prices

    def _refusal(self, price: Budget, asked: Fraction, analyst: str | None) -> BudgetError:
        """Say what was requested, what is left, what is missing, and what would fit."""
        left, everyone = self.remaining(analyst), f"account {self.name!r}"
        whose = f"analyst {analyst!r} in {everyone}" if left.epsilon < self.remaining().epsilon else everyone
        short = [
            _Shortage(whose=who, parameter=parameter, requested=requested, remaining=remaining)
            for who, parameter, requested, remaining in (
                (whose, "epsilon", price.epsilon, left.epsilon),
                (everyone, "delta", price.delta, left.delta),
            )
            if requested > remaining
        ]
        # In the relation of the request, whose epsilon may cost a multiple here.
        fits = [f"epsilon {shown(left.epsilon * asked / price.epsilon)}"] if price.epsilon > left.epsilon > 0 else []
        if price.delta > left.delta and left.epsilon > 0 and asked == price.epsilon:
            fits.append(f"delta {shown(left.delta)}")
        advice = f"{' and '.join(fits)} would fit; more only" if fits else "It can go on only"
        first = short[0]
        return BudgetError(
            f"{'; '.join(one.in_words() for one in short)}. {advice} if the data holder raises the cap",
            parameter=first.parameter,
            requested=first.requested,
            remaining=first.remaining,
            missing=first.missing,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shortage:
    """One reason why a price does not fit."""

    whose: str
    parameter: str
    requested: Fraction
    remaining: Fraction

    @property
    def missing(self) -> Fraction:
        return self.requested - self.remaining

    def in_words(self) -> str:
        return (
            f"{self.whose} has {self.parameter} {shown(self.remaining)} left, "
            f"but {shown(self.requested)} was requested: {shown(self.missing)} is missing"
        )


def checked_name(name: object, parameter: str) -> str:
    """Refuse a name that cannot be shown in one line."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise ParameterError(f"{parameter} must be a name of 1 to {_LONGEST_NAME} printable characters")
    return name


def _checked_cap(value: object) -> Fraction:
    cap = exact_fraction(value, "epsilon")
    if cap < 0:
        raise ParameterError(f"a cap of epsilon must not be negative; got {value!r}")
    return cap
