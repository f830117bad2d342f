"""What a site has answered, so that no two of its answers can be subtracted from each other.

**Without noise** a site answers one question about a model. Sums over two different lists of sites differ by some
sites' counts; tables on two grids, or with two sizes of groups, differ by counts of small cells; tables of data before
and after a change differ by those who came or went. So the first question that is answered fixes the mode, the grid,
the bins, the size of groups, the data and, where only sums are seen, the sites. The same question may be asked again.
A model is known by its name and by its *source*, the file and the column of scores that the site's settings name: under
another name the same source has the same entry. Nothing that was read from the data is compared over models.
Exact answers about several models of the same rows can be subtracted as well: two sums over different sites give the
rows of each class at a site away and, where the models differ for few rows only, these rows. To set up a model at a
site is to let it be asked about.

**In private mode** a site answers one question with one draw of its share of the noise, whatever happens to its data.
The sum is protected by everybody's shares. If a site whose data changed drew another one while the others' stored
shares were used again, the difference of the two sums would be its counts with no noise but its own. So it refuses; a
question that differs in anything that the sum depends on is answered by all sites with fresh shares, and paid for.

**Whose sum it is.** Where sites answer with sums, a signed question may allow that fewer of its sites take part. Which
of them do is the server's choice, once: a site remembers, before it pays or sends anything, with which sites it answers
the question, and never answers it with others.

Data are known again by a keyed hash of their files as they lie there, never by what was counted in them: a refusal that
depended on counts would tell of single rows. Without the key, which is in a file of its owner's beside the register,
nobody can try guesses against the hash. The register is one SQLite file; what is fixed is on the disk before anything
is sent, and of two processes that fix different questions at once one wins.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from confide.counts import ScoreCounts
from confide.errors import FederationError
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
from confide.ledger.seals import same_seal, seal

FILE, KEY_FILE = "register.db", "register.key"

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

_FORGET = (
    "DELETE FROM fixed WHERE kind = 'exact' AND model = ?",
    "DELETE FROM listed WHERE kind = 'exact' AND model = ?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A question that was answered: for which model, what of it is fixed, and since when."""

    model: str
    private: bool
    terms: Mapping[str, Any]
    at: str


