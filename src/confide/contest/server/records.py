"""Records of a server: the one way to write to its database.

A writing transaction belongs to whoever acts. Rights are checked when a request begins, and once more here, after the
lock of the records is held: a token that was revoked, or has ended, while a body arrived changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, select

from confide.contest.server.chain import OWNER, Histories, Writer, chains_on, is_known, older
from confide.contest.server.clock import now
from confide.contest.server.database import CONTESTS, ORACLE, Database
from confide.contest.server.home import Home, disk
from confide.contest.server.tokens import Caller, Sessions, require_valid
from confide.errors import HomeError
from confide.records.anchor import Anchor
from confide.records.chain import End
from confide.records.transaction import Chains

ADMINISTRATOR = "administrator"
"""Name, in the record, of who acts on the server's machine. No token is needed there: the home holds the key."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """Database, key and anchor of a home folder, which belong together, and the sessions of browsers."""

    database: Database
    key: bytes = field(repr=False)
    anchor: Anchor
    histories: Histories
    sessions: Sessions = field(default_factory=Sessions)

    @classmethod
    def start(cls, home: Home, database: Database) -> Records:
        """Return the records of a home folder; make them in a new one.

        Refuse a database that another key has sealed, and one that lacks what the home folder has seen.
        """
        database.check()
        with database.reading() as connection:
            made = database.has_tables(connection)
        if not made:
            anchor = _anchor(home)
            key = home.key.require() if anchor.exists() else home.key.ensure()
            lacking = next(iter(anchor.read(key) or {}), None)
            if lacking is not None:
                raise older(lacking)
            anchor.advance(key, {})
            database.make_tables(key)
        records = cls.of(home, database)
        with database.reading() as connection:
            records.anchor.advance(records.key, chains_on(connection, records.key).ends())
        return records

    @classmethod
    def of(cls, home: Home, database: Database, *, rollback: bool = False) -> Records:
        """Return the records of a home folder whose server has run before; refuse what `start` refuses.

        With `rollback` the database may lack what the home folder has seen.
        """
        anchor = _anchor(home)
        text = anchor.text()
        with database.reading() as connection:
            if not database.has_tables(connection):
                lacking = next(iter({} if text is None else anchor.parse(text, home.key.require())), None)
                if lacking is not None:
                    raise older(lacking)
                raise HomeError("the database has no tables; start the server once with `confide serve`")
            chains = Chains.on(connection, home.key, OWNER, ORACLE)
            if text is None:
                raise HomeError(f"{home.anchor_file} is missing; put it back from a backup of the home folder")
            seen = anchor.parse(text, chains.key)
            if not rollback:
                _require_whole(chains, seen)
        return cls(database=database, key=chains.key, anchor=anchor, histories=Histories(database, chains.key, anchor))

    @contextmanager
    def writing(self, caller: Caller) -> Iterator[Writer]:
        """Run a block in one transaction of a caller, whose token is checked once more. Locks all records."""
        with self._writing(caller.contest, by=caller.participant, token=caller.token) as writer:
            self.require_valid(writer.connection, caller, writer.at)
            yield writer

    def require_valid(self, connection: Connection, caller: Caller, at: datetime) -> None:
        """Refuse a caller whose token or session was revoked or has ended since the request began."""
        lives = caller.session is None or self.sessions.token(caller.session, at) == caller.token
        require_valid(connection, self.histories, caller, at, lives=lives)

    def check(self) -> None:
        """Refuse a database and a home folder that cannot be read, or do not agree."""
        with self.database.reading() as connection:
            for contest in chains_on(connection, self.key).all_heads():
                self.histories.of(connection, contest)

    @contextmanager
    def administering(self, contest: str) -> Iterator[Writer]:
        """Run a block in one transaction of who administers the server's machine. The contest may be new."""
        with self._writing(contest, by=ADMINISTRATOR, token=None) as writer:
            yield writer

    @contextmanager
    def _writing(self, contest: str, *, by: str, token: str | None) -> Iterator[Writer]:
        with self.database.writing() as connection:
            chains = chains_on(connection, self.key)
            chains.lock()
            known, head = is_known(connection, contest), chains.heads().get(contest)
            if known != (head is not None) or (not known and contest in self.anchor.seen(self.key)):
                raise older(contest)
            yield Writer(
                chains=chains,
                contest=contest,
                known=known,
                history=self.histories.of(connection, contest, newest=True) if known else None,
                by=by,
                token=token,
                at=now(),
            )
            ends = chains.ends()
        self.anchor.advance(self.key, ends)  # all of them: the file may have been removed since it was read


def _anchor(home: Home) -> Anchor:
    return Anchor(home.anchor_file, error=HomeError, disk=disk)


def _require_whole(chains: Chains, seen: Mapping[str, End]) -> None:
    """Refuse a database whose contests and chains are not the same, or that lacks what the anchor has seen."""
    lacking = chains.lacks(seen)
    contests = set(chains.connection.execute(select(CONTESTS.c.name)).scalars())
    strange = sorted(contests ^ set(chains.heads()), key=str)
    if lacking is not None or strange:
        raise older(lacking or str(strange[0]))
