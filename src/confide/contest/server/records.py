"""Records of a server: the one way to write to its database.

A writing transaction belongs to whoever acts. Rights are checked when a request begins, and once more here, after the
lock of the contest is held: a token that was revoked, or has ended, while a body arrived changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from confide.contest.server import chain
from confide.contest.server.chain import Anchor, Head, Histories, Writer
from confide.contest.server.clock import now
from confide.contest.server.database import Database
from confide.contest.server.home import Home
from confide.contest.server.migrations.upgrade import newest_version, upgrade, version_of
from confide.contest.server.tokens import Caller, Sessions, adopt_tokens, require_valid
from confide.errors import HomeError

ADMINISTRATOR = "administrator"
"""Name, in the record, of who acts on the server's machine. No token is needed there: the home holds the key."""

_BEFORE_ANCHORS = "0001"


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
        """Return the records of a home folder, with tables of the newest version; nothing is written before checks.

        Refuse a database that another key has sealed, and one that lacks what the home folder has seen.
        """
        database.check()
        with database.reading() as connection:
            version = version_of(connection)
            heads = {} if version is None else chain.heads_of(connection)
            records = cls._checked(home, database, connection, version, heads)
        records.anchor.advance(heads)
        upgrade(database, lambda connection, current: _adopt(connection, records.key, current))
        with database.reading() as connection:
            records.anchor.advance(chain.heads_of(connection))
        return records

    @classmethod
    def of(cls, home: Home, database: Database, *, rollback: bool = False) -> Records:
        """Return the records of a home folder whose server has run before; refuse what `start` refuses.

        With `rollback` the database may lack what the home folder has seen.
        """
        with database.reading() as connection:
            version = version_of(connection)
            if version is None and home.anchor_file.exists():
                _require_all(connection, {}, Anchor(home.anchor_file, home.key()).read() or {})
            if version is None:
                raise HomeError("the database has no tables; start the server once with `confide serve`")
            if version != newest_version():
                raise HomeError(
                    "the tables are those of another version of confide; start the server once with `confide serve`. "
                    "If it refuses, restore the database and the home folder from one backup"
                )
            return cls._checked(home, database, connection, version, chain.heads_of(connection), rollback=rollback)

    @classmethod
    def _checked(
        cls,
        home: Home,
        database: Database,
        connection: Connection,
        version: str | None,
        heads: dict[str, Head],
        *,
        rollback: bool = False,
    ) -> Records:
        key = home.key(new=version is None and not home.anchor_file.exists())
        for contest, head in heads.items():
            chain.require_sealed(key, contest, head)
        anchor = Anchor(home.anchor_file, key)
        seen = anchor.read()
        if seen is None and version not in (None, _BEFORE_ANCHORS):
            raise HomeError(f"{home.anchor_file} is missing; put it back from a backup of the home folder")
        if not rollback:
            _require_all(connection, heads, seen or {})
        return cls(database=database, key=key, anchor=anchor, histories=Histories(database, key, anchor))

    @contextmanager
    def writing(self, caller: Caller) -> Iterator[Writer]:
        """Run a block in one transaction of a caller, whose token is checked once more. Locks the contest's row."""
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
            for contest in chain.heads_of(connection):
                self.histories.of(connection, contest)

    @contextmanager
    def administering(self, contest: str) -> Iterator[Writer]:
        """Run a block in one transaction of who administers the server's machine. The contest may be new."""
        with self._writing(contest, by=ADMINISTRATOR, token=None) as writer:
            yield writer

    @contextmanager
    def _writing(self, contest: str, *, by: str, token: str | None) -> Iterator[Writer]:
        with self.database.writing() as connection:
            known = chain.locked(connection, contest) is not None
            history = None
            if known:
                chain.require_sealed(self.key, contest, chain.head_of(connection, contest))
                history = self.histories.of(connection, contest, newest=True)
            yield Writer(
                connection=connection,
                key=self.key,
                contest=contest,
                known=known,
                history=history,
                by=by,
                token=token,
                at=now(),
            )
            after = chain.head_of(connection, contest)
        self.anchor.advance({contest: after})


def _require_all(connection: Connection, heads: dict[str, Head], seen: dict[str, Head]) -> None:
    for contest, head in seen.items():
        chain.require_seen(connection, contest, heads.get(contest), head)


def _adopt(connection: Connection, key: bytes, current: str) -> None:
    """Seal what an older version left unsealed."""
    if current == _BEFORE_ANCHORS:
        for contest in chain.heads_of(connection):
            adopt_tokens(connection, key, contest, now())
