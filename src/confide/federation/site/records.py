"""Records of a site: its log of requests, its approvals, its register and its ledger, in one database.

Each is a sealed chain (`confide.records`); the ledger has one for each account. An entry is on the disk, and the anchor
beside the database knows of it, before anything is sent. So what was changed, removed or put back alone is noticed, and
nothing is answered until the folder is whole again. The one key lies beside the database in a file that only its owner
may read. So the records are safe against people and programs that can write to the folder but not read the key. Whoever
has the site's own account can forge them. Old copies of the database and the anchor, put back together, look like the
past; so does a folder without any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from confide.errors import RecordsError
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message
from confide.federation.site.config import SiteFolder
from confide.records.chain import Owner, canonical_json

if TYPE_CHECKING:
    from confide.ledger.ledger import Ledger
    from confide.ledger.place import FilePlace
    from confide.records.database import SQLiteStore
    from confide.records.transaction import Chains

REQUESTS, APPROVALS, REGISTER = "requests", "approvals", "register"
"""Names of the chains beside those of the ledger."""

_OLDER = ("ledger.db", "register.db", "logs.heads", "site.secret")
_OWNER = Owner(
    what="the site",
    stops="Nothing is answered until then",
    remedy="restore the site's whole folder from the newest backup",
    chain=lambda chain: f"the chain {chain!r} of its records" if chain else "a chain of its records",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """Result of checking a chain of a site's records: its entries, and what is wrong, if anything."""

    name: str
    entries: int
    problem: str | None = None

    def in_words(self) -> str:
        """Return the result as one line."""
        if self.problem is not None:
            return f"{self.name}: changed or damaged: {self.problem}"
        return f"{self.name}: {self.entries} entries, all as they were written"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "entries": self.entries, "problem": self.problem}


