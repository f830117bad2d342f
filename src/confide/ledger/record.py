"""An account as one transaction sees it: its state, where its chain ends, and the entries of the requests at hand.

Earlier entries are not read: their sum is in the state, which is sealed with the end of the chain. So a charge takes
the same time after a hundred thousand others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confide.errors import LedgerError
from confide.ledger.account import Account
from confide.ledger.entries import START, Draft, Entry, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """State of an account, the number and hash of its last entry, and the entries that were read or added.

    `found` holds every entry of the requests at hand, the oldest first; `new` those that are not stored yet. An account
    that does not exist has no state.
    """

    account: str
    state: Account | None = None
    sequence: int = 0
    hash: str = START
    found: tuple[Entry, ...] = ()
    new: tuple[Entry, ...] = ()

    def extended(self, drafts: Iterable[Draft], key: bytes) -> Record:
        """Return the record with more entries."""
        state, sequence, last = self.state, self.sequence, self.hash
        added = []
        for draft in drafts:
            entry = Entry.following(sequence, last, draft, account=self.account, key=key)
            state = Account.opened(entry) if state is None else state.after(entry)
            sequence, last = entry.sequence, entry.hash
            added.append(entry)
        return Record(
            account=self.account,
            state=state,
            sequence=sequence,
            hash=last,
            found=(*self.found, *added),
            new=(*self.new, *added),
        )

    def answers(self) -> dict[str, Entry]:
        """Return the answer to each request that has one: the first that was stored."""
        result: dict[str, Entry] = {}
        for entry in self.found:
            if entry.kind == Kind.ANSWER and entry.request_id is not None:
                result.setdefault(entry.request_id, entry)
        return result

    def failures(self) -> frozenset[int]:
        """Return the numbers of the charges for which drawing failed."""
        return frozenset(
            entry.charge for entry in self.found if entry.kind == Kind.FAILURE and entry.charge is not None
        )

    def waiting(self) -> dict[str, Entry]:
        """Return, for each request without an answer, the first charge that still waits for one.

        The sealed state says which charges are waiting. A charge that neither waits nor has an
        outcome means that the outcome was hidden: noise must not be drawn for it again.
        """
        answers, failures = self.answers(), self.failures()
        done = {entry.charge for entry in answers.values()} | failures
        open_still = frozenset() if self.state is None else self.state.waiting
        result: dict[str, Entry] = {}
        for entry in self.found:
            if entry.kind != Kind.CHARGE or entry.request_id is None or entry.request_id in answers:
                continue
            if entry.sequence in open_still:
                result.setdefault(entry.request_id, entry)
            elif entry.sequence not in done:
                raise LedgerError(
                    f"account {self.account!r} was changed behind the ledger's back: what came of entry "
                    f"{entry.sequence} is missing. Nothing is charged or released; run `confide ledger verify`, and "
                    "restore the ledger from a backup"
                )
        return result
