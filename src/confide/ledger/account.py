"""An account: what may be spent on some data, what was, and whether a price still fits. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from confide.errors import LedgerError, ParameterError
from confide.ledger.budget import Budget
from confide.ledger.entries import Entry, Kind, canonical_json
from confide.ledger.question import checked_text, is_digest
from confide.ledger.refusals import Limit, refusal
from confide.ledger.spending import Cost, Spending
from confide.privacy.guarantee import (
    UNITS,
    Guarantee,
    checked_delta,
    checked_rows_per_person,
    exact_fraction,
)
from confide.privacy.neighbours import Neighbours, price_factor
from confide.privacy.prepared import Part

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What may be spent: in all, by each analyst, and by those analysts who have a cap of their own.

    There is no default: the data holder states the cap.
    """

    total: Budget
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
        return cls.from_dict(entry.asked, entry.amount)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], total: Budget) -> Caps:
        """Read the caps of analysts from plain data."""
        each = plain["each_analyst"]
        return cls(
            total=total,
            each_analyst=None if each is None else Fraction(each),
            analysts={name: Fraction(cap) for name, cap in plain["analysts"].items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTerms:
    """What an account is about; fixed when it is opened, since sums of epsilons mean something only so.

    Parameters
    ----------
    neighbours, unit, rows_per_person
        What a guarantee hides, and whom it protects: a row, or a person, who has at most so many rows.
    data
        The identity of the only data that the account is for: a declared name and version, or what `Ledger.identify`
        returns for a file. Without it the account takes any data that no other account has.
    label, positive
        The name of the labels that the account hides, and their positive value. An account of label-only neighbours
        needs data and label: it takes everything else for public, so that a request about other labels could show the
        hidden ones.
    """

    neighbours: Neighbours
    unit: str = "row"
    rows_per_person: int = 1
    data: str | None = None
    label: str | None = None
    positive: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        if self.unit not in UNITS:
            raise ParameterError(f"unit must be one of {', '.join(UNITS)}; got {self.unit!r}")
        checked_rows_per_person(self.rows_per_person, self.unit)
        if self.data is not None:
            checked_text(self.data, "data")
        for name in ("label", "positive"):
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise ParameterError(f"{name} must be text; got {type(text).__name__}")
        if self.neighbours == Neighbours.LABEL_ONLY and (self.label is None or self.data is None):
            raise ParameterError(
                "an account of label-only neighbours hides one column of labels and takes all else for public: name "
                "the column (--label COL) and the data (--data FILE, or --data-name TEXT where files change, as with "
                "submissions to a contest)"
            )

    @property
    def declared(self) -> bool:
        """Whether the data have a declared name, and are not known by the digest of their file."""
        return self.data is not None and not is_digest(self.data)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what was not given is left out."""
        plain = {
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "rows_per_person": self.rows_per_person,
            "data": self.data,
            "label": self.label,
            "positive": self.positive,
        }
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AccountTerms:
        """Read the terms among other plain data."""
        return cls(**{one.name: plain[one.name] for one in fields(cls) if one.name in plain})


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The state of an account: the fold of its entries.

    What was spent is the total of `spending`; see there how parts of the rows compose. `data` are the identities of the
    data that it was opened for or charged for. `waiting` are the numbers of the charges that nothing came of so far.
    """

    name: str
    terms: AccountTerms
    caps: Caps
    spending: Spending = field(default_factory=Spending)
    spending_by: Mapping[str, Spending] = field(default_factory=dict)
    data: frozenset[str] = frozenset()
    waiting: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        checked_name(self.name, "account")
        object.__setattr__(self, "spending_by", MappingProxyType(dict(self.spending_by)))

    @classmethod
    def fold(cls, entries: Iterable[Entry]) -> Account:
        """Read the state from the entries of a whole chain."""
        first, *others = entries
        account = cls.opened(first)
        for entry in others:
            account = account.after(entry)
        return account

    @classmethod
    def opened(cls, first: Entry) -> Account:
        """Read the state of a new account from its first entry."""
        if first.kind != Kind.OPEN:
            raise LedgerError(f"account {first.account!r} does not begin with its terms; restore it from a backup")
        terms = AccountTerms.from_dict(first.asked)
        data = frozenset() if terms.data is None else frozenset({terms.data})
        return cls(name=first.account, terms=terms, caps=Caps.from_entry(first), data=data)

    @property
    def neighbours(self) -> Neighbours:
        """What the account's guarantees hide."""
        return self.terms.neighbours

    @property
    def unit(self) -> str:
        """Whom they protect."""
        return self.terms.unit

    def after(self, entry: Entry) -> Account:
        """The state after one more entry."""
        if entry.kind == Kind.CAP:
            return replace(self, caps=Caps.from_entry(entry))
        if entry.kind == Kind.CHARGE:
            charged = self.charged([self.cost_of(entry)], entry.analyst)
            known = self.data if entry.data is None else self.data | {entry.data}
            return replace(charged, data=known, waiting=self.waiting | {entry.sequence})
        if entry.charge not in self.waiting:
            raise LedgerError(
                f"account {self.name!r} has two outcomes of one charge; run `confide ledger verify`, and restore the "
                "ledger from a backup"
            )
        return replace(self, waiting=self.waiting - {entry.charge})

    def charged(self, costs: Sequence[Cost], analyst: str | None) -> Account:
        """The state after costs were paid."""
        by = dict(self.spending_by)
        if analyst is not None:
            by[analyst] = by.get(analyst, Spending()).after(*costs)
        return replace(self, spending=self.spending.after(*costs), spending_by=by)

    @property
    def spent(self) -> Budget:
        """What was spent in all."""
        return self.spending.total

    @property
    def spent_by(self) -> Mapping[str, Budget]:
        """What each analyst spent."""
        return {name: spending.total for name, spending in self.spending_by.items()}

    def opening(self) -> str:
        """Return the terms and caps as the first entry stores them."""
        return canonical_json({**self.terms.to_dict(), **self.caps.to_dict()}, "terms")

    def remaining(self, analyst: str | None = None) -> Budget:
        """What is left in the account, or to one analyst of it, for an answer that reads all rows.

        More may be left for a part that was read less than others.
        """
        left = self.caps.total.less(self.spent)
        own = min(limit.left for limit in self._limits(analyst) if limit.parameter == "epsilon")
        return replace(left, epsilon=own)

    def _limits(self, analyst: str | None) -> tuple[Limit, ...]:
        """What a request must stay within; the account's own limits come first."""
        whose, total = f"account {self.name!r}", self.caps.total
        own = None if analyst is None else self.caps.of_analyst(analyst)
        limits = [
            Limit(whose=whose, parameter="epsilon", cap=total.epsilon, spending=self.spending),
            Limit(whose=whose, parameter="delta", cap=total.delta, spending=self.spending),
        ]
        if analyst is not None and own is not None:
            spending = self.spending_by.get(analyst, Spending())
            whose = f"analyst {analyst!r} in {whose}"
            limits.append(Limit(whose=whose, parameter="epsilon", cap=own, spending=spending))
        return tuple(limits)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        named = sorted({*self.spending_by, *self.caps.analysts})
        return {
            "account": self.name,
            **self.terms.to_dict(),
            "cap": self.caps.total.to_dict(),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining().to_dict(),
            "each_analyst": None if self.caps.each_analyst is None else float(self.caps.each_analyst),
            "analysts": [self._analyst(name) for name in named],
            "parts": [{**part.to_dict(), "spent": spent.to_dict()} for part, spent in self.spending.parts.items()],
        }

    def _analyst(self, name: str) -> dict[str, Any]:
        cap = self.caps.of_analyst(name)
        return {
            "analyst": name,
            "cap": None if cap is None else float(cap),
            "spent": self.spending_by.get(name, Spending()).total.to_dict(),
            "remaining": self.remaining(name).to_dict(),
        }

    def price(self, guarantee: Guarantee) -> Budget:
        """What a release costs here, in terms of the account's own relation."""
        if guarantee.unit != self.unit:
            raise ParameterError(
                f"account {self.name!r} protects each {self.unit}, but the release protects each {guarantee.unit}; "
                f"the two are counted apart. Ask with unit {self.unit!r}, or open another account"
            )
        if guarantee.rows_per_person < self.terms.rows_per_person:
            raise ParameterError(
                f"account {self.name!r} is for persons with up to {self.terms.rows_per_person} rows, but the release "
                f"protects persons with {guarantee.rows_per_person}; ask with rows_per_person "
                f"{self.terms.rows_per_person}"
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

    def cost(self, guarantee: Guarantee, part: Part | None) -> Cost:
        """What a release of a part costs here, and whether it concerns that part alone."""
        return Cost(price=self.price(guarantee), part=part if self._parallel(guarantee.neighbours) else None)

    def cost_of(self, charge: Entry) -> Cost:
        """The same for a charge that was paid."""
        part = charge.part
        if part is not None and not self._parallel(Neighbours.parse(charge.asked["guarantee"]["neighbours"])):
            part = None
        return Cost(price=charge.amount, part=part)

    def _parallel(self, released: Neighbours) -> bool:
        """Whether parts compose in parallel: not if what was released says nothing about a row that changes parts."""
        return released != Neighbours.REPLACE_ONE

    def added(self, costs: Sequence[Cost]) -> Budget:
        """What costs would add to what is spent."""
        return self.spending.after(*costs).total.less(self.spent)

    def require(self, costs: Sequence[Cost], analyst: str | None, *, asked: Fraction) -> None:
        """Refuse costs that do not fit together; `asked` is the sum of the epsilons in the requests' own terms."""
        if costs and analyst is None and self.caps.name_analysts:
            raise ParameterError(
                f"account {self.name!r} has caps for analysts; name the analyst who asks (--analyst NAME)"
            )
        exceeded = [limit for limit in self._limits(analyst) if limit.exceeded(costs)]
        if exceeded:
            raise refusal(exceeded, costs, asked)


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
