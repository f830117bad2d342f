"""Private feature selection: methods and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.selection.methods import METHODS as METHODS
    from confide.selection.methods import prepare_selection as prepare_selection
    from confide.selection.selection import Selection as Selection

_HOMES = {
    "confide.selection.methods": "METHODS prepare_selection",
    "confide.selection.selection": "Selection",
}

__all__, __getattr__ = lazy_names("confide.selection", _HOMES)


def __dir__() -> list[str]:
    return __all__
