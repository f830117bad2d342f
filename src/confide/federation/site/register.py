"""Register of the questions that a site has answered, so that no two answers can be subtracted from each other.

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
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from confide.counts import ScoreCounts
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
from confide.federation.site.register_store import RegisterStore, used
from confide.federation.site.rows import SiteRows
from confide.federation.site.settled import forget_settled
from confide.ledger.seals import same_seal, seal

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
