"""Register of a site: which terms its answers used, and over which lists of sites sums may be read.

If sites may drop out, the list of those that are left is known only after the answers. Before a site votes for a list
or shows a share for it, the list is stored here, with the keys that its sites made for themselves. From then on the
site helps to read no sum over another list, in no session and after no restart: the difference of two sums would be
some sites' own answers. A sum is known by the terms that it depends on; without noise also by the source of the
model's scores, under whatever name.

As `threshold` sites must agree, and any two sets of so many have an honest site in common, a site is protected by
what others remember even if it died before it stored the list itself. That holds as long as the others do remember. A
site that was set up anew does not, but has made another key for itself. So before a site answers, it stores the own
keys of all whom it answers with, and answers no more where one of them has another key.

**Without noise** a site answers one question about a model. Sums over two different lists of sites differ by some
sites' counts; tables on two grids, or with two sizes of groups, differ by counts of small cells; tables of data before
and after a change differ by those who came or went. So the first question that is answered fixes the mode, the grid,
the bins, the size of groups, the data and, where only sums are seen, the sites. The same question may be asked again.
A model is identified by its name and by its *source*, the file and the column of scores in the site's settings: the
same source under another name has the same entry. Nothing that was read from the data is compared between models.
Exact answers about several models of the same rows can be subtracted, too: two sums over different sites reveal the
number of rows of each class at a site and, where the models differ for few rows only, these rows. An administrator who
sets up a model accepts that.

**In private mode** a site draws its share of the noise once for each question, even if its data change. The shares of
all sites protect the sum. If a site drew a new share after its data changed, while the others sent stored shares, the
difference of the two sums would be its counts with its own noise alone. So the site refuses. If anything differs that
the sum depends on, all sites draw fresh shares and pay for them.

**Lists of sites.** Where only sums are seen, a signed question may allow fewer of its sites to take part. The server
chooses them once: before a site pays or sends anything, the register stores with which sites it answers the question.
It never answers the question with others. If sites may drop out, the list of those that are left is stored too, when
it is known (`settled`).

Data are identified by a keyed hash of their files as they are stored, never by counts: a refusal that depended on
counts would tell of single rows. Without the key, which lies beside the register in a file that only its owner may
read, nobody can test guesses against the hash. The register is one SQLite file. Entries are on the disk before anything
is sent; of two processes that enter different questions at once, one wins.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from confide.counts import ScoreCounts
from confide.errors import FederationError, RefusedError
from confide.federation.modes.registry import mode_of
from confide.federation.question import Question
from confide.federation.site.fixed_terms import (
    EntryKind,
    another_question,
    drawn_before,
    entry,
    kind_of,
    other_sites,
)
from confide.federation.site.rows import SiteRows
from confide.files import create_file
from confide.ledger.entries import same_seal, seal

FILE, KEY_FILE = "register.db", "register.key"

SETTLED_TABLE = """
CREATE TABLE IF NOT EXISTS settled (
    kind TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, sites TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (kind, name, source)
)
"""
"""Table of settled lists; registers of earlier versions do not have it."""

MET_TABLE = """
CREATE TABLE IF NOT EXISTS met (
    kind TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, site TEXT NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (kind, name, source, site)
)
"""
"""Table of the own keys of the sites with which a sum was answered that survives dropouts."""

LOGS_TABLE = """
CREATE TABLE IF NOT EXISTS logs (
    name TEXT NOT NULL PRIMARY KEY, entries INTEGER NOT NULL, last TEXT NOT NULL, seal TEXT NOT NULL
)
"""
"""Table of anchors: how many entries each log of the site has, see `logs`."""

_LOCK_SECONDS = 30
_KEY_BYTES = 32
_TABLES = (
    """
CREATE TABLE fixed (
    kind TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, terms TEXT NOT NULL,
    data TEXT NOT NULL, counts TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (kind, name, source)
)
""",
    """
