"""Rows held out for evaluation: a public rule that puts every row, by itself, on one of two sides.

A model is trained on one side and evaluated on the other. A row lies on one side only, so what the two sides cost does
not add up (parallel composition): under add-remove-one, and under label-only as the rule does not read the label. Under
replace-one it would: a row that is replaced can leave one side and enter the other. So it would between two versions of
a file, in which a row may differ: whoever asks names the file in the part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.guarantee import exact_fraction
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.terms import Terms

TRAINING, HELD_OUT = "training", "held-out"
SIDES = (TRAINING, HELD_OUT)

_ALL = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOut:
    """Hold out a share of the rows: those whose key, a hash of 64 bits of what `by` names, is among the highest.

    Rows with the same key lie on the same side. `by` says all that the key depends on, and no more than what is in the
    row without its label. Where it tells persons apart (`persons`), all rows of a person lie on one side.

    >>> rule = HoldOut(share=Fraction(1, 4), by="column id")
    >>> rule.held_out(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64))
    array([False, False,  True])
    """

    share: Fraction
    by: str
    persons: bool = False

    def __post_init__(self) -> None:
        share = exact_fraction(self.share, "the share held out")
        if not 0 < share < 1:
            raise ParameterError(f"the share held out must lie between 0 (none) and 1, for example 0.3; got {share}")
        object.__setattr__(self, "share", share)

    def held_out(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which rows are held out: those whose key is at least `(1 - share) 2^64`."""
        edge = min(int((1 - self.share) * _ALL), _ALL - 1)
        held: NDArray[np.bool_] = keys >= np.uint64(edge)
        return held

    def part(self, side: str) -> Part:
        """One side, as the ledger knows it."""
        if side not in SIDES:
            raise ParameterError(f"rows are on one of the sides {' and '.join(SIDES)}; got {side!r}")
        return Part(f"{self.share} held out by {self.by}", side)

    def part_for(self, terms: Terms, side: str) -> Part | None:
        """Return the side that a request is about; None where the sides' costs add up, as a person may lie on both."""
        if terms.neighbours == Neighbours.REPLACE_ONE:
            raise ParameterError(
                "rows are held out under add-remove-one or label-only neighbours: a row that is replaced could change "
                "sides. Choose one of them, or train with nothing held out (`hold_out=0`)"
            )
        return self.part(side) if terms.rows_per_person == 1 or self.persons else None
