"""One transaction on a ledger: reading chains and writing their new entries."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert, select, true, update

from confide.errors import LedgerError
from confide.ledger.chain import Break, Chain, Head, check_register, first_break, register_holds, register_seal
from confide.ledger.entries import Entry
from confide.ledger.key import KeyFile, check_key, key_check
from confide.ledger.tables import ENTRIES, HEADS, META, VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """What is done on one connection between a begin and a commit, with the ledger's key."""

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

    def chain(self, account: str, *, lock: bool = False) -> Chain:
        """Read the chain of an account and check it; an empty one if there is no such account.

        With a lock, nobody else writes to the ledger until the transaction ends.
        """
        if lock:
            self._lock()
        register, heads = self._heads()
        check_register(register, heads.values(), self.key)
        entries = self._entries(account)
        if account not in heads and not entries:
            return Chain(account=account)
        return Chain.checked(account, entries, heads.get(account), self.key)

    def accounts(self) -> tuple[str, ...]:
        """The names of all accounts."""
        register, heads = self._heads()
        check_register(register, heads.values(), self.key)
        return tuple(sorted(heads))

    def write(self, chain: Chain, *, since: Chain) -> None:
        """Write what a chain has more than it had, and where it ends now."""
        new, last = chain.entries[len(since.entries) :], chain.last
        if not new or last is None:
            return
        self.connection.execute(insert(ENTRIES), [asdict(entry) for entry in new])
        head = asdict(Head.of(last, self.key))
        if since.entries:
            self.connection.execute(update(HEADS).where(HEADS.c.account == chain.account).values(head))
        else:
            self.connection.execute(insert(HEADS).values(head))
        register = register_seal(self._heads()[1].values(), self.key)
        self.connection.execute(update(META).where(META.c.name == "register").values(value=register))

    def breaks(self) -> tuple[dict[str, tuple[int, Break | None]], bool]:
        """For each account the number of its entries and where they first break; and whether no account is missing."""
        register, heads = self._heads()
        named = {*heads, *self.connection.execute(select(ENTRIES.c.account).distinct()).scalars()}
        found = {}
        for account in sorted(named, key=str):
            entries = self._entries(account)
            found[str(account)] = len(entries), first_break(account, entries, heads.get(account), self.key)
        return found, register_holds(register, heads.values(), self.key)

    def _lock(self) -> None:
        """Lock the register, which every write seals anew; SQLite has locked everything already."""
        self.connection.execute(select(META.c.name).where(META.c.name == "register").with_for_update())

    def _heads(self) -> tuple[str, dict[str, Head]]:
        """The register and the heads, in one statement: they belong to one moment."""
        rows = self.connection.execute(
            select(META.c.value, *HEADS.c).select_from(META.outerjoin(HEADS, true())).where(META.c.name == "register")
        ).all()
        if not rows:
            raise LedgerError("the ledger has lost its register of accounts; restore it from a backup")
        heads = {
            row.account: Head(account=row.account, sequence=row.sequence, hash=row.hash, seal=row.seal)
            for row in rows
            if row.account is not None
        }
        return rows[0].value, heads

    def _entries(self, account: str) -> tuple[Entry, ...]:
        rows = self.connection.execute(select(ENTRIES).where(ENTRIES.c.account == account).order_by(ENTRIES.c.sequence))
        return tuple(Entry(**row) for row in rows.mappings())


def first_meta(key: bytes) -> list[dict[str, str]]:
    """The rows that a new ledger begins with."""
    meta = {"version": VERSION, "key check": key_check(key), "register": register_seal((), key)}
    return [{"name": name, "value": value} for name, value in meta.items()]