CREATE TABLE listed (
    question TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, model TEXT NOT NULL, sites TEXT NOT NULL, at TEXT NOT NULL
)
""",
)


class RegisterStore:
    """Register's file and key in a site's folder; the file is created with the first entry."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.key_path = folder / KEY_FILE

    def exists(self) -> bool:
        """Return whether there is a register; refuse a key without one, as the register's entries would be lost."""
        if self.path.exists():
            return True
        if self.key_path.exists():
            raise FederationError(
                f"the register {self.path} is not there, but its key is. Put it back from a backup; if this site has "
                f"answered nothing yet, remove '{self.key_path}'"
            )
        return False

    def create(self) -> None:
        """Create the register before its key, which comes with the first entry: no entry is ever without a key."""
        try:
            create_file(self.path, self._build)
        except FileExistsError:
            pass
        except OSError as error:
            raise FederationError(
                f"the register {self.path} cannot be made ({error.strerror}); make the site's folder writable"
            ) from None

    def _build(self, unfinished: Path) -> None:
        connection = _connected(unfinished)
        try:
            for table in _TABLES:
                connection.execute(table)
        finally:
            connection.close()

    def key(self, connection: sqlite3.Connection) -> bytes:
        """Return the key; make a fresh one for a register that has neither key nor entries."""
        if not self.key_path.exists() and not used(connection):
            try:
                create_file(
                    self.key_path, lambda unfinished: unfinished.write_text(secrets.token_hex(_KEY_BYTES) + "\n")
                )
            except FileExistsError:
                pass
            except OSError as error:
                raise FederationError(
                    f"the register's key {self.key_path} cannot be made ({error.strerror}); make its folder writable"
                ) from None
        return self.read_key()

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[sqlite3.Connection]:
        """Store all of a block or nothing; only one process writes at a time."""
        try:
            connection = _connected(self.path)
            try:
                connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed
        except sqlite3.Error as error:
            raise FederationError(
                f"the register {self.path} cannot be used ({error.sqlite_errorname}); check that it is intact, "
                "writable and not held by another program for long. Nothing is answered"
            ) from None

    def read_key(self) -> bytes:
        """Return the key; refuse one that others than its owner may read."""
        return _read_key(self.key_path)


def _connected(path: Path) -> sqlite3.Connection:
    # `mode=rw`, for SQLite would otherwise make a new, empty file where a register was.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=_LOCK_SECONDS, isolation_level=None
    )
    connection.execute("PRAGMA synchronous=EXTRA")  # as FULL, and the journal's removal is on the disk too
    return connection


def used(connection: sqlite3.Connection) -> bool:
    """Return whether the register has any entry."""
    found = connection.execute("SELECT 1 FROM fixed UNION ALL SELECT 1 FROM listed LIMIT 1")
    return found.fetchone() is not None


def _read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(1_000).decode("ascii", "replace").strip()
    except OSError as error:
        raise FederationError(
            f"the register's key {path} cannot be read ({error.strerror}); put it back from a backup"
        ) from None
    if mode & 0o077:
        raise FederationError(f"others may read the register's key; take that away first: chmod 600 '{path}'")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) < _KEY_BYTES:
        raise FederationError(f"the register's key {path} must hold {2 * _KEY_BYTES} hexadecimal digits; put it back")
    return key


