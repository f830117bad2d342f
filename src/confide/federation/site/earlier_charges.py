"""Parts of a private question that a site's ledger was charged for before, whatever the site's rows were then.

A ledger identifies what it stored by the rows, too. Before the rows are read, all that is known of a part is whether it
was charged for with any rows. A part that never was costs its full price, so a question whose new parts cannot be paid
is refused without reading anything. The others may be stored: once the rows are read, the ledger decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confide.ledger.entries import Kind, canonical_json
from confide.ledger.requests import Request

if TYPE_CHECKING:
    from confide.ledger.entries import Entry
    from confide.ledger.question import PublicQuestion
    from confide.privacy.prepared import Prepared

_IDENTIFYING = ("request", "guarantee", "part")
"""Keys of a charge that identify its request, beside the question; it also holds how the account counted it."""


def never_charged(
    prepared: Sequence[Prepared[Any]], about: PublicQuestion, history: Sequence[Entry]
) -> list[Prepared[Any]]:
    """Return those of some prepared answers that no charge in a ledger's history was for, with any rows."""
    charged = {_without_data(entry.request_data) for entry in history if entry.kind == Kind.CHARGE}
    return [one for one in prepared if _without_data(json.loads(Request.of(one, about).parameters)) not in charged]


def _without_data(plain: Mapping[str, Any]) -> str:
    """Write everything that identifies a request, except the rows."""
    question = {name: value for name, value in plain.get("question", {}).items() if name != "data"}
    return canonical_json({**{name: plain.get(name) for name in _IDENTIFYING}, "question": question}, "request")
