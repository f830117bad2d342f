"""The entries of one account, checked from the first to the last.

Each entry seals the one before it, and a head seals the last one and its number, so that changing,
exchanging, adding or removing entries shows. A register seals the heads of all accounts, so that
removing an account, or putting an older state of one back, shows as well.

What cannot show is an older copy of the whole ledger put back in its place: it was true once. Keep
the ledger where those who ask cannot write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confide.errors import LedgerError
from confide.ledger.entries import Draft, Entry, Kind
from confide.ledger.seals import same_seal, seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the chain of an account ends."""

    account: str
    sequence: int
    hash: str
    seal: str

    @classmethod
    def of(cls, last: Entry, key: bytes) -> Head:
        """Seal the end of a chain."""
        return cls(
            account=last.account,
            sequence=last.sequence,
            hash=last.hash,
            seal=seal(key, "head", last.account, last.sequence, last.hash),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Where a chain first breaks: the entry's number, and what is wrong."""

    sequence: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The entries of an account, known to be whole."""

    account: str
    entries: tuple[Entry, ...] = ()

    @classmethod
    def checked(cls, account: str, entries: Sequence[Entry], head: Head | None, key: bytes) -> Chain:
        """Return the chain, or refuse a broken one."""
        found = first_break(account, entries, head, key)
        if found is not None:
            raise LedgerError(
                f"account {account!r} was changed behind the ledger's back: entry {found.sequence} {found.problem}. "
                "Nothing is charged or released; run `confide ledger verify`, and restore the ledger from a backup"
            )
        return cls(account=account, entries=tuple(entries))

    @property
    def last(self) -> Entry | None:
        """The last entry, if there is one."""
        return self.entries[-1] if self.entries else None

    def extended(self, drafts: Iterable[Draft], key: bytes) -> Chain:
        """Return the chain with more entries."""
        entries = list(self.entries)
        for draft in drafts:
            entries.append(Entry.following(entries[-1] if entries else None, draft, account=self.account, key=key))
        return Chain(account=self.account, entries=tuple(entries))

    def answers(self) -> dict[str, Entry]:
        """The answer to each request that has one: the first that was stored."""
        found: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.kind == Kind.ANSWER and entry.request_id is not None:
                found.setdefault(entry.request_id, entry)
        return found

    def failures(self) -> frozenset[int]:
        """The numbers of the charges for which drawing failed."""
        return frozenset(
            entry.charge for entry in self.entries if entry.kind == Kind.FAILURE and entry.charge is not None
        )

    def waiting(self) -> dict[str, Entry]:
        """For each request that has no answer yet the first charge that may still get it: nothing came of it so far."""
        answers, failures = self.answers(), self.failures()
        found: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.kind == Kind.CHARGE and entry.request_id is not None and entry.sequence not in failures:
                found.setdefault(entry.request_id, entry)
        return {identity: entry for identity, entry in found.items() if identity not in answers}


def first_break(account: str, entries: Sequence[Entry], head: Head | None, key: bytes) -> Break | None:
    """Find where a chain first breaks; None if it is whole."""
    last: Entry | None = None
    for position, entry in enumerate(entries, start=1):
        if not entry.follows(last, account=account, key=key):
            return Break(sequence=position, problem="is missing, out of place or changed")
        last = entry
    if last is None:
        return Break(sequence=1, problem="is missing")
    if head is None or type(head.sequence) is not int or not all(isinstance(p, str) for p in (head.hash, head.seal)):
        return Break(sequence=last.sequence, problem="has lost its record as the last one")
    if head.sequence > last.sequence:
        return Break(sequence=last.sequence + 1, problem="is missing")
    expected = Head.of(last, key)
    if (head.sequence, head.hash) != (expected.sequence, expected.hash) or not same_seal(head.seal, expected.seal):
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
    """Whether the accounts end where the register was sealed."""
    ends = list(heads)
    texts = (register, *(text for head in ends for text in (head.account, head.hash)))
    numbers = all(isinstance(head.sequence, int) for head in ends)
    return numbers and all(isinstance(text, str) for text in texts) and same_seal(register, register_seal(ends, key))