class SettledLists:
    """Settled lists in a site's folder."""

    def __init__(self, folder: str | Path) -> None:
        self.store = RegisterStore(Path(folder))

    def sites(self, question: Question, *, source: str = "") -> Mapping[str, str] | None:
        """Return the sites over which a sum may be read, with their own keys; None if nothing is settled yet."""
        if not self.store.exists():
            return None
        with self.store.transaction(writing=False) as connection:
            return _found(connection, question, source) if has_table(connection, "settled") else None

    def settle(self, question: Question, members: Mapping[str, str], *, source: str = "") -> None:
        """Refuse another list than was settled, or store this one; it is on the disk when this returns."""
        if not self.store.exists():
            self.store.create()
        with self.store.transaction(writing=True) as connection:
            self.store.key(connection)
            connection.execute(SETTLED_TABLE)
            before = _found(connection, question, source)
            if before is not None:
                check_members(question, before, members)
            kind, name, _ = entry(question)
            connection.execute(
                "INSERT OR IGNORE INTO settled (kind, name, source, sites, at) VALUES (?, ?, ?, ?, ?)",
                (kind, name, source if kind is EntryKind.EXACT else "", json.dumps(dict(members)), _now()),
            )

    def check_met(self, question: Question, members: Mapping[str, str], *, source: str = "") -> None:
        """Refuse a site that was set up anew since this sum was answered with it; nothing is written."""
        if self.store.exists():
            with self.store.transaction(writing=False) as connection:
                if has_table(connection, "met"):
                    check_met(question, _met(connection, question, source), members)

    def meet(self, question: Question, members: Mapping[str, str], *, source: str = "") -> None:
        """Refuse a site that was set up anew, or store the own keys of all with whom a sum is answered."""
        if not self.store.exists():
            self.store.create()
        with self.store.transaction(writing=True) as connection:
            self.store.key(connection)
            connection.execute(MET_TABLE)
            check_met(question, _met(connection, question, source), members)
            kind, name, _ = entry(question)
            connection.executemany(
                "INSERT OR IGNORE INTO met (kind, name, source, site, key) VALUES (?, ?, ?, ?, ?)",
                [(kind, name, source if kind is EntryKind.EXACT else "", *member) for member in members.items()],
            )


def check_members(question: Question, settled: Mapping[str, str], members: Mapping[str, str]) -> None:
    """Refuse other sites than those of a settled list, and a site among them that was set up anew."""
    if set(settled) != set(members):
        raise other_sites(question, tuple(sorted(settled)))
    check_met(question, settled, members)


def check_met(question: Question, met: Mapping[str, str], members: Mapping[str, str]) -> None:
    """Refuse a site that has another key than when this sum was answered with it."""
    anew = [site for site, key in members.items() if met.get(site, key) != key]
    if anew:
        raise RefusedError(
            f"a site was set up anew since this question was answered ({anew[0]!r}), and remembers neither its answer "
            f"nor with which sites it gave it; {mode_of(question).ask_anew(question)}"
        )


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether the register, which may be of an earlier version, has a table."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def forget_settled(connection: sqlite3.Connection, model: str) -> None:
    """Delete the lists and the keys of a model's sums without noise."""
    for table in ("settled", "met"):
        if has_table(connection, table):
            connection.execute(f"DELETE FROM {table} WHERE kind = 'exact' AND name = ?", (model,))  # noqa: S608


def _found(connection: sqlite3.Connection, question: Question, source: str) -> dict[str, str] | None:
    kind, name, _ = entry(question)
    row = connection.execute(
        "SELECT sites FROM settled WHERE kind = ? AND (name = ? OR (source = ? AND source != '')) ORDER BY at LIMIT 1",
        (kind, name, source if kind is EntryKind.EXACT else ""),
    ).fetchone()
    return None if row is None else dict(json.loads(row[0]))


def _met(connection: sqlite3.Connection, question: Question, source: str) -> dict[str, str]:
    kind, name, _ = entry(question)
    rows = connection.execute(
        "SELECT site, key FROM met WHERE kind = ? AND (name = ? OR (source = ? AND source != ''))",
        (kind, name, source if kind is EntryKind.EXACT else ""),
    )
    return dict(rows.fetchall())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


