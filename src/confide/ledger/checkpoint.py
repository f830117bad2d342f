"""Checkpoints: the sealed state of an account in its head, which a charge reads instead of all earlier entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from confide.errors import LedgerError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.budget import Budget
from confide.ledger.entries import canonical_json
from confide.ledger.spending import Spending
from confide.privacy.guarantee import stored_fraction
from confide.privacy.prepared import Part


def state_text(account: Account) -> str:
    """Write the state of an account, in one way only."""
    with_rho = account.terms.concentration is not None
    plain = {
        "terms": account.terms.to_dict(),
        "total": _budget(account.caps.total),
        "caps": account.caps.to_dict(),
        "spending": _spending(account.spending, with_rho=with_rho),
        "spending_by": {name: _spending(one, with_rho=with_rho) for name, one in account.spending_by.items()},
        "data": sorted(account.data),
        "waiting": sorted(account.waiting),
    }
    return canonical_json(plain, "state")


def read_state(name: str, text: str) -> Account:
    """Rebuild the state of an account from its text, whose seal was checked."""
    try:
        plain = json.loads(text)
        return Account(
            name=name,
            terms=AccountTerms.from_dict(plain["terms"]),
            caps=Caps.from_dict(plain["caps"], _read_budget(plain["total"])),
            spending=_read_spending(plain["spending"]),
            spending_by={one: _read_spending(spent) for one, spent in plain["spending_by"].items()},
            data=frozenset(plain["data"]),
            waiting=frozenset(plain["waiting"]),
        )
    except (ValueError, LookupError, TypeError):
        raise LedgerError(
            f"the state of account {name!r} was written by another version of confide; use that version"
        ) from None


def _budget(budget: Budget, *, with_rho: bool = False) -> list[str]:
    """Write epsilon, delta and, in a concentrated account, rho: versions that know no rho refuse three amounts."""
    return [str(budget.epsilon), str(budget.delta), *([str(budget.rho)] if with_rho else [])]


def _read_budget(plain: list[str]) -> Budget:
    epsilon, delta, *others = plain
    (rho,) = others or ("0",)
    return Budget(epsilon=stored_fraction(epsilon), delta=stored_fraction(delta), rho=stored_fraction(rho))


def _spending(spending: Spending, *, with_rho: bool) -> dict[str, Any]:
    parts = [[part.partition, part.name, *_budget(spent, with_rho=with_rho)] for part, spent in spending.parts.items()]
    return {"common": _budget(spending.common, with_rho=with_rho), "parts": parts}


def _read_spending(plain: Mapping[str, Any]) -> Spending:
    parts = {Part(partition, name): _read_budget(spent) for partition, name, *spent in plain["parts"]}
    return Spending(common=_read_budget(plain["common"]), parts=parts)
