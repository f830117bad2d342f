"""Chain of one account's sealed entries, and the checkpoints that save reading all of it.

Each entry seals the one before it, and a head seals the last one, its number and the account's state, so that
changing, exchanging, adding or removing entries shows. A register seals the heads of all accounts, so that removing an
account, or putting an older state of one back, shows as well.

An older copy of the whole ledger cannot be detected, as it was valid once. Keep the ledger where analysts cannot
write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confide.errors import LedgerError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.entries import START, Entry, canonical_json, same_seal, seal
from confide.ledger.spending import Budget, Spending
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """End of an account's chain, and the account's state there."""

    account: str
    sequence: int
    hash: str
    state: str
    seal: str

    @classmethod
    def of(cls, account: str, sequence: int, last: str, state: str, key: bytes) -> Head:
        """Seal the end of a chain: the number and hash of its last entry, and the state after it."""
        sealed = seal(key, "head", account, sequence, last, state)
        return cls(account=account, sequence=sequence, hash=last, state=state, seal=sealed)

    def holds(self, key: bytes) -> bool:
        """Return whether the head is as it was written; a damaged one may hold anything."""
        texts = (self.account, self.hash, self.state, self.seal)
        if type(self.sequence) is not int or not all(isinstance(text, str) for text in texts):
            return False
        return same_seal(self.seal, seal(key, "head", self.account, self.sequence, self.hash, self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """First break of a chain: the entry's number, and the problem."""

    sequence: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Entries of an account that were checked to be whole."""

    account: str
    entries: tuple[Entry, ...] = ()

    @classmethod
    def checked(cls, account: str, entries: Sequence[Entry], head: Head | None, key: bytes) -> Chain:
        """Return the chain, or refuse a broken one."""
        refuse_broken(account, first_break(account, entries, head, key))
        return cls(account=account, entries=tuple(entries))


def refuse_broken(account: str, found: Break | None) -> None:
    """Refuse an account whose chain breaks."""
    if found is not None:
        raise LedgerError(
            f"account {account!r} was changed behind the ledger's back: entry {found.sequence} {found.problem}. "
            "Nothing is charged or released; run `confide ledger verify`, and restore the ledger from a backup"
        )


def first_break(account: str, entries: Sequence[Entry], head: Head | None, key: bytes) -> Break | None:
    """Find where a whole chain first breaks; None if it is whole, and adds up to the state in its head."""
    if not entries:
        return Break(sequence=1, problem="is missing")
    broken = broken_link(account, entries, 0, START, key) or broken_end(entries[-1], head, key)
    if broken is None and head is not None and _state_of(entries) != head.state:
        return Break(sequence=entries[-1].sequence, problem="does not add up to the account's state")
    return broken


def _state_of(entries: Sequence[Entry]) -> str | None:
    """Return the state that entries add up to; None if one charge has two outcomes."""
    try:
        return state_text(Account.fold(entries))
    except LedgerError:
        return None


def broken_link(account: str, entries: Sequence[Entry], sequence: int, last: str, key: bytes) -> Break | None:
    """Find the first entry that does not follow the one before, beginning after a number and a hash."""
    for position, entry in enumerate(entries, start=sequence + 1):
        if not entry.follows(position - 1, last, account=account, key=key):
            return Break(sequence=position, problem="is missing, out of place or changed")
        last = entry.hash
    return None


def broken_end(last: Entry, head: Head | None, key: bytes) -> Break | None:
    """See that a head belongs to the last entry."""
    if head is None or not head.holds(key):
        return Break(sequence=last.sequence, problem="has lost its record as the last one")
    if head.sequence > last.sequence:
        return Break(sequence=last.sequence + 1, problem="is missing")
    if (head.sequence, head.hash) != (last.sequence, last.hash):
        return Break(sequence=last.sequence, problem="does not fit its record as the last one")
    return None


def register_seal(heads: Iterable[Head], key: bytes) -> str:
    """Seal where all accounts end: an older end of one, put back with its own seal, does not fit it."""
    ends = sorted((head.account, head.sequence, head.hash) for head in heads)
    return seal(key, "register", *(part for end in ends for part in end))


def check_register(register: str, heads: Iterable[Head], key: bytes) -> None:
    """Refuse a ledger in which an account was removed, added or set back behind its back."""
    if not register_holds(register, heads, key):
        raise LedgerError(
            "an account was removed from the ledger, added to it or set back behind its back. Nothing is charged or "
            "released; run `confide ledger verify`, and restore the ledger from a backup"
        )


def register_holds(register: str, heads: Iterable[Head], key: bytes) -> bool:
    """Return whether the accounts end where the register was sealed."""
    ends = list(heads)
    texts = (register, *(text for head in ends for text in (head.account, head.hash)))
    numbers = all(isinstance(head.sequence, int) for head in ends)
    return numbers and all(isinstance(text, str) for text in texts) and same_seal(register, register_seal(ends, key))
