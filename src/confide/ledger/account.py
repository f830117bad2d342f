"""Account of a ledger: what it has spent, what it can pay, and refusals for lack of budget.

`privacy.concentration` says how, and proves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from confide.errors import BudgetError, LedgerError, ParameterError
from confide.ledger.account_terms import AccountTerms, Caps, checked_name
from confide.ledger.entries import Entry, Kind
from confide.ledger.question import same_name
from confide.ledger.spending import NOTHING, Budget, Cost, Spending
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import LEAST_DELTA, Guarantee, shown
from confide.privacy.neighbours import Neighbours, price_factor
from confide.privacy.prepared import Part
from confide.records.chain import canonical_json


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Account:
    """State of an account: the fold of its entries.

    The amount spent is the total of `spending`, which describes how parts of the rows compose. `data` holds the
    identities of the data that the account was opened for or charged for. `waiting` holds the numbers of the charges
    that have neither an answer nor a failure yet.
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

    def __repr__(self) -> str:
        return f"<Account {self.in_words()}>"

    def in_words(self) -> str:
        """Describe in one line what is left, and what the account protects."""
        left, cap = self.remaining().in_words(), self.caps.total.in_words()
        return f"{self.name!r}: {left} left of {cap}, {self.neighbours.value}, each {self.unit}"

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
        terms = AccountTerms.from_dict(first.request_data)
        data = frozenset() if terms.data is None else frozenset({terms.data})
        return cls(name=first.account, terms=terms, caps=Caps.from_entry(first), data=data)

    @property
    def neighbours(self) -> Neighbours:
        """Neighbouring relation of the account's guarantees."""
        return self.terms.neighbours

    @property
    def unit(self) -> str:
        """Privacy unit of the account's guarantees."""
        return self.terms.unit

    def names_of(self, data: str) -> frozenset[str]:
        """Return the names of some data as the account writes them: one, but in ledgers of earlier versions."""
        return frozenset(one for one in self.data if same_name(one, data))

    def known_analyst(self, analyst: str) -> str:
        """Return the name of an analyst as the account writes it, else as it is given.

        Otherwise whoever writes a name with another capital would have the share of one more analyst.
        """
        known = {*self.spending_by, *self.caps.analysts}
        if analyst in known:
            return analyst
        return min((one for one in known if same_name(one, analyst)), default=analyst)

    def after(self, entry: Entry) -> Account:
        """Return the state after one more entry."""
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
        """Return the state after costs were paid."""
        by = dict(self.spending_by)
        if analyst is not None:
            by[analyst] = by.get(analyst, Spending()).after(*costs)
        return replace(self, spending=self.spending.after(*costs), spending_by=by)

    @property
    def spent(self) -> Budget:
        """Total that was spent: what was paid, and in a concentrated account the epsilon and delta of its rho."""
        return self._total(self.spending)

    @property
    def guarantee(self) -> Guarantee | None:
        """Guarantee of everything that was paid for, in the account's own terms; None if nothing was.

        A delta below the least that a guarantee states is rounded up to it.
        """
        spent = self.spent
        if not spent.epsilon:
            return None
        return Guarantee(
            epsilon=spent.epsilon,
            delta=max(spent.delta, LEAST_DELTA) if spent.delta else spent.delta,
            neighbours=self.neighbours,
            unit=self.unit,
            rows_per_person=self.terms.rows_per_person,
        )

    @property
    def spent_by(self) -> Mapping[str, Budget]:
        """Amount that each analyst spent. What a conversion costs once is the account's."""
        return {
            name: replace(spending.total, epsilon=self._analyst_epsilon(name))
            for name, spending in self.spending_by.items()
        }

    def _total(self, spending: Spending) -> Budget:
        at = self.terms.concentration
        return spending.total if at is None else converted(spending.total, at)

    def _analyst_epsilon(self, analyst: str) -> Fraction:
        spent, at = self.spending_by[analyst].total, self.terms.concentration
        return spent.epsilon if at is None else spent.epsilon + at.order * spent.rho

    @property
    def allowed(self) -> Budget:
        """Caps of the account; in a concentrated one with the rho that they allow."""
        caps, at = self.caps.total, self.terms.concentration
        return caps if at is None or at.delta > caps.delta else replace(caps, rho=at.rho_within(caps.epsilon))

    def opening(self) -> str:
        """Return the terms and caps as the first entry stores them."""
        return canonical_json({**self.terms.to_dict(), **self.caps.to_dict()}, "terms")

    def remaining(self, analyst: str | None = None) -> Budget:
        """Return what is left in the account, or to one analyst, for an answer that reads all rows.

        More may be left for a part on which less was spent than on others.
        """
        left = self.caps.total.less(self.spent)
        limits = [limit for limit in self._limits(analyst) if limit.parameter == "epsilon"]
        own = min(limit.left for limit in limits)
        rho = min((limit.rho_left for limit in limits if isinstance(limit, ConcentratedLimit)), default=NOTHING.rho)
        return replace(left, epsilon=own, rho=rho if self._converts else NOTHING.rho)

    @property
    def _converts(self) -> bool:
        """Return whether releases with a delta of their own leave the delta that converts rho."""
        at = self.terms.concentration
        return at is not None and self.spending.total.delta + at.delta <= self.caps.total.delta

    def _limits(self, analyst: str | None) -> tuple[Limit, ...]:
        """Yield the limits of a request; the account's own limits come first."""
        whose, total = f"account {self.name!r}", self.caps.total
        own = None if analyst is None else self.caps.of_analyst(analyst)
        at = self.terms.concentration
        reserve, delta = (NOTHING.epsilon, NOTHING.delta) if at is None else (at.reserve, at.delta)
        limits = [
            self._limit(whose, "epsilon", total.epsilon, self.spending, once=reserve),
            self._limit(whose, "delta", total.delta, self.spending, once=delta),
        ]
        if analyst is not None and own is not None:
            spending = self.spending_by.get(analyst, Spending())
            limits.append(
                self._limit(f"analyst {analyst!r} in {whose}", "epsilon", own, spending, once=NOTHING.epsilon)
            )
        return tuple(limits)

    def _limit(self, whose: str, parameter: str, cap: Fraction, spending: Spending, *, once: Fraction) -> Limit:
        at = self.terms.concentration
        if at is None:
            return Limit(whose=whose, parameter=parameter, cap=cap, spending=spending)
        return ConcentratedLimit(
            whose=whose, parameter=parameter, cap=cap, spending=spending, order=at.order, once=once
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        named = sorted({*self.spending_by, *self.caps.analysts})
        return {
            "account": self.name,
            **self.terms.to_dict(),
            "cap": self.allowed.to_dict(),
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
            "spent": self.spent_by.get(name, NOTHING).to_dict(),
            "remaining": self.remaining(name).to_dict(),
        }

    def price(self, guarantee: Guarantee, *, pure_outside: bool = False) -> Budget:
        """Return the price of a release in terms of the account's own relation.

        With `pure_outside`, a concentrated account counts a pure release by its epsilon.
        """
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
        at = self.terms.concentration
        if at is None:
            return Budget(epsilon=here.epsilon, delta=here.delta)
        return concentrated_price(here, at, pure_outside=pure_outside)

    def cost(self, guarantee: Guarantee, part: Part | None, *, pure_outside: bool = False) -> Cost:
        """Return the cost of a release of a part, and whether it concerns that part alone."""
        price = self.price(guarantee, pure_outside=pure_outside)
        return Cost(price=price, part=part if self._parallel(guarantee.neighbours) else None)

    def costs(self, releases: Sequence[tuple[Guarantee, Part | None]], analyst: str | None) -> list[Cost]:
        """Return the costs of releases, each with its part, that are charged together.

        A concentrated account counts pure releases where they are cheaper in the long run; if they do not fit so, it
        counts them by their epsilon, provided that this fits or exceeds the caps by less. The choice follows from what
        was spent, so it is public and made before noise is drawn.
        """
        usual, outside = (
            [self.cost(guarantee, part, pure_outside=which) for guarantee, part in releases] for which in (False, True)
        )
        if usual == outside or self.fits(usual, analyst):
            return usual
        better = self.fits(outside, analyst) or self.added(outside).epsilon < self.added(usual).epsilon
        return outside if better else usual

    def fits(self, costs: Sequence[Cost], analyst: str | None) -> bool:
        """Return whether costs stay within all caps."""
        return not any(limit.exceeded(costs) for limit in self._limits(analyst))

    def cost_of(self, charge: Entry) -> Cost:
        """Return the cost of a charge that was paid."""
        part = charge.part
        if part is not None and not self._parallel(Neighbours.parse(charge.request_data["guarantee"]["neighbours"])):
            part = None
        return Cost(price=charge.amount, part=part)

    def _parallel(self, released: Neighbours) -> bool:
        """Return whether parts compose in parallel: not under replace-one, as a row may move to another part."""
        return released != Neighbours.REPLACE_ONE

    def added(self, costs: Sequence[Cost]) -> Budget:
        """Return the amount that costs would add to the total spent."""
        return self._total(self.spending.after(*costs)).less(self.spent)

    def require(self, costs: Sequence[Cost], analyst: str | None, *, requested: Fraction) -> None:
        """Refuse costs that do not fit together; `requested` is the sum of the epsilons in the requests' own terms."""
        if costs and analyst is None and self.caps.name_analysts:
            raise ParameterError(
                f"account {self.name!r} has caps for analysts; name the analyst of the request (`analyst`)"
            )
        exceeded = [limit for limit in self._limits(analyst) if limit.exceeded(costs)]
        if exceeded:
            raise refusal(exceeded, costs, requested)
