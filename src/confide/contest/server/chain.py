"""Audit chain: each contest's events, each sealed together with the one before.

Seals are HMAC-SHA256 under the key of the home folder, over the previous seal and canonical JSON. The row of the
contest seals the end of the chain, so that removing the last entries shows too. The anchor, a sealed file in the home
folder, keeps the length and the last seal of every chain, so that an older copy of the database shows, and one that was
emptied. An older copy of the database and the home together cannot be detected, as it was valid once.

Order of a write: the database commits, the anchor follows, the caller is answered. After a crash the anchor may lag
behind the database, never the other way round. Entries beyond the anchor bear seals, so the next start accepts them.

What the server acts on (tokens and their revocation, the state of a contest, the number of files of a participant) must
agree with a `History`: the entries, each checked once by this process.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from confide.contest.server.clock import written
from confide.contest.server.database import CHAIN, CONTESTS, Database
from confide.contest.server.home import disk
from confide.errors import HomeError
from confide.files import flush, replace_file
from confide.records.chain import same_seal, seal

START = "0" * 64


def canonical(entry: dict[str, Any]) -> str:
    """Return the one JSON text of an entry."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def link(key: bytes, contest: str, sequence: int, previous: str, entry: str) -> str:
    """Return the seal of an entry."""
    return seal(key, "oracle entry", contest, sequence, previous, entry)


def end(key: bytes, contest: str, length: int, last: str) -> str:
    """Return the seal of the end of a chain."""
    return seal(key, "oracle end", contest, length, last)


def locked(connection: Connection, contest: str) -> Any:
    """Lock the row of a contest until the transaction ends, and return it. Every writer does this first."""
    return connection.execute(select(CONTESTS).where(CONTESTS.c.name == contest).with_for_update()).first()


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A transaction that may change one contest, and who acts in it.

    Functions that change records take a `Writer`. Only `Records` makes one, after it has checked, inside the same
    transaction, that the token of whoever acts is still valid.
    """

    connection: Connection
    key: bytes = field(repr=False)
    contest: str
    known: bool
    history: History | None
    by: str
    token: str | None
    at: datetime

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry to the contest's chain; it names who acted, with which token, and when."""
        actor = {"by": self.by, "by_token": self.token, "at": written(self.at)}
        append(self.connection, self.key, self.contest, entry | actor)


