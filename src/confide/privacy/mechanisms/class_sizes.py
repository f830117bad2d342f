"""Number of rows of each class.

Proof: class_sizes.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery

MOST_ROWS = 2**30


def class_sizes(counts: ScoreCounts, epsilon: Fraction, neighbours: Neighbours) -> IntegerQuery:
    """Query the number of positives; under add-remove-one also that of negatives.

    Where the number of rows is public, one row changes the number of positives by at most 1.
    Under add-remove-one a row changes one of the two numbers by 1, so both share epsilon.
    """
    positives, negatives = counted_rows(counts)
    scale = 1 / epsilon
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        return IntegerQuery(values=(positives, negatives), scales=(scale, scale))
    return IntegerQuery(values=(positives,), scales=(scale,))


def counted_rows(counts: ScoreCounts) -> tuple[int, int]:
    """Count positives and negatives; refuse weights, as a heavy row could not be hidden."""
    if counts.weighted:
        raise ParameterError(
            "a private release counts rows, and these have weights that are not whole; give one row each"
        )
    positives, negatives = int(counts.total_positives), int(counts.total_negatives)
    if positives + negatives > MOST_ROWS:
        raise ParameterError(f"a private release takes at most {MOST_ROWS:,} rows, so that sums over pairs stay exact")
    return positives, negatives
