"""Numbers for words of the papers that have none, and stricter and laxer ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Numbers for words of the papers that have none. They are ours, and were chosen after first trial runs.

    `high` is a success that counts as high. Errors up to `similar` times as large count as similar, and beyond `much`
    times as much higher. `reasonable` and `tight` are errors, `small` a sensitivity, `good` an area between curves.
    """

    high: float = 0.75
    similar: float = 2.0
    much: float = 2.0
    reasonable: float = 0.05
    tight: float = 0.02
    small: float = 0.1
    good: float = 0.02


LIMITS = Limits()
STRICT = Limits(high=0.9, similar=1.25, much=4.0, reasonable=0.025, tight=0.01, small=0.05, good=0.01)
LAX = Limits(high=0.6, similar=4.0, much=1.25, reasonable=0.1, tight=0.04, small=0.2, good=0.04)
