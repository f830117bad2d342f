"""Ledger: accounts, budgets and charges. It is the only way to spend privacy budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.ledger.ledger import Ledger as Ledger
    from confide.ledger.question import PublicQuestion as PublicQuestion
    from confide.ledger.question import score_digest as score_digest

_HOMES = {
    "confide.ledger.ledger": "Ledger",
    "confide.ledger.question": "PublicQuestion score_digest",
}

__all__, __getattr__ = lazy_names("confide.ledger", _HOMES)


def __dir__() -> list[str]:
    return __all__
