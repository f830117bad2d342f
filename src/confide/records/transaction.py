"""Tables of sealed chains, and reads and writes between the begin and the commit of a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

from confide.records.chain import (
    Break,
    End,
    Head,
    Link,
    Owner,
    broken_end,
    broken_link,
    first_break,
    register_fits,
    register_seal,
    same_seal,
    seal,
)
from confide.records.key_file import KeyFile

VERSION = "3"
"""Version of the tables. Whatever else is refused."""

_VERSION, _KEY_CHECK, _REGISTER = "version", "key check", "register"
_NEWEST = 64  # entries that every append checks one by one
_AT_ONCE = 500  # topics that one statement names


class Tables:
    """Tables of one store, whose names begin with a prefix. The primary keys are a second net against forks."""

    def __init__(self, prefix: str, schema: MetaData | None = None) -> None:
        self.schema = MetaData() if schema is None else schema
        self.meta = Table(
            f"{prefix}_meta",
            self.schema,
            Column("name", Text, primary_key=True),
            Column("value", Text, nullable=False),
        )
        self.heads = Table(
            f"{prefix}_heads",
            self.schema,
            Column("chain", Text, primary_key=True),
            Column("number", Integer, nullable=False),
            Column("last", Text, nullable=False),
            Column("state", Text, nullable=False),
            Column("seal", Text, nullable=False),
        )
        self.entries = Table(
            f"{prefix}_entries",
            self.schema,
            Column("chain", Text, primary_key=True),
            Column("number", Integer, primary_key=True, autoincrement=False),
            Column("topic", Text),
            Column("text", Text, nullable=False),
            Column("previous", Text, nullable=False),
            Column("seal", Text, nullable=False),
        )
        Index(f"{prefix}_entries_topic", self.entries.c.chain, self.entries.c.topic)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the three tables."""
        return self.meta.name, self.heads.name, self.entries.name

    def first_rows(self, connection: Connection, key: bytes) -> None:
        """Write what a new store begins with."""
        rows = {_VERSION: VERSION, _KEY_CHECK: _key_check(key), _REGISTER: register_seal((), key)}
        connection.execute(insert(self.meta), [{"name": name, "value": value} for name, value in rows.items()])


RECORDS = Tables("confide")
"""Tables of ledgers and sites."""


