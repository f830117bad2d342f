"""Transactions on a ledger: its accounts as sealed chains, whose state is sealed with the end of each chain.

Changing, exchanging, adding or removing entries shows, and so does removing an account or putting an older state of
one back; see `records`. Without an anchor, as in PostgreSQL, an older copy of the whole ledger cannot be detected, as
it was valid once. Keep the ledger where analysts cannot write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confide.errors import LedgerError
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.charging import Record
from confide.ledger.entries import Entry, account_of, chain_of
from confide.ledger.question import folded_name, is_digest
from confide.ledger.spending import Budget, Spending
from confide.privacy.guarantee import stored_fraction
from confide.privacy.prepared import Part
from confide.records.chain import Break, Head, canonical_json
from confide.records.transaction import Chains


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Transaction:
    """Reads and writes between begin and commit."""

    records: Chains

    @property
    def key(self) -> bytes:
        """Return the ledger's key."""
        return self.records.key

    def record(
        self, account: str, identities: Iterable[str] = (), *, lock: bool = False, checked: bool = False
    ) -> Record:
        """Read an account and the entries of some requests, and check them; an empty record if there is no account.

        Checks what `Chains.head` does, and every entry of the requests. `confide ledger verify` checks all entries.
        With a lock, nobody else writes to the ledger until the transaction ends.
        """
        if lock:
            self.records.lock()
        chain = chain_of(account)
        head = self.records.head(chain, checked=checked)
        if head is None:
            return Record(account=account)
        return Record(
            account=account,
            state=read_state(account, head.state),
            sequence=head.number,
            hash=head.last,
            found=tuple(Entry.read(link) for link in self.records.about(chain, tuple(identities))),
        )

    def entries(self, account: str) -> tuple[Entry, ...]:
        """Read all entries of an account and check them; none if there is no such account."""
        chain = chain_of(account)
        entries = tuple(Entry.read(link) for link in self.records.read(chain))
        if entries:
            broken = _wrong_state(entries, self.records.heads()[chain])
            if broken is not None:
                self.records.owner.refuse_broken(chain, broken)
        return entries

    def accounts(self) -> tuple[str, ...]:
        """Return the names of all accounts."""
        return tuple(sorted(self._heads()))

    def holders(self, data: str) -> dict[str, Account]:
        """Return the accounts that were opened for some data, or charged for them, however they write their name.

        The sealed states hold this: every head is checked, and one that was changed is refused.
        """
        wanted = folded_name(data)
        result = {}
        for name, head in self._heads().items():
            if not head.is_sealed(self.key):
                lost = Break(number=head.number, problem="has lost its record as the last one")
                self.records.owner.refuse_broken(head.chain, lost)
            if is_digest(data) and json.dumps(data) not in head.state:
                continue  # most states need not be read
            state = read_state(name, head.state)
            if wanted in map(folded_name, state.data):
                result[name] = state
        return result

    def known_name(self, data: str, account: str) -> str:
        """Return the name of data as an account writes it, else as another account does, else as it is given."""
        if is_digest(data):
            return data
        holders = self.holders(data)
        for states in ([holders[account]] if account in holders else [], holders.values()):
            known = {one for state in states for one in state.names_of(data)}
            if known:
                return data if data in known else min(known)
        return data

    def write(self, record: Record) -> None:
        """Write the new entries of a record, and where its chain ends now."""
        if record.new and record.state is not None:
            self.records.write([entry.link for entry in record.new], state_text(record.state))

    def breaks(self) -> tuple[dict[str, tuple[int, Break | None]], bool]:
        """Return the number of entries and the first break of each account, and whether no account is missing."""
        found, complete = self.records.breaks()
        heads, result = self.records.all_heads(), {}
        for chain, (links, broken) in found.items():
            account = account_of(chain)
            if account is not None:
                wrong = broken or _wrong_state([Entry.read(link) for link in links], heads[chain])
                result[account] = len(links), wrong
        return result, complete

    def _heads(self) -> dict[str, Head]:
        named = {account_of(chain): head for chain, head in self.records.heads().items()}
        return {account: head for account, head in named.items() if account is not None}


def _wrong_state(entries: Sequence[Entry], head: Head) -> Break | None:
    """See that entries add up to the state in their head; they do not if one charge has two outcomes."""
    try:
        added = state_text(Account.fold(entries))
    except LedgerError:
        added = None
    if added == head.state:
        return None
    return Break(number=entries[-1].sequence, problem="does not add up to the account's state")


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
