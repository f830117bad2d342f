"""Scores of rows by their place among the distinct ones: what paired comparisons need beside counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from confide.counts import ScoreCounts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodedScores:
    """Counts of whole rows, and two whole numbers of each row.

    `codes` is the place of its score among the distinct scores. `components` is, for a positive, twice the number of
    negatives below it and once that of those tied with it; for a negative it likewise counts the positives above.
    """

    counts: ScoreCounts
    codes: NDArray[Any]
    components: NDArray[Any]

    def __repr__(self) -> str:
        return "CodedScores(<private>)"
