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
from typing import TYPE_CHECKING

from confide.errors import UnpayableError
from confide.federation.periods import Period
from confide.federation.site.spent_alone import Prices
from confide.ledger.entries import Kind
from confide.privacy.guarantee import shown

if TYPE_CHECKING:
    from confide.federation.policy import Allowance
    from confide.federation.site.site_folder import SiteFolder
    from confide.ledger.entries import Entry
    from confide.ledger.ledger import Ledger

_LOCK = "allowance.lock"


def charged_in_period(ledger: Ledger, account: str, kind: str, now: datetime) -> Prices:
    """Return the prices that were charged to an account in the present period."""
    present = Period.at(kind, now)
    return Prices.of_charges(
        charge for charge in _charges(ledger, account) if Period.at(kind, datetime.fromisoformat(charge.at)) == present
    )


def require_allowance(
    ledger: Ledger, account: str, allowance: Allowance | None, price: Prices, now: datetime | None = None
) -> None:
    """Refuse a price that the present period cannot pay; what is stored already costs nothing."""
    if allowance is None or price == Prices():
        return
    time = datetime.now(UTC) if now is None else now
    charged, delta = charged_in_period(ledger, account, allowance.period, time), _delta(ledger, account)
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
    charged = Prices.of_charges(charge for charge in _charges(ledger, account) if charge.analyst == study)
    delta = _delta(ledger, account)
    if not (charged + price).fit(limit, delta):
        spent, added = _words(charged, price, delta)
        raise UnpayableError(
            f"one study may cost epsilon {shown(limit)} at this site (epsilon_per_study in its policy), of which "
            f"{spent} is spent, and this costs {added}; ask for less epsilon, or let its "
            "administrator raise epsilon_per_study"
        )


def _charges(ledger: Ledger, account: str) -> list[Entry]:
    return [entry for entry in ledger.history(account) if entry.kind == Kind.CHARGE]


def _delta(ledger: Ledger, account: str) -> Fraction:
    """Return the delta at which rho is converted; 0 for a ledger that adds up epsilon."""
    held = ledger.account(account)
    return Fraction(0) if held.terms.concentration is None else held.caps.total.delta


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
