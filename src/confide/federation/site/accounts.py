"""Accounts of a site's ledger: its budget, allowances for periods and studies, and what was spent.

A ledger that adds up epsilon counts a study by the sum of its questions. In one that adds up rho (zCDP) a study is
counted by its own answers alone, at the delta of the account. The account counts the answers of all
studies together, at one order that was fixed when it was opened, so its number is not the sum of the studies'.

A study has left what both limits leave: its own, and that of all studies together.

A ledger that adds up epsilon needs no more than a sum. In one that adds up rho (zCDP), a part of the charges does not
cost a part of the account's epsilon, as the conversion costs something for each part anew. So each limit counts what it
limits by itself, at the delta of the account: the answers fit if

- all have Laplace noise, and their epsilons add up to at most the limit, or
- all rho add up to at most `rho_for(limit, delta)`, where epsilon of Laplace noise counts as `epsilon^2 / 2`.

This holds for the answers that are charged to a study or period, whoever asks, and in whatever order. Let L be their
privacy loss; they are given while either condition holds. In runs that end with the first one, L is at most the limit.
In runs that end with the second one, L exceeds it with a chance of at most delta, as the supermartingale of zCDP counts
every answer by its rho; runs that end with the first one add nothing to that chance.

Limit and delta must not follow answers: a policy that is changed after results were seen promises less. Answers that
another study paid for are stored, and cost nothing more.

Its unit is the person: if the policy says that nobody has more than one row, a guarantee for a row is one for a person.
A study is an analyst of the account, so that each study's epsilon is capped. Caps follow the policy, also after the
administrator changes it. Each composition, the rule by which prices add up, has an account of its own name; the policy
cannot change to another one after the first charge.

The ledger's caps limit the whole, and in a ledger that adds up epsilon each study too. In one that adds up rho (zCDP),
this module says what the answers of a period, or of a study, cost by themselves.

An allowance limits how fast the budget is spent; `epsilon_in_all` limits the whole, and what was spent does not come
back. Periods are those of the calendar, in UTC. A refusal depends on the ledger, the policy and the question alone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from confide.errors import FederationError, ParameterError, RefusedError, UnpayableError
from confide.federation.policy import Policy
from confide.federation.question_terms import Period
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import SiteRecords
from confide.ledger.account_terms import Composition
from confide.ledger.entries import Kind
from confide.ledger.ledger import Ledger
from confide.ledger.question import same_name
from confide.ledger.spending import NOTHING, Budget
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.concentration import rho_of_pure
from confide.privacy.guarantee import shown, stored_fraction
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import upper_sqrt

if TYPE_CHECKING:
    from confide.federation.policy import Allowance
    from confide.federation.question import Question
    from confide.ledger.account import Account
    from confide.ledger.entries import Entry
    from confide.ledger.receipts import Quote


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of answers: the epsilon of each with Laplace noise, and the rho of those with Gaussian noise."""

    pure: tuple[Fraction, ...] = ()
    rho: Fraction = Fraction(0)

    @classmethod
    def of_charges(cls, charges: Iterable[Entry]) -> Prices:
        """Return the prices that a site's ledger holds."""
        return sum((_charged(charge) for charge in charges), cls())

    @classmethod
    def of_question(cls, question: Question, price: Budget) -> Prices:
        """Return the price of a question, given the ledger's: that of what is not stored yet."""
        if price == NOTHING:
            return cls()
        if question.delta:
            return cls(rho=_stated(price.rho))
        return cls(pure=(question.exact_epsilon if price.rho else price.epsilon,))

    def __add__(self, other: Prices) -> Prices:
        return Prices(pure=(*self.pure, *other.pure), rho=self.rho + other.rho)

    @property
    def added(self) -> Fraction:
        """Sum of the epsilons."""
        return sum(self.pure, Fraction(0))

    @property
    def all_rho(self) -> Fraction:
        """Rho of all answers."""
        return self.rho + sum(map(rho_of_pure, self.pure), Fraction(0))

    def fit(self, limit: Fraction, delta: Fraction) -> bool:
        """Return whether all together cost at most a limit, at this delta; delta 0 if the ledger adds up epsilon."""
        if not self.rho and self.added <= limit:
            return True
        return bool(delta) and self.all_rho <= _largest_rho(limit, delta)

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return the epsilon of all together, rounded up: the smaller one of both ways to count, for people."""
        if not delta or not self.all_rho:
            return self.added
        converted = epsilon_for(self.all_rho, delta)
        return converted if self.rho else min(self.added, converted)


def _largest_rho(limit: Fraction, delta: Fraction) -> Fraction:
    try:
        return rho_for(limit, delta)
    except ParameterError:  # too small a limit for any rho at this delta
        return Fraction(0)


def _charged(charge: Entry) -> Prices:
    amount, guarantee = charge.amount, charge.request_data["guarantee"]
    if stored_fraction(guarantee["delta"]):  # Gaussian noise: Laplace noise has no delta
        return Prices(rho=_stated(amount.rho))
    if not amount.rho:
        return Prices(pure=(amount.epsilon,))
    epsilon = stored_fraction(guarantee["epsilon"])
    return Prices(pure=(epsilon if rho_of_pure(epsilon) == amount.rho else upper_sqrt(2 * amount.rho),))


def _stated(rho: Fraction) -> Fraction:
    """Return the rho of Gaussian noise; refuse a price without one, which would count as nothing."""
    if not rho:
        raise FederationError(
            "the site's ledger has a price with delta and without rho, which its limits cannot count; restore the "
            "ledger from a backup"
        )
    return rho


def charges_of(ledger: Ledger, account: str) -> list[Entry]:
    """Return the charges to an account, the oldest first."""
    return [entry for entry in ledger.history(account) if entry.kind == Kind.CHARGE]


def charged_to_study(ledger: Ledger, account: str, study: str) -> Prices:
    """Return the prices that were charged to a study, however its name was written."""
    charges = charges_of(ledger, account)
    return Prices.of_charges(one for one in charges if one.analyst is not None and same_name(one.analyst, study))


def conversion_delta(account: Account) -> Fraction:
    """Return the delta at which rho is converted; 0 for an account that adds up epsilon."""
    return Fraction(0) if account.terms.concentration is None else account.caps.total.delta


def study_epsilon(ledger: Ledger, account: Account, study: str) -> Fraction:
    """Return the epsilon that a study has cost by itself, as its limit counts it."""
    alone = charged_to_study(ledger, account.name, study).epsilon(conversion_delta(account))
    return max(alone, account.spent_by.get(account.known_analyst(study), NOTHING).epsilon)


def left_to_study(ledger: Ledger, account: str, study: str) -> Fraction:
    """Return the epsilon that the limits of a study and of all studies leave to it."""
    held = ledger.account(account)
    limit, left = held.caps.of_analyst(study), held.caps.total.less(held.spent).epsilon
    return left if limit is None else min(left, max(limit - study_epsilon(ledger, held, study), Fraction(0)))


ACCOUNT = "validation"
"""Name of the one account of a site's ledger that is charged: all questions are about the same people."""

