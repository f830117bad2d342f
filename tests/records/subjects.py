"""Everything that keeps sealed chains, behind one face: a ledger, a site, and a server of contests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, insert, text

from confide.contest.server.administration import check_records
from confide.contest.server.database import CONTESTS, Database
from confide.contest.server.home import Home
from confide.contest.server.records import Records
from confide.contest.server.tokens import Role, issue
from confide.errors import RecordsError
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import APPROVALS, REQUESTS, SiteRecords
from confide.ledger.ledger import Ledger


@cache
def engine_at(url: str) -> Engine:
    """The way around the seals; no connection stays open."""
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)


class Subject(ABC):
    """A keeper of two chains. Each call opens the records anew, as another process would.

    `anchored` says whether records without their anchor are refused; a ledger makes it anew.
    """

    prefix = "confide"
    chains: tuple[str, str]
    anchored = True

    def __init__(self, home: Path, url: str | None, *, made: bool = False) -> None:
        self.home = home
        self.server = url
        self.written = 0
        if not made:
            self.begin()
            for chain in (0, 1, 0, 1, 0):
                self.write(chain)

    @property
    @abstractmethod
    def database(self) -> Path:
        """SQLite file."""

    @property
    @abstractmethod
    def key(self) -> Path:
        """File of the key."""

    @property
    def anchor(self) -> Path:
        """File beside the database."""
        return self.database.with_name(f"{self.database.name}.anchor")

    @abstractmethod
    def begin(self) -> None:
        """Make the records."""

    @abstractmethod
    def write(self, chain: int = 0) -> None:
        """Append to one of the two chains; it is acknowledged when this returns."""

    @abstractmethod
    def read(self, chain: int = 0) -> object:
        """Read what a chain says, as whoever acts on it does."""

    @abstractmethod
    def check(self) -> bool:
        """Return whether a check of everything finds nothing."""

    def is_whole(self) -> bool:
        try:
            return self.check()
        except RecordsError:
            return False

    def entries(self, chain: int = 0) -> int:
        counted = f"SELECT count(*) FROM {self.prefix}_entries WHERE chain = :chain"  # noqa: S608
        return int(self.execute(counted, chain=self.chains[chain])[0][0])

    def refuses(self, *uses: Callable[[], object]) -> bool:
        """Return whether all uses, by default a write and a read of the first chain, are refused."""
        for use in uses or (self.write, self.read):
            try:
                use()
            except RecordsError:
                continue
            return False
        return True

    def execute(self, statement: str, **values: Any) -> list[Any]:
        """Run SQL behind the seals' back."""
        url = self.server or f"sqlite:///{self.database}"
        with engine_at(url).begin() as connection:
            result = connection.execute(text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []


class LedgerSubject(Subject):
    chains = ("account:a", "account:b")
    anchored = False

    @property
    def database(self) -> Path:
        return self.home / "ledger.sqlite"

    @property
    def key(self) -> Path:
        return self.home / "ledger.sqlite.key" if self.server is None else self.home / "config/confide/ledger.key"

    def _ledger(self) -> Ledger:
        return Ledger(self.server or self.database, padding=0)

    def begin(self) -> None:
        with self._ledger() as ledger:
            for name in ("a", "b"):
                ledger.open_account(name, epsilon=1)

    def write(self, chain: int = 0) -> None:
        self.written += 1
        with self._ledger() as ledger:
            ledger.change_caps("ab"[chain], epsilon=1 + self.written)

    def read(self, chain: int = 0) -> object:
        with self._ledger() as ledger:
            return ledger.history("ab"[chain])

    def check(self) -> bool:
        with self._ledger() as ledger:
            return ledger.verify().whole


class SiteSubject(Subject):
    chains = (REQUESTS, APPROVALS)

    @property
    def database(self) -> Path:
        return self.home / "site.db"

    @property
    def key(self) -> Path:
        return self.home / "site.db.key"

    def _records(self) -> SiteRecords:
        return SiteRecords(SiteFolder(self.home))

    def begin(self) -> None:
        self._records().begin()

    def write(self, chain: int = 0) -> None:
        self.written += 1
        self._records().append(self.chains[chain], {"message": f"entry {self.written}"})

    def read(self, chain: int = 0) -> object:
        return self._records().read(self.chains[chain])

    def check(self) -> bool:
        return all(check.problem is None for check in self._records().check())


class ContestSubject(Subject):
    prefix = "oracle"
    chains = ("heart", "liver")

    @property
    def place(self) -> Home:
        return Home(self.home)

    @property
    def database(self) -> Path:
        return self.place.database

    @property
    def key(self) -> Path:
        return self.place.key_file

    @property
    def anchor(self) -> Path:
        return self.place.anchor_file

    def _open(self) -> Database:
        return Database.at(self.database, self.server)

    def begin(self) -> None:
        self.place.make()
        database = self._open()
        records = Records.start(self.place, database)
        for name in self.chains:
            self.place.make_contest(name)
            bundle = name.encode()
            self.place.bundle(name).write_bytes(bundle)
            with records.administering(name) as writer:
                at = writer.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
                row = {"name": name, "state": "draft", "bundle": sha256(bundle).hexdigest(), "created_at": at}
                writer.connection.execute(insert(CONTESTS), row)
                writer.append({"kind": "contest", "bundle": row["bundle"]})
        database.close()

    def write(self, chain: int = 0) -> None:
        self.written += 1
        database = self._open()
        try:
            with Records.of(self.place, database).administering(self.chains[chain]) as writer:
                issue(writer, f"member {self.written}", Role.PARTICIPANT, date(writer.at.year + 1, 1, 1))
        finally:
            database.close()

    def read(self, chain: int = 0) -> object:
        database = self._open()
        try:
            records = Records.of(self.place, database)
            with database.reading() as connection:
                return records.histories.of(connection, self.chains[chain])
        finally:
            database.close()

    def check(self) -> bool:
        database = self._open()
        try:
            records = Records.of(self.place, database)
            with database.reading() as connection:
                return not check_records(connection, self.place, records.key).faults
        finally:
            database.close()


KINDS: dict[str, type[LedgerSubject] | type[SiteSubject] | type[ContestSubject]] = {
    "ledger": LedgerSubject,
    "site": SiteSubject,
    "contest": ContestSubject,
}


def kind_of(subject: Subject) -> str:
    return next(name for name, kind in KINDS.items() if type(subject) is kind)
