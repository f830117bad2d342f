"""Epsilon that a study has cost a site, and what is left to it.

A ledger that adds up epsilon counts a study by the sum of its questions. In one that adds up rho (zCDP) a study is
counted by its own answers alone, at the delta of the account (`spent_alone`). The account counts the answers of all
studies together, at one order that was fixed when it was opened, so its number is not the sum of the studies'.

A study has left what both limits leave: its own, and that of all studies together.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from confide.federation.site.spent_alone import Prices
from confide.ledger.budget import NOTHING
from confide.ledger.entries import Kind

if TYPE_CHECKING:
    from confide.ledger.account import Account
    from confide.ledger.entries import Entry
    from confide.ledger.ledger import Ledger


def charges_of(ledger: Ledger, account: str) -> list[Entry]:
    """Return the charges to an account, the oldest first."""
    return [entry for entry in ledger.history(account) if entry.kind == Kind.CHARGE]


def charged_to_study(ledger: Ledger, account: str, study: str) -> Prices:
    """Return the prices that were charged to a study."""
    return Prices.of_charges(charge for charge in charges_of(ledger, account) if charge.analyst == study)


def conversion_delta(account: Account) -> Fraction:
    """Return the delta at which rho is converted; 0 for an account that adds up epsilon."""
    return Fraction(0) if account.terms.concentration is None else account.caps.total.delta


def study_epsilon(ledger: Ledger, account: Account, study: str) -> Fraction:
    """Return the epsilon that a study has cost by itself, as its limit counts it."""
    alone = charged_to_study(ledger, account.name, study).epsilon(conversion_delta(account))
    return max(alone, account.spent_by.get(study, NOTHING).epsilon)


def left_to_study(ledger: Ledger, account: str, study: str) -> Fraction:
    """Return the epsilon that the limits of a study and of all studies leave to it."""
    held = ledger.account(account)
    limit, left = held.caps.of_analyst(study), held.caps.total.less(held.spent).epsilon
    return left if limit is None else min(left, max(limit - study_epsilon(ledger, held, study), Fraction(0)))