CONCENTRATED = "validation-zcdp"
"""Its name if the policy says composition = "zcdp"."""

UNIT = "person"


def open_site_account(
    ledger: Ledger,
    account: str = ACCOUNT,
    *,
    epsilon: Fraction | int | str,
    epsilon_per_study: Fraction | int | str,
    delta: Fraction | int | str = 0,
    composition: str = Composition.ADDITION,
    rows_per_person: int = 1,
) -> Account:
    """Open the account of a site's data, with caps in all and for each study, and the rule by which prices add up."""
    return ledger.open_account(
        account,
        epsilon=epsilon,
        delta=delta,
        composition=composition,
        analyst_epsilon=epsilon_per_study,
        neighbours=Neighbours.ADD_REMOVE_ONE,
        unit=UNIT,
        rows_per_person=rows_per_person,
    )


def account_name(policy: Policy) -> str:
    """Return the name of the account that questions are charged to."""
    return CONCENTRATED if policy.concentrated else ACCOUNT


def account_by_policy(ledger: Ledger, policy: Policy) -> Account:
    """Return the site's account with the caps of the policy; open it if there is none."""
    name = account_name(policy)
    _check_other(ledger, name)
    found = find_account(ledger, policy)
    if found is None:
        try:
            return open_site_account(
                ledger,
                name,
                epsilon=policy.epsilon_in_all,
                epsilon_per_study=policy.epsilon_per_study,
                delta=policy.delta_in_all,
                composition=policy.composition,
                rows_per_person=policy.rows_per_person,
            )
        except ParameterError:  # another process opened it just now
            found = ledger.account(name)
    _check_terms(found, policy)
    caps = found.caps.total.epsilon, found.caps.total.delta, found.caps.each_analyst
    if caps != (policy.epsilon_in_all, policy.delta_in_all, policy.epsilon_per_study):
        return ledger.change_caps(
            name,
            epsilon=policy.epsilon_in_all,
            delta=policy.delta_in_all,
            analyst_epsilon=policy.epsilon_per_study,
        )
    return found


