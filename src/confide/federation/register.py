"""What a site has answered, so that no two of its answers can be subtracted from each other.

**Without noise** a site answers one question about a model. Sums over two different lists of sites differ by some
sites' counts; tables on two grids, or with two sizes of groups, differ by counts of small cells; tables of data before
and after a change differ by those who came or went. So the first question that is answered fixes the mode, the grid,
the bins, the size of groups, the data and, where only sums are seen, the sites. The same question may be asked again.
Exact answers about several models of the same rows can be subtracted as well, where the models differ for few rows: to
set up a model at a site is to let it be asked about.

**In private mode** a site answers one question with one draw of its share of the noise, whatever happens to its data.
The sum is protected by everybody's shares. If a site whose data changed drew another one while the others' stored
shares were used again, the difference of the two sums would be its counts with no noise but its own. So it refuses; a
question that differs in anything that the sum depends on is answered by all sites with fresh shares, and paid for.

Data are known again by a keyed hash: without the key, which is in a file of its owner's beside the register, nobody
can try guesses against it. The register is one SQLite file; what is fixed is on the disk before anything is sent, and
of two processes that fix different questions at once one wins.
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
from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.question import EXACT, NOISY_SCORES, PRIVATE, SECURE_SUM, Question
from confide.ledger.entries import canonical_json
from confide.ledger.key import appear
from confide.ledger.seals import same_seal, seal
from confide.releases.release import content_of

FILE, KEY_FILE = "register.db", "register.key"

_LOCK_SECONDS = 30
_KEY_BYTES = 32
_TABLE = """
CREATE TABLE fixed (
    kind TEXT NOT NULL, name TEXT NOT NULL, model TEXT NOT NULL, terms TEXT NOT NULL, data TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (kind, name)
)
"""
_WHY: Mapping[str, str] = {
    "mode": "exact answers in two modes can be subtracted from each other",
    "sites": "the difference of two sums over different sites is some sites' own counts",
    "grid": "the difference of tables on two grids gives small cells away",
    "bins": "the difference of tables with different bins gives small cells away",
    "minimum_cell": "groups of two sizes together give smaller ones away",
}
_NOT_IN_SUM = ("study", "mode", "bins", "unit", "site_share", "protocol")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A question that was answered: for which model, what of it is fixed, and since when."""

    model: str
    private: bool
    terms: Mapping[str, Any]
    at: str


def exact_terms(question: Question) -> dict[str, Any]:
    """What the first question without noise fixes, beside the data."""
    terms: dict[str, Any] = {
        "mode": question.mode,
        "grid": sha256(question.public_grid.edges.astype("<f8").tobytes()).hexdigest(),
        "bins": question.bins,
        "minimum_cell": question.minimum_cell,
    }
    if question.mode == SECURE_SUM:
        terms["sites"] = list(question.sites)
    if question.mode == NOISY_SCORES:
        terms |= {"epsilon": question.epsilon, "delta": question.delta, "sensitivity": question.sensitivity}
    return terms


def pooled_terms(question: Question) -> dict[str, Any]:
    """Everything in a private question that the sum over the sites depends on.

    The study is not among it: the same question in another study is the same, at no further cost. A row is the one
    row of a person, so the unit makes no difference either.
    """
    terms = {name: value for name, value in question.to_dict().items() if name not in _NOT_IN_SUM}
    return {**terms, "epsilon": str(question.pooled_epsilon)}


