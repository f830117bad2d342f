"""Account of a site's ledger: one for all private questions about the site's data, with the caps of its policy.

Its unit is the person: if the policy says that nobody has more than one row, a guarantee for a row is one for a person.
A study is an analyst of the account, so that each study's epsilon is capped. Caps follow the policy, also after the
administrator changes it. Each composition, the rule by which prices add up, has an account of its own name; the policy
cannot change to another one after the first charge.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.policy import Policy
from confide.ledger.account_terms import Composition
from confide.ledger.budget import NOTHING
from confide.ledger.ledger import Ledger
from confide.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from confide.ledger.account import Account

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