def find_account(ledger: Ledger, policy: Policy) -> Account | None:
    """Return the account that questions are charged to; None if it was not opened yet."""
    return _named(ledger, account_name(policy))


def _check_terms(account: Account, policy: Policy) -> None:
    if (account.neighbours, account.unit) != (Neighbours.ADD_REMOVE_ONE, UNIT):
        raise FederationError(
            f"account {account.name!r} of the site's ledger was opened for other neighbours or another unit; give the "
            "site a ledger of its own"
        )
    if account.terms.rows_per_person < policy.rows_per_person:
        raise FederationError(
            f"account {account.name!r} of the site's ledger was opened for persons with at most "
            f"{account.terms.rows_per_person} rows, and rows_per_person in the policy is larger now: what was answered "
            "protected them less. Set it back, or give the site a folder of its own for these rows"
        )


def _check_other(ledger: Ledger, name: str) -> None:
    """Refuse a policy whose composition is not the one by which the site's answers were counted so far."""
    other, composition = (ACCOUNT, Composition.ADDITION) if name == CONCENTRATED else (CONCENTRATED, Composition.ZCDP)
    charged = _named(ledger, other)
    if charged is not None and charged.spent != NOTHING:
        raise RefusedError(
            f"this site's ledger counts what was spent with composition {composition.value!r}, and its policy has "
            "another one now (composition): the two do not add up. Its administrator sets it back, or gives the site "
            "a folder of its own for these rows, with what was spent taken off epsilon_in_all"
        )