class Register:
    """The register in a site's folder; it is made when something is first fixed."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE
        self.key_path = Path(folder) / KEY_FILE

    def check(self, question: Question, counts: ScoreCounts) -> None:
        """Refuse a question that must not be answered after what was; nothing is written."""
        if self._exists():
            with self._transaction(writing=False) as connection:
                if _used(connection):
                    _check(connection, question, _digest(_read_key(self.key_path), counts))

    def holds(self, question: Question) -> bool:
        """Whether this very question was answered."""
        if not self._exists():
            return False
        kind, name, terms = _entry(question)
        with self._transaction(writing=False) as connection:
            found = connection.execute(
                "SELECT 1 FROM fixed WHERE kind = ? AND name = ? AND terms = ?", (kind, name, terms)
            )
            return found.fetchone() is not None

    def fix(self, question: Question, counts: ScoreCounts) -> None:
        """Refuse, or remember, a question that is about to be answered; it is on the disk when this returns."""
        if not self._exists():
            self._create()
        with self._transaction(writing=True) as connection:
            data = _digest(self._key(connection), counts)
            _check(connection, question, data)
            kind, name, terms = _entry(question)
            connection.execute(
                "INSERT OR IGNORE INTO fixed (kind, name, model, terms, data, at) VALUES (?, ?, ?, ?, ?, ?)",
                (kind, name, question.model, terms, data, datetime.now(UTC).isoformat(timespec="seconds")),
            )

    def forget(self, model: str) -> bool:
        """Let a model be asked about without noise anew; whether anything was fixed.

        For the site's administrator, who knows that the earlier answers and the new ones together give nothing away,
        or never reached anybody. Private answers are not forgotten: ask a new edition of the question instead.
        """
        if not self._exists():
            return False
        with self._transaction(writing=True) as connection:
            return connection.execute("DELETE FROM fixed WHERE kind = 'exact' AND model = ?", (model,)).rowcount > 0

    def fixed(self) -> tuple[Fixed, ...]:
        """Everything that is fixed, the oldest first."""
        if not self._exists():
            return ()
        with self._transaction(writing=False) as connection:
            rows = connection.execute("SELECT model, kind, terms, at FROM fixed ORDER BY at, model").fetchall()
        return tuple(
            Fixed(model=model, private=kind == "private", terms=json.loads(terms), at=at)
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
            appear(self.path, self._build)
        except FileExistsError:
            pass
        except OSError as error:
            raise FederationError(
                f"the register {self.path} cannot be made ({error.strerror}); make the site's folder writable"
            ) from None

    def _build(self, unfinished: Path) -> None:
        connection = _connected(unfinished)
        try:
            connection.execute(_TABLE)
        finally:
            connection.close()

    def _key(self, connection: sqlite3.Connection) -> bytes:
        """The key; a fresh one for a register without entries that has none yet."""
        if not self.key_path.exists() and not _used(connection):
            try:
                appear(self.key_path, lambda unfinished: unfinished.write_text(secrets.token_hex(_KEY_BYTES) + "\n"))
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
    return connection.execute("SELECT 1 FROM fixed LIMIT 1").fetchone() is not None


def _check(connection: sqlite3.Connection, question: Question, data: str) -> None:
    """Refuse a question that does not fit what is fixed for its model.

    Nothing is compared over models: whether two of them score all rows alike would tell of single rows.
    """
    kind, name, terms = _entry(question)
    rows = connection.execute("SELECT terms, data FROM fixed WHERE kind = ? AND name = ?", (kind, name)).fetchall()
    for fixed_terms, fixed_data in rows:
        if not same_seal(fixed_data, data):
            raise _changed(question)
        if fixed_terms != terms:
            raise _another(question.model, json.loads(fixed_terms), json.loads(terms))


def _entry(question: Question) -> tuple[str, str, str]:
    """What is fixed, under which name, and the terms."""
    if question.mode in EXACT:
        return "exact", question.model, canonical_json(exact_terms(question), "terms")
    if question.mode == PRIVATE:
        terms = canonical_json(pooled_terms(question), "terms")
        return "private", sha256(terms.encode()).hexdigest(), terms
    raise ParameterError(f"there is no mode {question.mode!r}")


def _another(model: str, fixed: Mapping[str, Any], asked: Mapping[str, Any]) -> RefusedError:
    differing = next(name for name in (*_WHY, *asked) if fixed.get(name) != asked.get(name))
    said = {"sites": "other sites", "bins": "other bins", "minimum_cell": "another minimum cell"}
    why = _WHY.get(differing, "answers to different questions can be subtracted from each other")
    return RefusedError(
        f"this site has answered another question about model {model!r} without noise, with "
        f"{said.get(differing, f'another {differing}')}; {why}. Ask the same question again, ask in mode private, or "
        f"ask the site's administrator to run `confide site forget FOLDER {model}`"
    )


def _changed(question: Question) -> RefusedError:
    if question.mode == PRIVATE:
        return RefusedError(
            f"this site's data for model {question.model!r} changed since it answered the same question to the same "
            "sites, whose stored shares of the noise would not protect the change. Ask it as a new edition "
            "(--edition), so that all sites draw, and pay for, new noise"
        )
    return RefusedError(
        f"this site's data for model {question.model!r} changed since they were asked about without noise; the "
        "difference of the two answers would be about those who came or went. Ask in mode private, or ask the site's "
        f"administrator to run `confide site forget FOLDER {question.model}`"
    )


def _digest(key: bytes, counts: ScoreCounts) -> str:
    """A keyed hash of the counts."""
    plain = sha256()
    for chunk in content_of(counts):
        plain.update(chunk)
    return seal(key, "register", plain.digest())


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