class Register:
    """The register in a site's folder; it is made when something is first fixed."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE
        self.key_path = Path(folder) / KEY_FILE

    def check(self, question: Question, rows: SiteRows, *, source: str = "") -> None:
        """Refuse a question that must not be answered after what was; nothing is written.

        `source` says from which file and column the model's scores come (`SiteConfig.source`).
        """
        if self._exists():
            with self._transaction(writing=False) as connection:
                if _used(connection):
                    _check(connection, question, _sealed(_read_key(self.key_path), rows), source)

    def holds(self, question: Question) -> bool:
        """Whether this very question was answered."""
        if not self._exists():
            return False
        kind, name, terms = entry(question)
        with self._transaction(writing=False) as connection:
            found = connection.execute(
                "SELECT 1 FROM fixed WHERE kind = ? AND name = ? AND terms = ?", (kind, name, terms)
            )
            return found.fetchone() is not None

    def fix(self, question: Question, rows: SiteRows, *, source: str = "", first: bool = False) -> None:
        """Refuse, or remember, a question that is about to be answered; it is on the disk when this returns.

        With `first`, a question that was answered before is refused, too.
        """
        if not self._exists():
            self._create()
        with self._transaction(writing=True) as connection:
            key = self._key(connection)
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
        """Refuse to answer a signed question with other sites than before, or remember these.

        It is on the disk when this returns; of two lists at once one is remembered, and the other refused.
        """
        if not self._exists():
            self._create()
        with self._transaction(writing=True) as connection:
            self._key(connection)
            before = _listed(connection, signed)
            if before is not None and before != tuple(sorted(sites)):
                raise other_sites(signed, before)
            connection.execute(
                "INSERT OR IGNORE INTO listed (question, kind, model, sites, at) VALUES (?, ?, ?, ?, ?)",
                (signed.digest(), kind_of(signed), signed.model, json.dumps(sorted(sites)), _now()),
            )

    def listed(self, signed: Question) -> tuple[str, ...] | None:
        """Return the sites with which a signed question was answered, or None if it was not."""
        if not self._exists():
            return None
        with self._transaction(writing=False) as connection:
            return _listed(connection, signed)

    def answered_exactly(self, model: str, *, source: str = "") -> bool:
        """Whether a question without noise was answered about a model, or about its source under another name."""
        if not self._exists():
            return False
        with self._transaction(writing=False) as connection:
            return bool(_exact_names(connection, model, source))

    def names_of(self, counts: ScoreCounts) -> tuple[str, ...]:
        """Return the models under whose names these very counts were asked about without noise.

        For the site's administrator, at set-up: a reply to a coordinator must not depend on it.
        """
        if not self._exists():
            return ()
        with self._transaction(writing=False) as connection:
            if not _used(connection):
                return ()
            data = _digest(_read_key(self.key_path), counts)
            rows = connection.execute("SELECT DISTINCT model, counts FROM fixed WHERE kind = 'exact'").fetchall()
        return tuple(sorted({model for model, fixed in rows if same_seal(fixed, data)}))

    def forget(self, model: str, *, source: str = "") -> bool:
        """Let a model be asked about without noise anew, under all names of its source; whether anything was fixed.

        For the site's administrator, who knows that the earlier answers and the new ones together give nothing away,
        or never reached anybody. Private answers are not forgotten: ask a new edition of the question instead.
        """
        if not self._exists():
            return False
        with self._transaction(writing=True) as connection:
            forgotten = 0
            for name in {model, *_exact_names(connection, model, source)}:
                for delete in _FORGET:
                    forgotten += connection.execute(delete, (name,)).rowcount
            return forgotten > 0

    def fixed(self) -> tuple[Fixed, ...]:
        """Everything that is fixed, the oldest first."""
        if not self._exists():
            return ()
        with self._transaction(writing=False) as connection:
            rows = connection.execute(
                "SELECT model, kind, terms, min(at) FROM fixed GROUP BY kind, name ORDER BY min(at), model"
            ).fetchall()
        return tuple(
            Fixed(model=model, private=kind == EntryKind.PRIVATE, terms=json.loads(terms), at=at)
            for model, kind, terms, at in rows
        )

    def _exists(self) -> bool:
        """Whether there is a register; a key without one is refused, as what was answered would be forgotten."""
        if self.path.exists():
            return True
        if self.key_path.exists():
            raise FederationError(
                f"the register {self.path} is not there, but its key is. Put it back from a backup; if this site has "
                f"answered nothing yet, remove '{self.key_path}'"
            )
        return False

    def _create(self) -> None:
        """Make the register first and its key when it is used: a register with entries is never without its key."""
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

    def _key(self, connection: sqlite3.Connection) -> bytes:
        """The key; a fresh one for a register without entries that has none yet."""
        if not self.key_path.exists() and not _used(connection):
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
        return _read_key(self.key_path)

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[sqlite3.Connection]:
        """All of a block is stored, or nothing; while one writes nobody else does."""
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
                f"the register {self.path} cannot be used ({error.sqlite_errorname}); check that it is whole, "
                "writable and not held by another program for long. Nothing is answered"
            ) from None


def _connected(path: Path) -> sqlite3.Connection:
    # `mode=rw`, for SQLite would otherwise make a new, empty file where a register was.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=_LOCK_SECONDS, isolation_level=None
    )
    connection.execute("PRAGMA synchronous=EXTRA")  # as FULL, and the journal's removal is on the disk too
    return connection


def _used(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM fixed UNION ALL SELECT 1 FROM listed LIMIT 1")
    return found.fetchone() is not None


def _check(connection: sqlite3.Connection, question: Question, data: str, source: str) -> None:
    """Refuse a question that does not fit what is fixed for its model, or for its model's source.

    Data are not compared over models: whether two of them score all rows alike would tell of single rows.
    """
    kind, name, terms = entry(question)
    rows = connection.execute(
        "SELECT terms, data FROM fixed WHERE kind = ? AND (name = ? OR (source = ? AND source != ''))",
        (kind, name, source),
    ).fetchall()
    for fixed_terms, fixed_data in rows:
        if fixed_terms != terms and kind is EntryKind.EXACT:
            raise another_question(question.model, json.loads(fixed_terms), json.loads(terms))
        if not same_seal(fixed_data, data):
            raise mode_of(question).changed_data(question)


def _exact_names(connection: sqlite3.Connection, model: str, source: str) -> set[str]:
    """Return the names under which a model, or its source, has an entry without noise."""
    rows = connection.execute(
        "SELECT name FROM fixed WHERE kind = ? AND (name = ? OR (source = ? AND source != ''))",
        (EntryKind.EXACT, model, source),
    )
    return {name for (name,) in rows}


def _listed(connection: sqlite3.Connection, signed: Question) -> tuple[str, ...] | None:
    row = connection.execute("SELECT sites FROM listed WHERE question = ?", (signed.digest(),)).fetchone()
    return None if row is None else tuple(json.loads(row[0]))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
