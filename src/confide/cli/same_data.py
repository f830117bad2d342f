"""What a charge says about the data besides its account: which file it was, and which column holds what is hidden.

Sides of a partition are known to be disjoint within one file. In another version of it, or the same in another format,
a row may have another key and lie on the other side: so a part names its file, and different files add up.

Under label-only neighbours only the labels are hidden. If one request took another column for the label, the hidden one
could be asked for as if it were public: so a request names its label, and an account has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from confide.errors import ParameterError

if TYPE_CHECKING:
    from confide.ledger.ledger import Ledger
    from confide.releases.prepared import Prepared

P = TypeVar("P", bound="Prepared")  # type: ignore[type-arg]

_HIDES_LABELS = "label-only"


def bound(prepared: Sequence[P], *, data: str, label: str) -> tuple[P, ...]:
    """The same requests about the file `data`, a keyed hash of its content, and the label's column."""
    return tuple(_bound(one, data, label) for one in prepared)


def _bound(prepared: P, data: str, label: str) -> P:
    if prepared.part is not None:
        part = replace(prepared.part, partition=f"{prepared.part.partition}, in {data}")
        prepared = replace(prepared, part=part)
    if prepared.guarantee.neighbours == _HIDES_LABELS:
        prepared = replace(prepared, request={**prepared.request, "label": label})
    return prepared


def check_label(book: Ledger, account: str, label: str, neighbours: str) -> None:
    """Refuse a label-only request about another label than those before it in the account."""
    if neighbours != _HIDES_LABELS or account not in {known.name for known in book.accounts()}:
        return
    for entry in book.history(account):
        asked = entry.asked if entry.kind == "charge" else {}
        if asked.get("guarantee", {}).get("neighbours") != _HIDES_LABELS:
            continue
        hidden = asked.get("request", {}).get("label", label)
        if hidden != label:
            raise ParameterError(
                f"account {account!r} hides the labels in column {hidden!r}, and takes all else for public; a request "
                f"about the labels in {label!r} needs an account of its own, or other neighbours"
            )
