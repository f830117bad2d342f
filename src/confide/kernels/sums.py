"""Sums over ranks for AUC, average precision and DeLong's variance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:  # what is imported at run time needs no compiler
    from confide.kernels.threads import Counts


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankSums:
    """Sums over ranks that give AUC, average precision and DeLong's variance.

    With ``n`` positives and ``m`` negatives, AUC is ``twice_wins / (2 n m)``, average precision ``precision_sum / n``,
    and DeLong's variance of the AUC ``positive_placement_ss / (n - 1) / n + negative_placement_ss / (m - 1) / m``.
    With one class only, every sum is zero.

    Attributes:
        positives: rows with label 1.
        negatives: rows with label 0.
        twice_wins: over pairs of a positive and a negative, 2 if the positive scores higher and 1 if they tie.
        precision_sum: over positives, the precision of calling positive every row with that score or a higher one.
        positive_placement_ss: over positives, squared deviations from the mean of the share of negatives that score
            lower, with half of those that tie.
        negative_placement_ss: over negatives, likewise of the share of positives that score higher.
    """

    positives: int
    negatives: int
    twice_wins: int
    precision_sum: float
    positive_placement_ss: float
    negative_placement_ss: float

    @property
    def auc(self) -> float:
        """Area under the ROC curve; both classes must be present."""
        return self.twice_wins / (2 * self.positives * self.negatives)

    @property
    def average_precision(self) -> float:
        """Mean precision over positives, which must be present."""
        return min(self.precision_sum / self.positives, 1.0)

    @property
    def auc_variance(self) -> float:
        """DeLong's variance of the AUC; each class must have two rows."""
        n, m = self.positives, self.negatives
        return self.positive_placement_ss / (n - 1) / n + self.negative_placement_ss / (m - 1) / m


class Centre(NamedTuple):
    """Points about which squares are summed.

    ``below`` is for twice the negatives below a positive plus those tied, ``above`` for twice the positives above a
    negative plus those tied. Both are integers near the means: deviations from them are exact, also where AUC is so
    near to 1 that those from the mean would be lost in rounding.
    """

    below: int
    above: int


def sum_counts(positives: Counts, negatives: Counts) -> RankSums:
    """Return the rank sums of the counts at ascending distinct scores."""
    n, m = int(positives.sum()), int(negatives.sum())
    if n == 0 or m == 0:
        return no_sums(n, m)
    below = 2 * np.cumsum(negatives) - negatives
    above = 2 * (n - np.cumsum(positives)) + positives
    true_positives = n - np.cumsum(positives) + positives
    false_positives = m - np.cumsum(negatives) + negatives
    precision = true_positives / np.maximum(true_positives + false_positives, 1)
    twice_wins = exact_dot(positives, below)
    centre = Centre(round(twice_wins / n), round(twice_wins / m))
    return rank_sums(
        n,
        m,
        twice_wins,
        precision_sum=float(np.sum(positives * precision)),
        centre=centre,
        squares_below=float(np.sum(positives * (below - centre.below).astype(np.float64) ** 2)),
        squares_above=float(np.sum(negatives * (above - centre.above).astype(np.float64) ** 2)),
    )


def rank_sums(
    n: int,
    m: int,
    twice_wins: int,
    *,
    precision_sum: float,
    centre: Centre,
    squares_below: float,
    squares_above: float,
) -> RankSums:
    """Return the rank sums, with the sums of squares moved from about the centre to about the means."""

    def about_mean(squares: float, total: int, count: int) -> float:
        return max(0.0, float(Fraction(squares) - Fraction(total * total, count)))

    return RankSums(
        positives=n,
        negatives=m,
        twice_wins=twice_wins,
        precision_sum=precision_sum,
        # Summed over either class, below and above count the same pairs: twice_wins.
        positive_placement_ss=about_mean(squares_below, twice_wins - n * centre.below, n) / (4 * m * m),
        negative_placement_ss=about_mean(squares_above, twice_wins - m * centre.above, m) / (4 * n * n),
    )


def no_sums(positives: int, negatives: int) -> RankSums:
    """Return the rank sums of rows of one class."""
    return RankSums(
        positives=positives,
        negatives=negatives,
        twice_wins=0,
        precision_sum=0.0,
        positive_placement_ss=0.0,
        negative_placement_ss=0.0,
    )


def exact_dot(left: Counts, right: Counts) -> int:
    """Return the inner product of non-negative counts, in Python integers where 64 bits may not hold it."""
    if int(left.sum()) * int(right.max()) < 1 << 63:
        return int(np.dot(left, right))
    return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))
