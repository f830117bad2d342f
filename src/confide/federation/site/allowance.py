"""Limits of a site on what private questions may cost: in a period, such as a year, and for one study.

The ledger's caps limit the whole, and in a ledger that adds up epsilon each study too. In one that adds up rho (zCDP)
`spent_alone` says what the answers of a period, or of a study, cost by themselves.

An allowance limits how fast the budget is spent; `epsilon_in_all` limits the whole, and what was spent does not come
back. Periods are those of the calendar, in UTC. A refusal depends on the ledger, the policy and the question alone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from confide.errors import UnpayableError
from confide.federation.periods import Period
from confide.federation.site.spent_alone import Prices
from confide.federation.site.study_costs import charged_to_study, charges_of, conversion_delta
from confide.ledger.budget import NOTHING
from confide.privacy.guarantee import shown

if TYPE_CHECKING:
    from confide.federation.policy import Allowance
    from confide.federation.site.site_folder import SiteFolder
    from confide.ledger.account import Account
    from confide.ledger.ledger import Ledger
    from confide.ledger.receipts import Quote

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
