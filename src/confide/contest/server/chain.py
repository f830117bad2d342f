"""Audit chain: each contest's events, a sealed chain of the server's records (`confide.records`).

The anchor in the home folder keeps the end of every chain, so that an older copy of the database shows, and one that
was emptied. An older copy of the database and the home together cannot be detected, as it was valid once.

What the server acts on (tokens and their revocation, the state of a contest, the number of files of a participant) must
agree with a `History`: the entries, each checked once by this process.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from confide.contest.server.clock import written
from confide.contest.server.database import CONTESTS, ORACLE, Database
from confide.errors import HomeError
from confide.records.anchor import Anchor
from confide.records.chain import End, Head, Link, Owner, broken_end, broken_link, canonical_json
from confide.records.transaction import Chains

_BACKUP = "restore the database and the home folder from one backup"
OWNER = Owner(
    what="the server",
    stops="Nothing is confirmed",
    remedy=f"check the records with `confide serve --verify`, and {_BACKUP}",
    error=HomeError,
    chain=lambda contest: f"the contest {contest!r}" if contest else "a contest",
)


def chains_on(connection: Connection, key: bytes) -> Chains:
    """Return the chains of a server's database, whose version and key were checked when the server started."""
    return Chains(connection=connection, key=key, owner=OWNER, tables=ORACLE)


def is_known(connection: Connection, contest: str) -> bool:
    """Return whether the database has the row of a contest."""
    return connection.execute(select(CONTESTS.c.name).where(CONTESTS.c.name == contest)).first() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A transaction that may change one contest, and who acts in it.

    Functions that change records take a `Writer`. Only `Records` makes one, after it has checked, inside the same
    transaction, that the token of whoever acts is still valid.
    """

    chains: Chains = field(repr=False)
    contest: str
    known: bool
    history: History | None
    by: str
    token: str | None
    at: datetime

    @property
    def connection(self) -> Connection:
        """Return the connection of the transaction."""
        return self.chains.connection

    @property
    def key(self) -> bytes:
        """Return the server's key."""
        return self.chains.key

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry to the contest's chain; it names who acted, with which token, and when."""
        actor = {"by": self.by, "by_token": self.token, "at": written(self.at)}
        self.chains.append(self.contest, canonical_json(entry | actor, "an entry"), checked=True)


def older(contest: str) -> HomeError:
    """Return the refusal of a database that lacks what the home folder has seen."""
    return HomeError(
        f"the database does not know all entries of the contest {contest!r} that this home folder has seen: it is an "
        "older copy, or records were deleted. Restore the database and the home folder from one backup"
    )


@dataclass(slots=True, kw_only=True, repr=False)
class SealedToken:
    """A token, as sealed entries say: whose, which role, the digest of its secret, and its dates."""

    participant: str
    role: str
    secret: str
    created_at: str
    expires_at: str
    revoked_at: str | None = None


@dataclass(slots=True, kw_only=True, repr=False)
class History:
    """What the sealed entries of a contest say, up to `end`. Entries only add to it."""

    end: End = field(default_factory=End)
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
                expires_at=entry["until"],
            )
            self.joined.setdefault(entry["participant"], entry["at"])
        elif kind == "revocation" and entry["token"] in self.tokens:
            token = self.tokens[entry["token"]]
            token.revoked_at = token.revoked_at or entry["at"]
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

        The history may be newer than what the connection sees, unless `newest` says that it holds the register's lock.
        """
        seen = self._anchor.seen(self.key).get(contest)
        history = self._advanced(connection, contest, seen, newest=newest)
        if seen is not None and history.end.number < seen.number:  # the connection may see an older moment
            with self._database.reading() as fresh:
                history = self._advanced(fresh, contest, seen, newest=True)
            if history.end.number < seen.number:
                raise older(contest)
        return history

    def _advanced(self, connection: Connection, contest: str, seen: End | None, *, newest: bool) -> History:
        columns = [column.label(f"head_{column.name}") for column in ORACLE.heads.columns]
        row = connection.execute(
            select(CONTESTS.c.state, *columns)
            .join(ORACLE.heads, ORACLE.heads.c.chain == CONTESTS.c.name)
            .where(CONTESTS.c.name == contest)
        ).first()
        if row is None:
            raise older(contest)
        head = Head(**{column.name: row._mapping[f"head_{column.name}"] for column in ORACLE.heads.columns})
        with self._lock:
            history = self._known[contest]
            if head.number > history.end.number:
                self._read_on(chains_on(connection, self.key), history, head)
                if seen is not None and head.number >= seen.number:
                    require_seen(chains_on(connection, self.key), contest, head, seen)
            if head.number < history.end.number:
                if newest:
                    raise older(contest)
            elif head.end != history.end or row.state != history.state:
                raise HomeError(
                    f"the row of the contest {contest!r} is not as its sealed record says. Check the records with "
                    "`confide serve --verify`, and restore the database and the home folder from one backup"
                )
            return history

    def _read_on(self, chains: Chains, history: History, head: Head) -> None:
        """Check the entries beyond a history, all of them, and take them in."""
        links = chains.links_after(head.chain, history.end)
        broken = broken_link(head.chain, links, history.end, self.key)
        if broken is None and links:
            broken = broken_end(links[-1], head, self.key)
        if broken is not None or not links:
            raise HomeError(
                f"an entry of the contest {head.chain!r} is missing or changed. Check the records with `confide serve "
                "--verify`, and restore the database and the home folder from one backup"
            )
        for link in links:
            history.apply(json.loads(link.text))
        history.end = head.end


def require_seen(chains: Chains, contest: str, head: Head | None, seen: End) -> None:
    """Refuse a chain that lacks what the anchor has seen."""
    if not chains.holds(contest, head, seen):
        raise older(contest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A break of a chain, or a record that does not fit its chain."""

    contest: str
    sequence: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An entry as the organiser sees it."""

    sequence: int
    kind: str
    at: str
    by: str | None
    by_token: str | None
    about: str | None


def list_events(connection: Connection, contest: str, *, limit: int, before: int | None = None) -> list[Event]:
    """Return entries of a chain, the newest first."""
    entries = ORACLE.entries
    query = select(entries).where(entries.c.chain == contest).order_by(entries.c.number.desc()).limit(limit)
    if before is not None:
        query = query.where(entries.c.number < before)
    return [_event(row.number, json.loads(row.text)) for row in connection.execute(query)]


def _event(sequence: int, entry: dict[str, Any]) -> Event:
    about = next((entry[name] for name in ("id", "token", "state") if name in entry), None)
    whose = f" of {entry['participant']}" if entry["kind"] == "token" else ""
    return Event(
        sequence=sequence,
        kind=entry["kind"],
        at=entry["at"],
        by=entry.get("by"),
        by_token=entry.get("by_token"),
        about=None if about is None else f"{about}{whose}",
    )


def checked_entries(chains: Chains, contest: str) -> tuple[list[dict[str, Any]], list[Fault]]:
    """Return the entries of a chain up to the first break, and the break if there is one."""
    links = chains.links_after(contest, End())
    broken = broken_link(contest, links, End(), chains.key)
    whole: tuple[Link, ...] = links if broken is None else links[: broken.number - 1]
    if broken is None and links:
        broken = broken_end(links[-1], chains.all_heads().get(contest), chains.key)
    entries = [json.loads(link.text) for link in whole]
    if broken is not None or not links:
        number, problem = (0, "is missing") if broken is None else (broken.number, broken.problem)
        return entries, [Fault(contest=contest, sequence=number, problem=problem)]
    return entries, []