def _named(ledger: Ledger, name: str) -> Account | None:
    return next((one for one in ledger.accounts() if one.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyBudget:
    """Epsilon of one study by itself, and what is left to it.

    `cap` is the policy's limit now; `listed` is False if the policy does not name the study, whose questions are then
    refused.
    """

    spent: Budget
    remaining: Fraction
    cap: Fraction
    listed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"spent": self.spent.to_dict(), "remaining": _plain(self.remaining), "cap": _plain(self.cap)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteBudget:
    """Epsilon that was spent, in all and by each study. `cap` is the policy's limit now.

    `total` is what was spent with its delta and rho. In an account of composition zcdp (`concentrated`) the epsilon
    spent is that of all rho together, converted at the delta; what the conversion costs once is no study's.
    """

    account: str
    total: Budget
    cap: Fraction
    studies: Mapping[str, StudyBudget]
    concentrated: bool = False

    @property
    def spent(self) -> Fraction:
        """Epsilon that was spent."""
        return self.total.epsilon

    @property
    def remaining(self) -> Fraction:
        """Epsilon that is left; 0 if the policy's limit was lowered below what was spent."""
        return max(self.cap - self.spent, Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "account": self.account,
            "spent": self.total.to_dict(),
            "remaining": _plain(self.remaining),
            "cap": _plain(self.cap),
            "studies": {study: budget.to_dict() for study, budget in self.studies.items()},
        }


def _plain(epsilon: Fraction) -> dict[str, float]:
    return Budget(epsilon=epsilon).to_dict()


def read_budget(folder: SiteFolder) -> SiteBudget | None:
    """Read a site's ledger; None if it has no account yet."""
    policy = Policy.load(folder.policy)
    with SiteRecords(folder).ledger as ledger:
        account = find_account(ledger, policy)
        if account is None:
            return None
        names = dict.fromkeys((*(policy.studies or ()), *account.spent_by))
        studies = {name: _study(ledger, account, name, policy) for name in names}
    return SiteBudget(
        account=account.name,
        total=account.spent,
        cap=policy.epsilon_in_all,
        studies=studies,
        concentrated=policy.concentrated,
    )


def _study(ledger: Ledger, account: Account, name: str, policy: Policy) -> StudyBudget:
    charged, cap = account.spent_by.get(name, NOTHING), policy.epsilon_per_study
    delta = conversion_delta(account) if charged.rho else charged.delta
    spent = replace(charged, epsilon=study_epsilon(ledger, account, name), delta=delta)
    left = min(cap - spent.epsilon, policy.epsilon_in_all - account.spent.epsilon)
    listed = policy.studies is None or name in policy.studies
    return StudyBudget(spent=spent, remaining=max(left, Fraction(0)), cap=cap, listed=listed)


PER_STUDY, IN_ALL = "epsilon_per_study", "epsilon_in_all"
"""Rules of the policy that limit a study, and all studies together."""

_LOCK = "allowance.lock"
_FINE = 10**6  # less than such a part of epsilon is shown as nothing left


def charged_in_period(ledger: Ledger, account: str, kind: str, now: datetime) -> Prices:
    """Return the prices that were charged to an account in the present period.

    Charges of later periods count too. There are some if the clock was put back, which gives nothing back.
    """
    present = Period.at(kind, now)
    return Prices.of_charges(
        charge
        for charge in charges_of(ledger, account)
        if Period.at(kind, datetime.fromisoformat(charge.at)).number >= present.number
    )


def require_allowance(
    ledger: Ledger, account: str, allowance: Allowance | None, price: Prices, now: datetime | None = None
) -> None:
    """Refuse a price that the present period cannot pay; what is stored already costs nothing."""
    if allowance is None or price == Prices():
        return
    time = datetime.now(UTC) if now is None else now
    charged = charged_in_period(ledger, account, allowance.period, time)
    delta = conversion_delta(ledger.account(account))
    if not (charged + price).fit(allowance.epsilon, delta):
        spent, added = _words(charged, price, delta)
        name = Period.at(allowance.period, time).name
        raise UnpayableError(
            f"this site allows epsilon {shown(allowance.epsilon)} a {allowance.period} (allowance in its policy), of "
            f"which {spent} is spent in {name}, and this costs {added}; "
            "ask for less epsilon, or in the next period"
        )


def require_study(ledger: Ledger, account: str, study: str, limit: Fraction, price: Prices) -> None:
    """Refuse a price that exceeds what one study may cost; a ledger that adds up epsilon has refused it before."""
    if price == Prices():
        return
    charged, delta = charged_to_study(ledger, account, study), conversion_delta(ledger.account(account))
    if not (charged + price).fit(limit, delta):
        spent = charged.epsilon(delta)
        raise _too_little(f"study {study}", spent, limit, (charged + price).epsilon(delta) - spent, PER_STUDY)


def unpayable(account: Account, study: str, asked: Quote) -> UnpayableError:
    """Return the refusal of a price that a site's account cannot pay, in the words of the site's policy."""
    at, full, limit = account.terms.concentration, asked.full_price, account.caps.of_analyst(study)
    added = full.epsilon + (Fraction(0) if at is None else at.order * full.rho)
    spent = account.spent_by.get(study, NOTHING).epsilon
    if limit is not None and spent + added > limit:
        return _too_little(f"study {study}", spent, limit, added, PER_STUDY)
    if asked.spent.epsilon + asked.price.epsilon > account.caps.total.epsilon:
        cap, cost = account.caps.total.epsilon, asked.price.epsilon
        return _too_little("all studies together", asked.spent.epsilon, cap, cost, IN_ALL, verb="have")
    return UnpayableError(f"this site's ledger cannot pay for this: {asked.refusal}")


def _too_little(
    whose: str, spent: Fraction, limit: Fraction, cost: Fraction, rule: str, *, verb: str = "has"
) -> UnpayableError:
    """Return the refusal of a cost that a limit does not allow: what is left, what it costs, and what is missing."""
    left, missing = Fraction(floor(max(limit - spent, Fraction(0)) * _FINE), _FINE), spent + cost - limit
    advice = "Ask for less epsilon, or let its administrator raise" if left else "Only its administrator can raise"
    return UnpayableError(
        f"{whose} {verb} epsilon {shown(left, down=True)} of {shown(limit)} left at this site ({rule} in its policy), "
        f"and this costs {shown(cost, up=True)}: {shown(missing, up=True)} is missing. {advice} {rule}"
    )


def _words(charged: Prices, price: Prices, delta: Fraction) -> tuple[str, str]:
    """Return the epsilon that was spent, and what a price adds to it."""
    spent = charged.epsilon(delta)
    return shown(spent), shown((charged + price).epsilon(delta) - spent, up=True)


@contextmanager
def one_charge_at_a_time(folder: SiteFolder) -> Iterator[None]:
    """Let no two runs check the allowance and charge at the same time."""
    handle = os.open(folder.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