def _key_check(key: bytes) -> str:
    return seal(key, "key check")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Chains:
    """Chains on one connection between begin and commit, with their key."""

    connection: Connection
    key: bytes
    owner: Owner
    tables: Tables = RECORDS

    @classmethod
    def on(cls, connection: Connection, file: KeyFile, owner: Owner, tables: Tables = RECORDS) -> Chains:
        """Begin with a look at the version of the tables and at the key."""
        meta = check_version(connection, owner, tables)
        key = file.require()
        if not same_seal(meta.get(_KEY_CHECK), _key_check(key)):
            instead = "" if file.variable is None else f" or in {file.variable}"
            raise owner.error(
                f"the key does not belong to {owner.what}: give the one that it was made with, in "
                f"{file.path}{instead}, or restore both from one backup. {owner.stops}"
            )
        return cls(connection=connection, key=key, owner=owner, tables=tables)

    def lock(self) -> None:
        """Lock the register, which every append seals anew; SQLite has locked everything already."""
        meta = self.tables.meta
        self.connection.execute(select(meta.c.name).where(meta.c.name == _REGISTER).with_for_update())

    def heads(self) -> dict[str, Head]:
        """Return the heads of all chains; refuse a store in which one was removed, added or set back."""
        register, heads = self._heads()
        if not register_fits(register, heads.values(), self.key):
            self.owner.refuse(
                f"{self.owner.chain('')} was removed from {self.owner.what}, added to it or set back behind its back"
            )
        return heads

    def all_heads(self) -> dict[str, Head]:
        """Return the heads of all chains, which are not checked."""
        return self._heads()[1]

    def ends(self) -> dict[str, End]:
        """Return the ends of all chains, checked against the register."""
        return {name: head.end for name, head in self.heads().items()}

    def head(self, chain: str, *, checked: bool = False) -> Head | None:
        """Return the head of a chain, None if there is no such chain.

        Checks the register, the head and, unless they were `checked` just before, that no entry is missing, and the
        newest entries one by one.
        """
        head = self.heads().get(chain)
        newest = self.newest(chain, 1 if checked else _NEWEST)
        if head is None and not newest:
            return None
        broken: Break | None = Break(number=1, problem="is missing")
        if newest:
            first = newest[0]
            whole = (not checked and len(newest) < _NEWEST) or type(first.number) is not int
            before = End() if whole else End(number=first.number - 1, last=first.previous)
            broken = broken_link(chain, newest, before, self.key) or broken_end(newest[-1], head, self.key)
            if broken is None and not checked and self._count(chain) != newest[-1].number:
                broken = Break(number=first.number, problem="follows entries of which one is missing")
        if broken is not None:
            self.owner.refuse_broken(chain, broken)
        return head

    def read(self, chain: str) -> tuple[Link, ...]:
        """Read all entries of a chain and check them; none if there is no such chain."""
        head, links = self.heads().get(chain), self.links_after(chain, End())
        if head is None and not links:
            return ()
        broken = first_break(chain, links, head, self.key)
        if broken is not None:
            self.owner.refuse_broken(chain, broken)
        return links

    def newest(self, chain: str, most: int) -> tuple[Link, ...]:
        """Return the newest entries of a chain, the oldest of them first. They are not checked."""
        return newest_links(self.connection, self.tables, chain, most)

    def about(self, chain: str, topics: Sequence[str]) -> tuple[Link, ...]:
        """Return the entries on some topics, the oldest first, each checked to be as it was written."""
        entries, result = self.tables.entries, list[Link]()
        for start in range(0, len(topics), _AT_ONCE):
            some = topics[start : start + _AT_ONCE]
            wanted = select(entries).where(entries.c.chain == chain, entries.c.topic.in_(some))
            result += _read(self.connection.execute(wanted))
        for link in result:
            if not link.is_sealed(chain, self.key):
                self.owner.refuse_broken(chain, Break(number=link.number, problem="is out of place or changed"))
        return tuple(sorted(result, key=lambda link: link.number))

    def append(self, chain: str, text: str, *, checked: bool = False) -> None:
        """Append a text to a chain without a state; the chain is locked and its end is checked first, as in `head`."""
        self.lock()
        head = self.head(chain, checked=checked)
        end = End() if head is None else head.end
        self.write([Link.following(end.number, end.last, text, topic=None, chain=chain, key=self.key)])

    def write(self, links: Sequence[Link], state: str = "") -> None:
        """Write new entries of one chain, which is locked, and where it ends now."""
        chain, last, tables = links[0].chain, links[-1], self.tables
        self.connection.execute(insert(tables.entries), [asdict(link) for link in links])
        head = Head.of(chain, last.number, last.seal, state, self.key)
        if links[0].number > 1:
            self.connection.execute(update(tables.heads).where(tables.heads.c.chain == chain).values(asdict(head)))
        else:
            self.connection.execute(insert(tables.heads).values(asdict(head)))
        register = register_seal(self.all_heads().values(), self.key)
        self.connection.execute(update(tables.meta).where(tables.meta.c.name == _REGISTER).values(value=register))
        stored, heads = self._heads()
        if (stored, heads.get(chain), self.newest(chain, len(links))) != (register, head, tuple(links)):
            self.owner.refuse(f"{self.owner.what} does not keep what is written to it")  # a trigger may undo it

    def breaks(self) -> tuple[dict[str, tuple[tuple[Link, ...], Break | None]], bool]:
        """Return the entries and the first break of each chain, and whether no chain is missing."""
        register, heads = self._heads()
        named = {*heads, *self.connection.execute(select(self.tables.entries.c.chain).distinct()).scalars()}
        result = {}
        for chain in sorted(named, key=str):
            links = self.links_after(chain, End())
            result[str(chain)] = links, first_break(chain, links, heads.get(chain), self.key)
        return result, register_fits(register, heads.values(), self.key)

    def lacks(self, seen: Mapping[str, End]) -> str | None:
        """Return a chain that does not hold an end which was seen before; None if all do."""
        there = self.all_heads()
        return next(
            (chain for chain, end in sorted(seen.items()) if not self.holds(chain, there.get(chain), end)), None
        )

    def holds(self, chain: str, head: Head | None, seen: End) -> bool:
        """Return whether a chain holds an end that was seen before."""
        if head is None or type(head.number) is not int or head.number < seen.number:
            return False
        if head.number == seen.number:
            return same_seal(head.last, seen.last)
        entries = self.tables.entries
        wanted = select(entries.c.seal).where(entries.c.chain == chain, entries.c.number == seen.number)
        return same_seal(self.connection.execute(wanted).scalar(), seen.last)

    def links_after(self, chain: str, end: End) -> tuple[Link, ...]:
        """Return the entries of a chain beyond an end. They are not checked."""
        entries = self.tables.entries
        beyond = select(entries).where(entries.c.chain == chain, entries.c.number > end.number)
        return _read(self.connection.execute(beyond.order_by(entries.c.number)))

    def _count(self, chain: str) -> int:
        counted = select(func.count()).select_from(self.tables.entries).where(self.tables.entries.c.chain == chain)
        return int(self.connection.execute(counted).scalar_one())

    def _heads(self) -> tuple[object, dict[str, Head]]:
        """Read the register and the heads in one statement, so that they belong to one moment."""
        meta, heads = self.tables.meta, self.tables.heads
        rows = self.connection.execute(
            select(meta.c.value, *heads.c).select_from(meta.outerjoin(heads, true())).where(meta.c.name == _REGISTER)
        ).all()
        if not rows:
            self.owner.refuse(f"{self.owner.what} has lost its register")
        columns = [column.name for column in heads.columns]
        found = [row._mapping for row in rows if row.chain is not None]
        return rows[0].value, {row["chain"]: Head(**{name: row[name] for name in columns}) for row in found}


def check_version(connection: Connection, owner: Owner, tables: Tables = RECORDS) -> Mapping[str, Any]:
    """Return what is known about the records; refuse those of another version."""
    meta: Mapping[str, Any] = {row.name: row.value for row in connection.execute(select(tables.meta))}
    if meta.get(_VERSION) != VERSION:
        raise owner.error(
            f"{owner.what} is damaged, or was written by another version of confide; use that version, restore it "
            "from a backup, or begin anew in another place"
        )
    return meta


def newest_links(connection: Connection, tables: Tables, chain: str, most: int) -> tuple[Link, ...]:
    """Return the newest entries of a chain, the oldest of them first. They are not checked."""
    entries = tables.entries
    newest = select(entries).where(entries.c.chain == chain).order_by(entries.c.number.desc()).limit(most)
    return _read(connection.execute(newest))[::-1]


def _read(rows: CursorResult[Any]) -> tuple[Link, ...]:
    return tuple(Link(**row) for row in rows.mappings())
