"""Audit chain: each contest's events, each sealed together with the one before.

Seals are HMAC-SHA256 under the key of the home folder, over the previous seal and canonical JSON. The row of the
contest seals the end of the chain, so that removing the last entries shows too. An older copy of the whole home cannot
be detected, as it was valid once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from confide.ledger.seals import same_seal, seal
from confide.service.tables import CHAIN, CONTESTS

START = "0" * 64


def canonical(entry: dict[str, Any]) -> str:
    """Return the one JSON text of an entry."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def link(key: bytes, contest: str, sequence: int, previous: str, entry: str) -> str:
    """Return the seal of an entry."""
    return seal(key, "oracle entry", contest, sequence, previous, entry)


def end(key: bytes, contest: str, length: int, last: str) -> str:
    """Return the seal of the end of a chain."""
    return seal(key, "oracle end", contest, length, last)


def locked(connection: Connection, contest: str) -> Any:
    """Lock the row of a contest until the transaction ends, and return it. Every writer does this first."""
    return connection.execute(select(CONTESTS).where(CONTESTS.c.name == contest).with_for_update()).first()


def append(connection: Connection, key: bytes, contest: str, entry: dict[str, Any]) -> None:
    """Add an entry to a contest's chain. The caller holds the lock of the contest's row."""
    head = connection.execute(
        select(CONTESTS.c.chain_length, CONTESTS.c.chain_end).where(CONTESTS.c.name == contest)
    ).one()
    sequence, written = head.chain_length + 1, canonical(entry)
    sealed = link(key, contest, sequence, head.chain_end, written)
    connection.execute(insert(CHAIN), {"contest": contest, "sequence": sequence, "entry": written, "seal": sealed})
    connection.execute(
        update(CONTESTS)
        .where(CONTESTS.c.name == contest)
        .values(chain_length=sequence, chain_end=sealed, chain_seal=end(key, contest, sequence, sealed))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A break of a chain, or a record that does not fit its chain."""

    contest: str
    sequence: int
    problem: str


def checked_entries(connection: Connection, key: bytes, contest: str) -> tuple[list[dict[str, Any]], list[Fault]]:
    """Return the entries of a chain up to the first break, and the break if there is one."""
    head = connection.execute(select(CONTESTS).where(CONTESTS.c.name == contest)).one()
    rows = connection.execute(select(CHAIN).where(CHAIN.c.contest == contest).order_by(CHAIN.c.sequence))
    entries: list[dict[str, Any]] = []
    last = START
    for position, row in enumerate(rows, start=1):
        expected = link(key, contest, position, last, row.entry)
        if row.sequence != position or not same_seal(row.seal, expected):
            problem = "is missing, out of place or changed"
            return entries, [Fault(contest=contest, sequence=position, problem=problem)]
        last = row.seal
        entries.append(json.loads(row.entry))
    whole = (head.chain_length, head.chain_end) == (len(entries), last)
    if not whole or not same_seal(head.chain_seal, end(key, contest, len(entries), last)):
        problem = "does not fit the sealed end of the chain"
        return entries, [Fault(contest=contest, sequence=len(entries), problem=problem)]
    return entries, []