_FORGET = (
    "DELETE FROM fixed WHERE kind = 'exact' AND model = ?",
    "DELETE FROM listed WHERE kind = 'exact' AND model = ?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Entry of the register: the model of an answered question, the fixed terms, and the time."""

    model: str
    private: bool
    terms: Mapping[str, Any]
    at: str


class Register:
    """Register in a site's folder; it is created with its first entry."""

    def __init__(self, folder: str | Path) -> None:
        self.store = RegisterStore(Path(folder))

    def check(self, question: Question, rows: SiteRows, *, source: str = "") -> None:
        """Refuse a question that must not be answered after earlier ones; nothing is written.

        `source` says from which file and column the model's scores come (`SiteConfig.source`).
        """
        if self.store.exists():
            with self.store.transaction(writing=False) as connection:
                if used(connection):
                    _check(connection, question, _sealed(self.store.read_key(), rows), source)

    def check_terms(self, question: Question, *, source: str = "") -> None:
        """Refuse a question without noise whose terms differ from those that were answered, whatever the rows are."""
        if self.store.exists():
            with self.store.transaction(writing=False) as connection:
                _check_terms(question, _fixed(connection, question, source))

    def holds(self, question: Question) -> bool:
        """Return whether exactly this question was answered."""
        if not self.store.exists():
            return False
        kind, name, terms = entry(question)
        with self.store.transaction(writing=False) as connection:
            found = connection.execute(
                "SELECT 1 FROM fixed WHERE kind = ? AND name = ? AND terms = ?", (kind, name, terms)
            )
            return found.fetchone() is not None

    def fix(self, question: Question, rows: SiteRows, *, source: str = "", first: bool = False) -> None:
        """Refuse a question or enter it, before it is answered; the entry is on the disk when this returns.

        With `first`, refuse also a question that was answered before.
        """
        if not self.store.exists():
            self.store.create()
        with self.store.transaction(writing=True) as connection:
            key = self.store.key(connection)
            data = _sealed(key, rows)
            _check(connection, question, data, source)
            kind, name, terms = entry(question)
            if first and _exact_names(connection, question.model, source):
                raise drawn_before(question)
            connection.execute(
                "INSERT OR IGNORE INTO fixed (kind, name, source, model, terms, data, counts, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(kind, name, source if kind is EntryKind.EXACT else "", question.model, terms),
                    *(data, _digest(key, rows.counts), _now()),
                ),
            )

    def list_sites(self, signed: Question, sites: tuple[str, ...]) -> None:
        """Refuse to answer a signed question with other sites than before, or enter these.

        The entry is on the disk when this returns. Of two lists at once, one is entered and the other refused.
        """
        if not self.store.exists():
            self.store.create()
        with self.store.transaction(writing=True) as connection:
            self.store.key(connection)
            before = _listed(connection, signed)
            if before is not None and before != tuple(sorted(sites)):
                raise other_sites(signed, before)
            connection.execute(
                "INSERT OR IGNORE INTO listed (question, kind, model, sites, at) VALUES (?, ?, ?, ?, ?)",
                (signed.lasting_digest(), kind_of(signed), signed.model, json.dumps(sorted(sites)), _now()),
            )

    def listed(self, signed: Question) -> tuple[str, ...] | None:
        """Return the sites with which a signed question was answered, or None if it was not."""
        if not self.store.exists():
            return None
        with self.store.transaction(writing=False) as connection:
            return _listed(connection, signed)

    def answered_exactly(self, model: str, *, source: str = "") -> bool:
        """Return whether a question without noise was answered about a model, or its source under another name."""
        if not self.store.exists():
            return False
        with self.store.transaction(writing=False) as connection:
            return bool(_exact_names(connection, model, source))

    def names_of(self, counts: ScoreCounts) -> tuple[str, ...]:
        """Return the models under whose names exactly these counts were asked about without noise.

        For the site's administrator, at set-up: a reply to a coordinator must not depend on it.
        """
        if not self.store.exists():
            return ()
        with self.store.transaction(writing=False) as connection:
            if not used(connection):
                return ()
            data = _digest(self.store.read_key(), counts)
            rows = connection.execute("SELECT DISTINCT model, counts FROM fixed WHERE kind = 'exact'").fetchall()
        return tuple(sorted({model for model, fixed in rows if same_seal(fixed, data)}))

    def forget(self, model: str, *, source: str = "") -> bool:
        """Delete a model's exact entries, under all names of its source; return whether there were any.

        For the site's administrator, who knows that the earlier answers and the new ones together give nothing away,
        or never reached anybody. Private answers are not forgotten: ask a new edition of the question instead.
        """
        if not self.store.exists():
            return False
        with self.store.transaction(writing=True) as connection:
            forgotten = 0
            for name in {model, *_exact_names(connection, model, source)}:
                for delete in _FORGET:
                    forgotten += connection.execute(delete, (name,)).rowcount
                forget_settled(connection, name)
            return forgotten > 0

    def fixed(self) -> tuple[Fixed, ...]:
        """Return all entries, the oldest first."""
        if not self.store.exists():
            return ()
        with self.store.transaction(writing=False) as connection:
            rows = connection.execute(
                "SELECT model, kind, terms, min(at) FROM fixed GROUP BY kind, name ORDER BY min(at), model"
            ).fetchall()
        return tuple(
            Fixed(model=model, private=kind == EntryKind.PRIVATE, terms=json.loads(terms), at=at)
            for model, kind, terms, at in rows
        )


