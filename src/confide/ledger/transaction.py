"""Transactions on a ledger, and its tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    CursorResult,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    insert,
    select,
    true,
    update,
)

from confide.errors import LedgerError
from confide.ledger.account import Account
from confide.ledger.chain import (
    Break,
    Chain,
    Head,
    broken_end,
    broken_link,
    check_register,
    first_break,
    read_state,
    refuse_broken,
    register_holds,
    register_seal,
    state_text,
)
from confide.ledger.charging import Record
from confide.ledger.entries import START, Entry
from confide.ledger.place import KeyFile, check_key, key_check
from confide.ledger.question import folded_name, is_digest

VERSION = "2"

SCHEMA = MetaData()

META = Table(
    "confide_meta",
    SCHEMA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

HEADS = Table(
    "confide_heads",
    SCHEMA,
    Column("account", Text, primary_key=True),
    Column("sequence", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("seal", Text, nullable=False),
)

# The primary key is a second net: two entries cannot take the same place in a chain.
ENTRIES = Table(
    "confide_entries",
    SCHEMA,
    Column("account", Text, primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("analyst", Text),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("request_id", Text),
    Column("data", Text),
    Column("answer", Text),
    Column("charge", Integer),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# A charge looks up the entries of its own request.
Index("confide_entries_request", ENTRIES.c.account, ENTRIES.c.request_id)


_NEWEST = 64  # entries that every charge checks one by one
_AT_ONCE = 500  # requests that one statement names


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Transaction:
    """Reads and writes on one connection between begin and commit, with the ledger's key."""

    connection: Connection
    key: bytes

    @classmethod
    def on(cls, connection: Connection, file: KeyFile) -> Transaction:
        """Begin with a look at the ledger's version and key."""
        meta = {row.name: row.value for row in connection.execute(select(META))}
        if meta.get("version") != VERSION:
            raise LedgerError(
                "the ledger is damaged, or was made by another version of confide; use that version, or restore it"
            )
        return cls(connection=connection, key=check_key(file.load(), meta, file))

    def record(
        self, account: str, identities: Iterable[str] = (), *, lock: bool = False, checked: bool = False
    ) -> Record:
        """Read an account and the entries of some requests, and check them; an empty record if there is no account.

        Checks the register, the account's head with its state, every entry of the requests and, unless they were
        `checked` just before, that no entry is missing and the newest entries one by one. `confide ledger verify`
        checks all entries. With a lock, nobody else writes to the ledger until the transaction ends.
        """
        if lock:
            self._lock()
        head = self._checked_heads().get(account)
        newest = self._newest(account, 1 if checked else _NEWEST)
        if head is None and not newest:
            return Record(account=account)
        head = self._checked_end(account, newest, head, checked=checked)
        return Record(
            account=account,
            state=read_state(account, head.state),
            sequence=head.sequence,
            hash=head.hash,
            found=self._of_requests(account, tuple(identities)),
        )

    def chain(self, account: str) -> Chain:
        """Read all entries of an account and check them; an empty chain if there is no such account."""
        heads = self._checked_heads()
        entries = self._entries(account)
        if account not in heads and not entries:
            return Chain(account=account)
        return Chain.checked(account, entries, heads.get(account), self.key)

    def accounts(self) -> tuple[str, ...]:
        """Return the names of all accounts."""
        return tuple(sorted(self._checked_heads()))

    def holders(self, data: str) -> dict[str, Account]:
        """Return the accounts that were opened for some data, or charged for them, however they write their name.

        The sealed states hold this: every head is checked, and one that was changed is refused.
        """
        wanted = folded_name(data)
        result = {}
        for name, head in self._checked_heads().items():
            if not head.holds(self.key):
                refuse_broken(name, Break(sequence=head.sequence, problem="has lost its record as the last one"))
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
        if not record.new or record.state is None:
            return
        self.connection.execute(insert(ENTRIES), [asdict(entry) for entry in record.new])
        head = Head.of(record.account, record.sequence, record.hash, state_text(record.state), self.key)
        if record.sequence > len(record.new):
            self.connection.execute(update(HEADS).where(HEADS.c.account == record.account).values(asdict(head)))
        else:
            self.connection.execute(insert(HEADS).values(asdict(head)))
        register = register_seal(self._heads()[1].values(), self.key)
        self.connection.execute(update(META).where(META.c.name == "register").values(value=register))
        self._require_written(record, head, register)

    def _require_written(self, record: Record, head: Head, register: str) -> None:
        """See before the commit that what was written is there: nothing in the database undid it."""
        stored, heads = self._heads()
        newest = self._newest(record.account, len(record.new))
        if (stored, heads.get(record.account), newest) != (register, head, record.new):
            raise LedgerError(
                "the ledger does not keep what is written to it. Nothing is charged or released; run `confide ledger "
                "verify`, and restore the ledger from a backup"
            )

    def breaks(self) -> tuple[dict[str, tuple[int, Break | None]], bool]:
        """Return the number of entries and the first break of each account, and whether no account is missing."""
        register, heads = self._heads()
        named = {*heads, *self.connection.execute(select(ENTRIES.c.account).distinct()).scalars()}
        result = {}
        for account in sorted(named, key=str):
            entries = self._entries(account)
            result[str(account)] = len(entries), first_break(account, entries, heads.get(account), self.key)
        return result, register_holds(register, heads.values(), self.key)

    def _checked_end(self, account: str, newest: Sequence[Entry], head: Head | None, *, checked: bool) -> Head:
        """Return the head, or refuse an account whose newest entries are broken, or of which an entry is missing."""
        broken: Break | None = Break(sequence=1, problem="is missing")
        if newest:
            first = newest[0]
            whole = not checked and len(newest) < _NEWEST
            before = (0, START) if whole or type(first.sequence) is not int else (first.sequence - 1, first.previous)
            broken = broken_link(account, newest, *before, self.key) or broken_end(newest[-1], head, self.key)
            if broken is None and not checked and self._count(account) != newest[-1].sequence:
                broken = Break(sequence=first.sequence, problem="follows entries of which one is missing")
        refuse_broken(account, broken)
        if head is None:
            raise AssertionError  # an end without a head is broken
        return head

    def _count(self, account: str) -> int:
        counted = select(func.count()).select_from(ENTRIES).where(ENTRIES.c.account == account)
        return int(self.connection.execute(counted).scalar_one())

    def _newest(self, account: str, most: int) -> tuple[Entry, ...]:
        newest = select(ENTRIES).where(ENTRIES.c.account == account).order_by(ENTRIES.c.sequence.desc()).limit(most)
        return _read(self.connection.execute(newest))[::-1]

    def _of_requests(self, account: str, identities: Sequence[str]) -> tuple[Entry, ...]:
        """Return the entries of some requests, the oldest first, each checked to be as it was written."""
        result: list[Entry] = []
        for start in range(0, len(identities), _AT_ONCE):
            some = identities[start : start + _AT_ONCE]
            requested = select(ENTRIES).where(ENTRIES.c.account == account, ENTRIES.c.request_id.in_(some))
            result += _read(self.connection.execute(requested))
        for entry in result:
            if not entry.sealed(account, self.key):
                refuse_broken(account, Break(sequence=entry.sequence, problem="is out of place or changed"))
        return tuple(sorted(result, key=lambda entry: entry.sequence))

    def _checked_heads(self) -> dict[str, Head]:
        register, heads = self._heads()
        check_register(register, heads.values(), self.key)
        return heads

    def _lock(self) -> None:
        """Lock the register, which every write seals anew; SQLite has locked everything already."""
        self.connection.execute(select(META.c.name).where(META.c.name == "register").with_for_update())

    def _heads(self) -> tuple[str, dict[str, Head]]:
        """Read the register and the heads in one statement, so that they belong to one moment."""
        rows = self.connection.execute(
            select(META.c.value, *HEADS.c).select_from(META.outerjoin(HEADS, true())).where(META.c.name == "register")
        ).all()
        if not rows:
            raise LedgerError("the ledger has lost its register of accounts; restore it from a backup")
        heads = {
            row.account: Head(account=row.account, sequence=row.sequence, hash=row.hash, state=row.state, seal=row.seal)
            for row in rows
            if row.account is not None
        }
        return rows[0].value, heads

    def _entries(self, account: str) -> tuple[Entry, ...]:
        rows = self.connection.execute(select(ENTRIES).where(ENTRIES.c.account == account).order_by(ENTRIES.c.sequence))
        return _read(rows)


def _read(rows: CursorResult[Any]) -> tuple[Entry, ...]:
    return tuple(Entry(**row) for row in rows.mappings())


def first_meta(key: bytes) -> list[dict[str, str]]:
    """Return the rows that a new ledger begins with."""
    meta = {"version": VERSION, "key check": key_check(key), "register": register_seal((), key)}
    return [{"name": name, "value": value} for name, value in meta.items()]
