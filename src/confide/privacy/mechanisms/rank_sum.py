"""AUC from the centred rank sum and the number of positives: integers only, pure epsilon.

Proof: rank_sum.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.metrics.ranking import twice_wins
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery

LABEL_ONLY_SHARE = Fraction(1, 3)
"""Under label-only, the share of epsilon that goes to the number of positives."""


def rank_sum(counts: ScoreCounts, epsilon: Fraction, neighbours: Neighbours) -> IntegerQuery:
    """Query `2W = 2U - nm` and `n`, where U counts the pairs that are ranked right, ties as half.

    Replace-one: `(Delta 2W, Delta n)` is within `(2(N-1), 0)` when a row moves and within
    `(N-1, 1)` when its class changes as well; scales `2(N-1)/epsilon` and `2/epsilon` cost
    epsilon in either case. Label-only: only labels change, so `(N-1, 1)` alone, and epsilon is
    divided freely between the two. Add-remove-one has no such bound: a row changes 2W by up to
    the size of the other class, which is private there.
    """
    positives, negatives = counted_rows(counts)
    rows = positives + negatives
    scales = rank_sum_scales(rows, epsilon, neighbours)
    return IntegerQuery(values=(int(twice_wins(counts)) - positives * negatives, positives), scales=scales)


def rank_sum_scales(rows: int, epsilon: Fraction, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """Return the scales of the noise on 2W and on n."""
    reach = max(rows - 1, 1)
    if neighbours == Neighbours.REPLACE_ONE:
        return 2 * reach / epsilon, 2 / epsilon
    if neighbours == Neighbours.LABEL_ONLY:
        return reach / ((1 - LABEL_ONLY_SHARE) * epsilon), 1 / (LABEL_ONLY_SHARE * epsilon)
    raise ParameterError(
        "the rank sum has no bound under add-remove-one; use mechanism='local', or neighbours='replace-one'"
    )
