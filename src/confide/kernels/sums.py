"""Sums over ranks for AUC, average precision and DeLong's variance; of all rows, or added up over ranges of scores.

Ranges do not overlap and never divide equal scores. The sums of one range see its own rows, and of the rows above it
only how many there are: that is all that a precision needs. The rows below a range add the same number to the rank of
each of its rows, so AUC and DeLong's squares follow from the sums of the ranges, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from confide.counts import CountArray

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RangeSums:
    """Sums over the rows of one range of scores.

    Attributes:
        positives: rows of the range with label 1.
        negatives: rows of the range with label 0.
        twice_wins: over its pairs of a positive and a negative, 2 if the positive scores higher and 1 if they tie.
        precision_sum: over its positives, the precision of calling positive every row with that score or a higher one.
        squares_below: over its positives, squared deviations from the mean of twice its negatives that score lower,
            plus those that tie.
        squares_above: over its negatives, likewise of its positives that score higher.
    """

    positives: int
    negatives: int
    twice_wins: int
    precision_sum: float
    squares_below: float
    squares_above: float


class RangeTotal:
    """Sums of ranges in ascending order, put together exactly. Both class sizes are known beforehand."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self.positives = self.negatives = 0
        self._precision: list[float] = []
        self._of_positives: list[tuple[int, int, float]] = []  # rows, twice the wins, squares about the mean
        self._of_negatives: list[tuple[int, int, float]] = []

    def add(self, part: RangeSums) -> None:
        """Add the sums of the next range."""
        p, q = part.positives, part.negatives
        self._precision.append(part.precision_sum)
        self._of_positives.append((p, part.twice_wins + 2 * self.negatives * p, part.squares_below))
        # Over its negatives: twice the positives above the range, and what the range's own pairs win.
        above = 2 * (self.n - self.positives - p) * q + part.twice_wins
        self._of_negatives.append((q, above, part.squares_above))
        self.positives += p
        self.negatives += q

    def add_tie(self, p: int, q: int) -> None:
        """Add positives and negatives that all have one score."""
        left = self.n - self.positives
        precision = float(Fraction(p * left, left + self.m - self.negatives)) if p else 0.0
        self.add(
            RangeSums(
                positives=p,
                negatives=q,
                twice_wins=p * q,
                precision_sum=precision,
                squares_below=0.0,
                squares_above=0.0,
            )
        )

    def sums(self) -> RankSums:
        """Return the sums over all rows."""
        n, m = self.n, self.m
        if n == 0 or m == 0:
            return no_sums(n, m)
        twice_wins = sum(wins for _, wins, _ in self._of_positives)
        return RankSums(
            positives=n,
            negatives=m,
            twice_wins=twice_wins,
            precision_sum=math.fsum(self._precision),
            positive_placement_ss=_all_squares(self._of_positives, n, twice_wins) / (4 * m * m),
            negative_placement_ss=_all_squares(self._of_negatives, m, twice_wins) / (4 * n * n),
        )


def sum_range_counts(positives: CountArray, negatives: CountArray, above: tuple[int, int] = (0, 0)) -> RangeSums:
    """Return the sums of a range from the counts at its ascending scores; `above` are the rows of higher scores."""
    n, m = int(positives.sum()), int(negatives.sum())
    below = 2 * np.cumsum(negatives) - negatives
    higher = 2 * (n - np.cumsum(positives)) + positives
    true_positives = above[0] + n - np.cumsum(positives) + positives
    false_positives = above[1] + m - np.cumsum(negatives) + negatives
    precision = true_positives / np.maximum(true_positives + false_positives, 1)
    twice_wins = exact_dot(positives, below)
    centres = [round(twice_wins / count) if count else 0 for count in (n, m)]
    squares = [
        float(np.sum(counts * (ranks - centre).astype(np.float64) ** 2))
        for counts, ranks, centre in ((positives, below, centres[0]), (negatives, higher, centres[1]))
    ]
    return RangeSums(
        positives=n,
        negatives=m,
        twice_wins=twice_wins,
        precision_sum=float(np.sum(positives * precision)),
        squares_below=about_mean(squares[0], twice_wins, n, centres[0]),
        squares_above=about_mean(squares[1], twice_wins, m, centres[1]),
    )


def about_mean(squares: float | int, total: int, count: int, centre: int = 0) -> float:
    """Return squares about the mean, given those about a whole number, which is best near the mean.

    `total` is the sum of `count` values. Whole squares give the exact result, rounded once.
    """
    if not count:
        return 0.0
    return max(0.0, float(Fraction(squares) - Fraction((total - count * centre) ** 2, count)))


def _all_squares(ranges: list[tuple[int, int, float]], count: int, total: int) -> float:
    """Return squares about the mean of all, given those about the mean of each range."""
    between = ((count * part - size * total, size) for size, part, _ in ranges if size)
    return math.fsum(
        [squares for _, _, squares in ranges]
        + [float(Fraction(far * far, size * count * count)) for far, size in between]
    )
