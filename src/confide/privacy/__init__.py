"""Differential privacy: guarantees, neighbouring relations, noise, mechanisms and accounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide._lazy import lazy_names

if TYPE_CHECKING:
    from confide.privacy.guarantee import Guarantee as Guarantee
    from confide.privacy.neighbours import Neighbours as Neighbours
    from confide.privacy.prepared import Part as Part
    from confide.privacy.prepared import Prepared as Prepared

_HOMES = {
    "confide.privacy.guarantee": "Guarantee",
    "confide.privacy.neighbours": "Neighbours",
    "confide.privacy.prepared": "Part Prepared",
}

__all__, __getattr__ = lazy_names("confide.privacy", _HOMES)


def __dir__() -> list[str]:
    return __all__
