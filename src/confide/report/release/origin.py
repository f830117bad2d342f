"""Section of a release's page: when the numbers were released, what all releases cost so far, and which version.

Everything here is public: the ledger charges by public facts, so its total says nothing about the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from confide.ledger.receipts import Receipt
from confide.privacy.guarantee import Guarantee, shown
from confide.provenance import PublicProvenance
from confide.report.shared.guarantees import attacker_words
from confide.report.shared.page import html_table
from confide.report.shared.provenance import TITLE, provenance_table
from confide.report.shared.tables import Table

_ALL = "all its releases"


def origin_section(receipt: Receipt[Any], origin: PublicProvenance | None) -> list[str]:
    """Return the section; empty if nothing is known."""
    if origin is not None and not isinstance(origin, PublicProvenance):
        raise TypeError("a page to be published takes a PublicProvenance, which holds no digest of the data")
    table = origin_table(receipt, origin)
    if not table.body:
        return []
    words = "" if receipt.total is None else f"<p>{escape(total_words(receipt.total))}</p>"
    return [f"<h2>{TITLE}</h2>", words, html_table(table, caption=False, prose=True)]


def origin_table(receipt: Receipt[Any], origin: PublicProvenance | None) -> Table:
    """Return the day of the release, the total spent, and the facts of the page."""
    facts = () if origin is None else provenance_table(origin).body
    named = ((_NAMES.get(name, name), value) for name, value in facts)
    return Table(title=TITLE, head=("", "value"), body=(*_paid(receipt), *named), text_columns=("value",))


_NAMES = {"date": "date of this page"}


def _paid(receipt: Receipt[Any]) -> Iterator[tuple[str, str]]:
    if receipt.released_at is not None:
        yield "released", day_of(receipt.released_at)
    if receipt.total is not None:
        yield "spent in total", receipt.total.summary


def total_words(total: Guarantee) -> str:
    """Describe what everything that an account paid for promises together."""
    amount = f"epsilon {shown(total.epsilon, up=True)}" + (
        f" and delta {shown(total.delta, up=True)}" if total.delta else ""
    )
    stated = f"The account of these data has spent {amount} in total so far, this release included."
    return " ".join((stated, *attacker_words(total, seen=_ALL)))


def day_of(at: str) -> str:
    """Return the day of a moment. Seconds are left out: they would tell how long the work took."""
    return at[:10]
