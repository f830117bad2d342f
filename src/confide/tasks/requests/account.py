"""Request to open an account of a ledger, or to change its caps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import ParameterError
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, optional

if TYPE_CHECKING:
    from confide.ledger.payer import LedgerPlace
    from confide.privacy.guarantee import Exact

TERMS = ("neighbours", "unit", "rows_per_person", "data", "data_name", "label", "positive", "composition")
"""Fields that are terms of an account, which cannot be changed."""


def _caps_by_name(given: Iterable[str], parameter: str) -> dict[str, str]:
    """Read NAME=EPSILON."""
    caps = {}
    for text in given:
        name, equals, cap = text.rpartition("=")
        if not equals or not name or not cap:
            raise ParameterError(f"`{parameter}` must look like NAME=EPSILON, for example ana=2; got {text!r}")
        if name in caps:
            raise ParameterError(f"`{parameter}` names {name!r} twice; give one cap for each analyst")
        caps[name] = cap
    return caps


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRequest:
    """Caps and terms of an account. `open_account` says what the fields mean."""

    account: str = field(kw_only=False)
    epsilon: Exact | None = optional(None, "-e", metavar="E", help="The most to be spent in all; no default.")
    delta: Exact | None = optional(None, metavar="D", help="The same for delta. [default: 0]")
    neighbours: str | None = optional(
        None,
        metavar="RELATION",
        choices=options.NEIGHBOURS,
        help="What may differ: a row's values (replace-one), its presence (add-remove-one, for training) or its "
        "label (label-only). [default: replace-one]",
    )
    unit: str | None = optional(None, metavar="UNIT", choices=options.UNITS, help="row or person. [default: row]")
    rows_per_person: int | None = field(default=None, metadata=options.ROWS_PER_PERSON)
    data: str | Path | None = optional(
        None, metavar="FILE", kind=Path, help="The only file that the account is for, as it is now."
    )
    data_name: str | None = optional(
        None,
        metavar="TEXT",
        help="Instead of a file: name and version of the data, where files change, as in a contest.",
    )
    label: str | None = optional(
        None, "-l", metavar="COL", help="The column of labels; needed with label-only neighbours."
    )
    positive: str | None = optional(None, metavar="VALUE", help="The positive label, if requests will name one.")
    composition: str | None = optional(
        None,
        metavar="RULE",
        choices=options.COMPOSITIONS,
        help="How prices become a total: addition, or zcdp for many small requests (needs --delta). "
        "[default: addition]",
    )
    also_charge: bool = optional(
        False, kind=bool, help="Open it although another account knows the same data; budgets then add up."
    )
    per_analyst: Exact | None = optional(None, metavar="E", help="The most epsilon for each analyst.")
    analysts: Mapping[str, Exact] | None = optional(
        None,
        "--analyst",
        metavar="NAME=E",
        repeat=Repeat.LISTED,
        read=_caps_by_name,
        help="The most epsilon for this analyst; repeatable.",
    )
    ledger: LedgerPlace = field(default=None, repr=False, metadata=options.LEDGER)

    def __post_init__(self) -> None:
        if self.data is not None and self.data_name is not None:
            raise ParameterError("give `data` or `data_name`, not both")

    @property
    def terms(self) -> tuple[str, ...]:
        """Return the names of the terms that are given."""
        return tuple(name for name in TERMS if getattr(self, name) is not None)
