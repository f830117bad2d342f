"""Class sizes after an AUC at the local scale, at no further cost: what the released AUC left of epsilon pays for them.

Proof: free_class_sizes.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.counts import ScoreCounts
from confide.privacy.mechanisms.class_sizes import MOST_ROWS, counted_rows
from confide.privacy.mechanisms.local_auc import LocalParameters, local_auc
from confide.privacy.noise.integers import LARGEST_SCALE
from confide.privacy.queries import GRID, FollowedQuery, IntegerQuery

STEPS = 100
"""The distance of AUC from the nearer end is rounded down to a whole number of so many steps."""

REACH = 3
"""The least size that is told apart is this over epsilon and the distance of AUC from the nearer end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSizes:
    """Public parameters of the integer that follows a released AUC.

    With `rows` (N) public, the integer is `max(n m, n1 (N - n1))`; under add-remove-one it is `max(q, n1)`, q being the
    smaller of n and m. `least` is n1. `scale` is that of the discrete Laplace noise.
    """

    rows: int | None
    least: int
    scale: Fraction

    def value(self, positives: int, negatives: int) -> int:
        """Return the integer without noise."""
        if self.rows is None:
            return max(min(positives, negatives), self.least)
        return max(positives * negatives, self.least * (self.rows - self.least))


def free_sizes(parameters: LocalParameters, released: Fraction) -> FreeSizes | None:
    """Return the integer that a released AUC leaves room for; None if there is none."""
    epsilon, rows = parameters.epsilon, parameters.rows
    distance = Fraction(math.floor(STEPS * (min(released, 1 - released) - GRID)), STEPS)
    if distance <= 0:
        return None
    least = max(math.ceil(REACH / (epsilon * distance)), parameters.least)
    left = epsilon * distance - Fraction(1, least)
    if rows is not None:
        steepest = min(epsilon - Fraction(1, parameters.least), epsilon * Fraction(8, 9))
        left = min(left, steepest * distance)
    if left <= 0 or 2 * least >= (MOST_ROWS if rows is None else rows):
        return None
    scale = (1 if rows is None else rows) / left
    return None if scale > LARGEST_SCALE else FreeSizes(rows=rows, least=least, scale=scale)


def auc_then_sizes(counts: ScoreCounts, parameters: LocalParameters) -> FollowedQuery:
    """Query AUC at the local scale, followed by the integer that tells of the class sizes."""
    positives, negatives = counted_rows(counts)

    def then(released: Fraction) -> IntegerQuery | None:
        free = free_sizes(parameters, released)
        return None if free is None else IntegerQuery(values=(free.value(positives, negatives),), scales=(free.scale,))

    return FollowedQuery(first=local_auc(counts, parameters), then=then)