class SiteRecords:
    """Records in a site's folder. They are made when the site is set up, and never again."""

    def __init__(self, folder: SiteFolder) -> None:
        self.folder = folder
        self._read: dict[str, tuple[dict[str, Any], ...]] | None = None

    @cached_property
    def store(self) -> SQLiteStore:
        """Return the database; nothing is read or written yet."""
        from confide.ledger.place import key_file  # these bring SQLAlchemy with them
        from confide.records.database import SQLiteStore

        place = self._place
        return SQLiteStore(
            place.path,
            shown=f"the site's database {place.path}",
            key_file=key_file(place),
            owner=_OWNER,
            anchored=place.anchored,
        )

    @cached_property
    def ledger(self) -> Ledger:
        """Return the ledger of the privacy budget."""
        from confide.ledger.ledger import Ledger

        return Ledger(self._place)

    @property
    def _place(self) -> FilePlace:
        from confide.ledger.place import FilePlace

        path = self.folder.database
        return FilePlace(path=path, shown=str(path), anchored=True)

    def exists(self) -> bool:
        """Return whether there are records; refuse those of an older version, and what is left of removed ones."""
        older = self._older()
        if older and not self.folder.database.exists():
            raise RecordsError(
                f"{self.folder.path} holds records of an older version of confide ({', '.join(older)}), which kept "
                "them in several files. Set the site up anew in another folder with `confide site request` and `init`, "
                "with what was spent taken off epsilon_in_all; or use that version"
            )
        return self.store.exists()

    def _older(self) -> list[str]:
        return [name for name in _OLDER if (self.folder.path / name).exists()]

    def are_used(self) -> bool:
        """Return whether the site was asked anything, or its records are damaged. A key alone was never used."""
        try:
            made = (
                self.folder.database.exists() or self.store.anchor.exists() or bool(self._older())
            ) and self.exists()
        except RecordsError:
            return True
        return made and any(check.entries or check.problem is not None for check in self.check())

    def begin(self) -> None:
        """Make the records of a new site, unless there are some."""
        if not self.exists():
            self.store.create()

    def require(self) -> None:
        """Refuse records that are gone or were changed."""
        self._require_made()
        with self.store.chains(writing=False):
            pass

    def _require_made(self) -> None:
        if not self.exists():
            raise RecordsError(
                f"{self.folder.database} is not there: the site's records are gone. {_OWNER.stops}; {_OWNER.remedy}. "
                "If there is none, set the site up anew in another folder"
            )

    @contextmanager
    def one_request(self) -> Iterator[None]:
        """Read each chain at most once in a block, and anew after a write of this process.

        What is written is decided by what is read again under the lock of the transaction that writes.
        """
        self._read = {}
        try:
            yield
        finally:
            self._read = None

    @contextmanager
    def reading(self) -> Iterator[Chains]:
        """Run a block that sees one moment of the records, which must exist."""
        with self.store.chains(writing=False) as records:
            yield records

    @contextmanager
    def writing(self) -> Iterator[Chains]:
        """Run a block in one transaction, alone: all of it is on the disk at the end, or nothing."""
        self._require_made()
        with self.store.chains(writing=True) as records:
            yield records
        if self._read is not None:
            self._read.clear()

    def append(self, chain: str, entry: Mapping[str, Any]) -> None:
        """Add an entry, with the time, to a chain; it is on the disk when this returns."""
        with self.writing() as records:
            append(records, chain, entry)

    def read(self, chain: str) -> tuple[dict[str, Any], ...]:
        """Return all entries of a chain, checked."""
        if self._read is not None and chain in self._read:
            return self._read[chain]
        if not self.exists():
            return ()
        with self.reading() as records:
            found = read(records, chain)
        if self._read is not None:
            self._read[chain] = found
        return found

    def check(self) -> tuple[LogCheck, ...]:
        """Check all entries of all chains but the ledger's, which checks itself."""
        from confide.ledger.entries import account_of

        names = (REQUESTS, APPROVALS, REGISTER)
        try:
            self._require_made()
            with self.store.inspecting() as (records, anchored):
                found, complete = records.breaks()
        except RecordsError as error:
            return tuple(LogCheck(name=name, entries=0, problem=str(error)) for name in names)
        known = complete and anchored and all(chain in names or account_of(chain) is not None for chain in found)
        gone = None if known else "a chain was removed from the site's records, added to them or set back"
        checks = []
        for name in names:
            links, broken = found.get(name, ((), None))
            problem = gone if broken is None else f"entry {broken.number} {broken.problem}"
            checks.append(LogCheck(name=name, entries=len(links), problem=problem))
        return tuple(checks)


def append(records: Chains, chain: str, entry: Mapping[str, Any]) -> None:
    """Add an entry, with the time, to a chain in a transaction."""
    records.append(chain, canonical_json({"at": _now(), **entry}, "an entry"))


def read(records: Chains, chain: str) -> tuple[dict[str, Any], ...]:
    """Return all entries of a chain, checked, in a transaction."""
    return tuple(json.loads(link.text) for link in records.read(chain))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


_ROUNDS = {OFFER: 1, SHARES: 2, ANSWER: 2, VOTE: 4, UNMASK: 5}
_AFTER_SHARES = 3


def round_of(topic: str, request: Message) -> int | None:
    """Return the number of a request's round, from 1; None for a request that is unknown here.

    A sum that survives dropouts asks for shares in round 2, and sends them with the request for the answer in round 3.
    Its vote in round 4 is left out if nobody dropped out; the last round is 5 all the same.
    """
    return _AFTER_SHARES if topic == ANSWER and "boxes" in request else _ROUNDS.get(topic)


def last_requests(folder: SiteFolder, wanted: int) -> tuple[dict[str, Any], ...]:
    """Return the last requests, the newest last. They are not checked, so that an administrator sees changed ones."""
    records = SiteRecords(folder)
    if not wanted or not folder.database.exists():
        return ()
    try:
        found = [_parsed(text) for text in records.store.newest(REQUESTS, wanted)]
    except RecordsError:
        return ()
    return tuple(request for request in found if request is not None)


def _parsed(text: object) -> dict[str, Any] | None:
    try:
        plain = json.loads(str(text))
    except (ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict) else None