def append(connection: Connection, key: bytes, contest: str, entry: dict[str, Any]) -> None:
    """Add an entry to a contest's chain. The caller holds the lock of the contest's row."""
    head = head_of(connection, contest)
    sequence, text = head.length + 1, canonical(entry)
    sealed = link(key, contest, sequence, head.end, text)
    connection.execute(insert(CHAIN), {"contest": contest, "sequence": sequence, "entry": text, "seal": sealed})
    connection.execute(
        update(CONTESTS)
        .where(CONTESTS.c.name == contest)
        .values(chain_length=sequence, chain_end=sealed, chain_seal=end(key, contest, sequence, sealed))
    )
    there = select(CHAIN.c.seal).where(CHAIN.c.contest == contest, CHAIN.c.sequence == sequence)
    if (head_of(connection, contest).end, connection.execute(there).scalar()) != (sealed, sealed):
        raise HomeError(  # a trigger may undo what a statement does
            f"the database did not keep an entry of the contest {contest!r}; look for triggers on its tables"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Length of a chain, the seal of its last entry, and the seal of both."""

    length: int
    end: str
    seal: str = field(compare=False)


def heads_of(connection: Connection) -> dict[str, Head]:
    """Return the ends of all chains, as the database has them."""
    columns = (CONTESTS.c.name, CONTESTS.c.chain_length, CONTESTS.c.chain_end, CONTESTS.c.chain_seal)
    rows = connection.execute(select(*columns).order_by(CONTESTS.c.name))
    return {row[0]: Head(length=row[1], end=row[2], seal=row[3]) for row in rows}


def head_of(connection: Connection, contest: str) -> Head:
    """Return the end of a chain, as the database has it."""
    columns = (CONTESTS.c.chain_length, CONTESTS.c.chain_end, CONTESTS.c.chain_seal)
    row = connection.execute(select(*columns).where(CONTESTS.c.name == contest)).one()
    return Head(length=row[0], end=row[1], seal=row[2])


def require_sealed(key: bytes, contest: str, head: Head) -> None:
    """Refuse a chain whose end was not sealed with this key."""
    if not same_seal(head.seal, end(key, contest, head.length, head.end)):
        raise HomeError(
            f"the end of the record of the contest {contest!r} is not sealed with the key of this home folder. Give "
            "the home folder and the database that belong together, or restore both from one backup"
        )


def require_seen(connection: Connection, contest: str, head: Head | None, seen: Head) -> None:
    """Refuse a chain that lacks what the anchor has seen."""
    there = None
    if head is not None and head.length >= seen.length:
        there = connection.execute(
            select(CHAIN.c.seal).where(CHAIN.c.contest == contest, CHAIN.c.sequence == seen.length)
        ).scalar()
    if there is None or not same_seal(there, seen.end):
        raise _older(contest)


def _older(contest: str) -> HomeError:
    return HomeError(
        f"the database does not know all entries of the contest {contest!r} that this home folder has seen: it is an "
        "older copy, or records were deleted. Restore the database and the home folder from one backup"
    )


class Anchor:
    """Sealed file in the home folder: the end of every chain, as it was after the last write.

    Several threads and processes may write: each takes the lock of a file beside it, reads, and only moves ends on.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        self._lock = threading.Lock()
        self._waiting: dict[str, Head] = {}
        self._seen: dict[str, Head] = {}
        self._version: tuple[int, ...] = ()

    def read(self) -> dict[str, Head] | None:
        """Return the ends of all chains; None if there is no file. Refuse a file that was changed."""
        try:
            with disk():
                text = self._path.read_text(encoding="utf-8") if self._path.exists() else None
            if text is None:
                return None
            plain = json.loads(text)
            heads = {
                str(name): Head(length=int(one["length"]), end=str(one["end"]), seal="")
                for name, one in plain["contests"].items()
            }
            whole = same_seal(str(plain["seal"]), self._seal(heads))
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            raise HomeError(
                f"{self._path} is damaged, or belongs to another key; restore the home folder and the database from "
                "one backup"
            )
        return heads

    def seen(self, contest: str) -> Head | None:
        """Return the newest end of a chain in the file, which is read again if another process wrote it."""
        with disk():
            status = self._path.stat()
        version = (status.st_ino, status.st_mtime_ns, status.st_size)
        if version != self._version:
            self._seen, self._version = self.read() or {}, version
        return self._seen.get(contest)

    def advance(self, heads: Mapping[str, Head]) -> None:
        """Bring the file up to ends that the database has committed. One write serves all threads that wait."""
        with _WAITING:
            _merge(self._waiting, heads)
        with self._lock:
            if all(_reaches(self._seen.get(name), head) for name, head in heads.items()) and self._path.exists():
                return
            with _WAITING:
                wanted = dict(self._waiting)
            with disk(), _file_lock(self._path.with_name(f"{self._path.name}.lock")):
                merged = self.read() or {}
                _merge(merged, wanted)
                self._write(merged)
            self._seen = merged

    def replace(self, heads: Mapping[str, Head]) -> None:
        """Write ends as they are, also such that lie before those of the file."""
        with self._lock, disk(), _file_lock(self._path.with_name(f"{self._path.name}.lock")):
            self._write(heads)
            self._seen = dict(heads)

    def _write(self, heads: Mapping[str, Head]) -> None:
        contests = {name: {"length": head.length, "end": head.end} for name, head in sorted(heads.items())}
        text = canonical({"contests": contests, "seal": self._seal(heads)})
        replace_file(self._path, text + "\n", owner_only=True)
        flush(self._path.parent)

    def _seal(self, heads: Mapping[str, Head]) -> str:
        parts = [part for name, head in sorted(heads.items()) for part in (name, head.length, head.end)]
        return seal(self._key, "oracle anchor", *parts)


_WAITING = threading.Lock()


def _reaches(one: Head | None, other: Head) -> bool:
    return one is not None and one.length >= other.length


def _merge(into: dict[str, Head], heads: Mapping[str, Head]) -> None:
    into.update({name: head for name, head in heads.items() if not _reaches(into.get(name), head)})


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Hold a lock against other processes; it ends with the process."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@dataclass(slots=True, kw_only=True, repr=False)
class SealedToken:
    """A token, as sealed entries say: whose, which role, the digest of its secret, and its dates."""

    participant: str
    role: str
    secret: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class History:
    """What the sealed entries of a contest say, up to `head`. Entries only add to it."""

    head: Head = field(default_factory=lambda: Head(length=0, end=START, seal=""))
    state: str = "draft"
    tokens: dict[str, SealedToken] = field(default_factory=dict)
    joined: dict[str, str] = field(default_factory=dict)
    sent: Counter[str] = field(default_factory=Counter)

    def apply(self, entry: Mapping[str, Any]) -> None:
        """Take in the next entry."""
        kind = entry["kind"]
        if kind == "token":
            self.tokens[entry["id"]] = SealedToken(
                participant=entry["participant"],
                role=entry["role"],
                secret=entry["secret"],
                created_at=entry["at"],
                expires_at=entry.get("until"),
            )
            self.joined.setdefault(entry["participant"], entry["at"])
        elif kind == "revocation" and entry["token"] in self.tokens:
            token = self.tokens[entry["token"]]
            token.revoked_at = token.revoked_at or entry["at"]
        elif kind == "token-ends":
            for token in self.tokens.values():
                token.expires_at = token.expires_at or entry["until"]
        elif kind == "state":
            self.state = entry["state"]
        elif kind == "submission":
            self.sent[entry["participant"]] += 1


class Histories:
    """Histories of all contests, as far as this process has read and checked their entries.

    A request costs one look at the end of the chain and one at the date of the anchor; new entries are checked once.
    """

    def __init__(self, database: Database, key: bytes, anchor: Anchor) -> None:
        self.key = key
        self._database = database
        self._anchor = anchor
        self._known: defaultdict[str, History] = defaultdict(History)
        self._lock = threading.Lock()

    def of(self, connection: Connection, contest: str, *, newest: bool = False) -> History:
        """Return the history of a contest; refuse a database that does not agree with it.

        The history may be newer than what the connection sees, unless `newest` says that it holds the contest's lock.
        """
        seen = self._anchor.seen(contest)
        history = self._advanced(connection, contest, seen, newest=newest)
        if seen is not None and history.head.length < seen.length:  # the connection may see an older moment
            with self._database.reading() as fresh:
                history = self._advanced(fresh, contest, seen, newest=True)
            if history.head.length < seen.length:
                raise _older(contest)
        return history

    def _advanced(self, connection: Connection, contest: str, seen: Head | None, *, newest: bool) -> History:
        columns = (CONTESTS.c.chain_length, CONTESTS.c.chain_end, CONTESTS.c.chain_seal, CONTESTS.c.state)
        row = connection.execute(select(*columns).where(CONTESTS.c.name == contest)).first()
        if row is None:
            raise _older(contest)
        head = Head(length=row[0], end=row[1], seal=row[2])
        with self._lock:
            history = self._known[contest]
            if head.length > history.head.length:
                self._read_on(connection, contest, history, head)
                if seen is not None and head.length >= seen.length:
                    require_seen(connection, contest, head, seen)
            if head.length < history.head.length:
                if newest:
                    raise _older(contest)
            elif head != history.head or row.state != history.state:
                raise HomeError(
                    f"the row of the contest {contest!r} is not as its sealed record says. Check the records with "
                    "`confide serve --verify`, and restore the database and the home folder from one backup"
                )
            return history

    def _read_on(self, connection: Connection, contest: str, history: History, head: Head) -> None:
        """Check the entries beyond a history, all of them, and take them in."""
        require_sealed(self.key, contest, head)
        rows = connection.execute(
            select(CHAIN)
            .where(CHAIN.c.contest == contest, CHAIN.c.sequence > history.head.length)
            .order_by(CHAIN.c.sequence)
        )
        entries, last = _linked(rows, self.key, contest, history.head)
        if last != head:
            raise HomeError(
                f"an entry of the contest {contest!r} is missing or changed. Check the records with `confide serve "
                "--verify`, and restore the database and the home folder from one backup"
            )
        for entry in entries:
            history.apply(entry)
        history.head = head


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A break of a chain, or a record that does not fit its chain."""

    contest: str
    sequence: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An entry as the organiser sees it. Older entries do not name the token that acted."""

    sequence: int
    kind: str
    at: str
    by: str | None
    by_token: str | None
    about: str | None


def list_events(connection: Connection, contest: str, *, limit: int, before: int | None = None) -> list[Event]:
    """Return entries of a chain, the newest first."""
    query = select(CHAIN).where(CHAIN.c.contest == contest).order_by(CHAIN.c.sequence.desc()).limit(limit)
    if before is not None:
        query = query.where(CHAIN.c.sequence < before)
    return [_event(row.sequence, json.loads(row.entry)) for row in connection.execute(query)]


def _event(sequence: int, entry: dict[str, Any]) -> Event:
    about = next((entry[name] for name in ("id", "token", "state") if name in entry), None)
    whose = f" of {entry['participant']}" if entry["kind"] == "token" else ""
    return Event(
        sequence=sequence,
        kind=entry["kind"],
        at=entry["at"],
        by=entry.get("by", entry.get("participant")),
        by_token=entry.get("by_token"),
        about=None if about is None else f"{about}{whose}",
    )


def checked_entries(connection: Connection, key: bytes, contest: str) -> tuple[list[dict[str, Any]], list[Fault]]:
    """Return the entries of a chain up to the first break, and the break if there is one."""
    head = connection.execute(select(CONTESTS).where(CONTESTS.c.name == contest)).one()
    rows = connection.execute(select(CHAIN).where(CHAIN.c.contest == contest).order_by(CHAIN.c.sequence))
    entries, last = _linked(rows, key, contest, Head(length=0, end=START, seal=""))
    if last is None:
        problem = "is missing, out of place or changed"
        return entries, [Fault(contest=contest, sequence=len(entries) + 1, problem=problem)]
    whole = Head(length=head.chain_length, end=head.chain_end, seal="") == last
    if not whole or not same_seal(head.chain_seal, end(key, contest, last.length, last.end)):
        problem = "does not fit the sealed end of the chain"
        return entries, [Fault(contest=contest, sequence=len(entries), problem=problem)]
    return entries, []


def _linked(
    rows: Iterable[Row[Any]], key: bytes, contest: str, after: Head
) -> tuple[list[dict[str, Any]], Head | None]:
    """Return the entries that follow an end, up to the first break, and the new end; None if there is a break."""
    entries: list[dict[str, Any]] = []
    last = after.end
    for position, row in enumerate(rows, start=after.length + 1):
        if row.sequence != position or not same_seal(row.seal, link(key, contest, position, last, row.entry)):
            return entries, None
        last = row.seal
        entries.append(json.loads(row.entry))
    return entries, Head(length=after.length + len(entries), end=last, seal="")
