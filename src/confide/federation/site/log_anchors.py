"""Anchors of a site's logs in its register: number and seal of each log's last entry.

A log and its head can both be replaced by old copies. The register then knows of more entries than the log has, and the
log is refused. The register lies in another file, which also remembers what the site has answered. An anchor is sealed
with the key of the logs, and is never lowered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confide.errors import FederationError
from confide.federation.site.register_store import LOGS_TABLE, RegisterStore, used
from confide.federation.site.settled import has_table
from confide.federation.site.site_folder import SiteFolder
from confide.ledger.seals import same_seal, seal

FIRST = "0" * 64
"""Seal before the first entry of a log."""

_RAISE = """
INSERT INTO logs (name, entries, last, seal) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET entries = excluded.entries, last = excluded.last, seal = excluded.seal
WHERE excluded.entries > logs.entries
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Number and seal of the last entry of a log that the register knows."""

    number: int = 0
    seal: str = FIRST


class LogAnchors:
    """Anchors of the logs in a site's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = SiteFolder(folder)
        self._store = RegisterStore(folder)

    def read(self, key: bytes, name: str) -> Anchor:
        """Return the anchor of a log; that of an empty log if there is none. Refuse one that was changed."""
        if not self._store.exists():
            return Anchor()
        with self._store.transaction(writing=False) as connection:
            if not has_table(connection, "logs"):
                return Anchor()
            row = connection.execute("SELECT entries, last, seal FROM logs WHERE name = ?", (name,)).fetchone()
        if row is None:
            return Anchor()
        anchor = Anchor(number=int(row[0]), seal=str(row[1]))
        if not same_seal(str(row[2]), _sealed(key, name, anchor)):
            raise FederationError(
                f"the number of entries of {name} in {self._store.path} was changed, or is sealed with another key; "
                "restore the site's whole folder from the newest backup"
            )
        return anchor

    def write(self, key: bytes, name: str, anchor: Anchor) -> None:
        """Store the anchor of a log, unless the register knows of more entries; it is on the disk then."""
        if not self._store.exists():
            self._store.create()
        with self._store.transaction(writing=True) as connection:
            connection.execute(LOGS_TABLE)
            connection.execute(_RAISE, (name, anchor.number, anchor.seal, _sealed(key, name, anchor)))

    def used_before(self) -> bool:
        """Return whether the site has logged, answered or charged anything; the key of its logs is older than these."""
        return self._register_used() or self._charged()

    def _register_used(self) -> bool:
        if not self._store.exists():
            return False
        with self._store.transaction(writing=False) as connection:
            return used(connection) or any(
                has_table(connection, table)
                and connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608
                for table in ("logs", "settled", "met")
            )

    def _charged(self) -> bool:
        from confide.ledger.budget import NOTHING
        from confide.ledger.ledger import Ledger

        with Ledger(self._folder.ledger) as ledger:
            return any(account.spent != NOTHING for account in ledger.accounts())


def _sealed(key: bytes, name: str, anchor: Anchor) -> str:
    return seal(key, "anchor of a site's log", name, anchor.number, anchor.seal)
