"""Lists of sites over which a site has let sums be read, in its register: one for each sum, ever.

If sites may drop out, the list of those that are left is known only after the answers. Before a site votes for a list
or shows a share for it, the list is stored here, with the keys that its sites made for themselves. From then on the
site helps to read no sum over another list, in no session and after no restart: the difference of two sums would be
some sites' own answers. A sum is known by the terms that it depends on; without noise also by the source of the
model's scores, under whatever name.

As `threshold` sites must agree, and any two sets of so many have an honest site in common, a site is protected by
what others remember even if it died before it stored the list itself. That holds as long as the others do remember. A
site that was set up anew does not, but has made another key for itself. So before a site answers, it stores the own
keys of all whom it answers with, and answers no more where one of them has another key.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from confide.errors import RefusedError
from confide.federation.modes.registry import mode_of
from confide.federation.question import Question
from confide.federation.site.fixed_terms import EntryKind, entry, other_sites
from confide.federation.site.register_store import MET_TABLE, SETTLED_TABLE, RegisterStore


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