def _check(connection: sqlite3.Connection, question: Question, data: str, source: str) -> None:
    """Refuse a question that does not fit what is fixed for its model, or for its model's source.

    Data are not compared over models: whether two of them score all rows alike would tell of single rows.
    """
    fixed = _fixed(connection, question, source)
    _check_terms(question, fixed)
    if not all(same_seal(fixed_data, data) for _, fixed_data in fixed):
        raise mode_of(question).changed_data(question)


def _check_terms(question: Question, fixed: Sequence[tuple[str, str]]) -> None:
    """Refuse a question without noise that has other terms than those that are fixed."""
    kind, _, terms = entry(question)
    for fixed_terms, _ in fixed:
        if fixed_terms != terms and kind is EntryKind.EXACT:
            raise another_question(question.model, json.loads(fixed_terms), json.loads(terms))


def _fixed(connection: sqlite3.Connection, question: Question, source: str) -> list[tuple[str, str]]:
    """Return terms and data that are fixed for a question's model, or for its model's source."""
    kind, name, _ = entry(question)
    return connection.execute(
        "SELECT terms, data FROM fixed WHERE kind = ? AND (name = ? OR (source = ? AND source != ''))",
        (kind, name, source),
    ).fetchall()


def _exact_names(connection: sqlite3.Connection, model: str, source: str) -> set[str]:
    """Return the names under which a model, or its source, has an entry without noise."""
    rows = connection.execute(
        "SELECT name FROM fixed WHERE kind = ? AND (name = ? OR (source = ? AND source != ''))",
        (EntryKind.EXACT, model, source),
    )
    return {name for (name,) in rows}


def _listed(connection: sqlite3.Connection, signed: Question) -> tuple[str, ...] | None:
    row = connection.execute("SELECT sites FROM listed WHERE question = ?", (signed.lasting_digest(),)).fetchone()
    return None if row is None else tuple(json.loads(row[0]))


def _sealed(key: bytes, rows: SiteRows) -> str:
    """Return a keyed hash of the identity of rows."""
    return seal(key, "register", rows.identity)


def _digest(key: bytes, counts: ScoreCounts) -> str:
    """Return a keyed hash of counts, for the administrator's own eyes: no reply depends on it."""
    plain = sha256()
    for array in (counts.scores, counts.positives, counts.negatives):
        kind = array.dtype.kind
        plain.update(f"{kind}{array.size}:".encode())
        plain.update((array + 0).astype(f"<{kind}8").tobytes())  # adding nothing makes minus zero zero
    return seal(key, "counts", plain.digest())
