"""Attack on the label of one missing row by somebody who knows all others and a number of all rows.

Boyd, Lantz & Page (2015), section 3.1, try the missing row at every place in the ranking with either class. This module
also has the stronger adversary who knows the row's score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.attacks.disclosure import Window
from confide.attacks.numbers import check_metric, checked_rows, exact_number, gap_to, has_number
from confide.attacks.one_row.rows import with_row
from confide.counts import ScoreCounts
from confide.errors import OneClassError
from confide.metrics.ranking import twice_wins


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelGuess:
    """Conclusion from a number about one row's label.

    `positive` is the guess, None where both classes fit equally well. `belief` is the share of positive candidates
    among the nearest ones, with all candidates equally likely. `certain`: only one class can give the published number.
    `nearest` counts those candidates by class, positive first.
    """

    positive: bool | None
    belief: float
    certain: bool
    nearest: tuple[int, int]

    @classmethod
    def among(cls, positives: int, negatives: int, *, fits: bool) -> LabelGuess:
        """Return the guess from the number of nearest candidates of each class; `fits` if the window holds them."""
        guess = None if positives == negatives else positives > negatives
        return cls(
            positive=guess,
            belief=positives / (positives + negatives),
            certain=fits and 0 in (positives, negatives),
            nearest=(positives, negatives),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "positive": self.positive,
            "belief": self.belief,
            "certain": self.certain,
            "nearest": list(self.nearest),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Every AUC that all rows can have, given all rows but one: the missing row at each place with each class.

    Places are those between, below and above the known distinct scores, and those tied with each. Twice the wins of
    each candidate, ascending, and the denominator that makes them AUCs; a class that leaves only one class in the
    data has none.
    """

    known: ScoreCounts = field(repr=False)

    def __post_init__(self) -> None:
        checked_rows(self.known)

    @cached_property
    def positive(self) -> tuple[NDArray[np.int64], int]:
        """Return the candidates if the row is positive: it wins against negatives below it."""
        pairs = (self._sizes[0] + 1) * self._sizes[1]
        return self._wins + _passed(self.known.negatives), 2 * pairs

    @cached_property
    def negative(self) -> tuple[NDArray[np.int64], int]:
        """Return the candidates if the row is negative: positives above it win."""
        pairs = self._sizes[0] * (self._sizes[1] + 1)
        return self._wins + _passed(self.known.positives[::-1]), 2 * pairs

    @property
    def _sizes(self) -> tuple[int, int]:
        return int(self.known.total_positives), int(self.known.total_negatives)

    @cached_property
    def _wins(self) -> int:
        return int(twice_wins(self.known))

    def nearest(self, window: Window) -> LabelGuess:
        """Guess the class with the candidate nearest to the window; among equally near ones the more frequent class."""
        found = [_nearest(twice, whole, window) for twice, whole in (self.positive, self.negative) if whole]
        if not found:
            raise OneClassError("an AUC needs two rows at least; give at least one known row")
        least = min(distance for distance, _ in found)
        number = [count if distance == least else 0 for distance, count in found]
        if len(found) == 1:  # the other class would leave one class only
            number.insert(0 if self.positive[1] == 0 else 1, 0)
        return LabelGuess.among(number[0], number[1], fits=least == 0)


def missing_label(known: ScoreCounts, window: Window) -> LabelGuess:
    """Guess the label of the one row that is not known, whose score is not known either, from the AUC of all rows.

    Takes time proportional to the rows. Comparisons are exact: AUCs are ratios of integers and the window's ends are
    fractions.

    >>> known = ScoreCounts.from_arrays([0, 1, 1], [0.1, 0.8, 0.4])
    >>> missing_label(known, Window.written("3/4")).positive
    False
    """
    return Candidates(known=known).nearest(window)


def _passed(others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Twice the wins over the other class at each place, from the one with none to the one with all; ties as half."""
    through = 2 * np.concatenate(([0], np.cumsum(others)))
    tied = through[:-1] + others
    places = np.empty(2 * others.size + 1, dtype=np.int64)
    places[0::2], places[1::2] = through, tied
    return places


def _nearest(twice: NDArray[np.int64], whole: int, window: Window) -> tuple[Fraction, int]:
    """Return how far the nearest of ascending candidates is from the window, and how many are as near."""
    low, high = window.lower * whole, window.upper * whole
    first = int(np.searchsorted(twice, min(max(math.ceil(low), 0), whole + 1), "left"))
    last = int(np.searchsorted(twice, min(max(math.floor(high), -1), whole), "right"))
    if first < last:
        return Fraction(0), last - first
    beside = {int(twice[k]) for k in (first - 1, first) if 0 <= k < twice.size}
    gaps = {value: max(low - value, value - high) / whole for value in beside}
    least = min(gaps.values())
    return least, sum(int(np.count_nonzero(twice == value)) for value, gap in gaps.items() if gap == least)


def label_of_score(known: ScoreCounts, score: float, metric: str, window: Window) -> LabelGuess:
    """Guess the label of a row whose score is known, from a metric of all rows: two candidates, the nearer one.

    >>> known = ScoreCounts.from_arrays([0, 1, 1], [0.1, 0.8, 0.4])
    >>> label_of_score(known, 0.6, "auc", Window.written("0.75")).to_dict()
    {'positive': False, 'belief': 0.0, 'certain': True, 'nearest': [0, 1]}
    """
    worlds = [with_row(known, score, positive) for positive in (True, False)]
    check_metric(worlds[0], metric)
    gaps = [gap_to(exact_number(world, metric), window) if has_number(world, metric) else math.inf for world in worlds]
    least = min(gaps)
    if least == math.inf:
        raise OneClassError("neither label gives data with such a metric; give at least one known row of each class")
    return LabelGuess.among(int(gaps[0] == least), int(gaps[1] == least), fits=least == 0)
