"""Hypothesis strategies for rows and counts, shared by the property tests.

Scores are multiples of 1/256, so that reflecting (1 - s), halving and adding them is exact and ties are common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide import ScoreCounts


@dataclass(frozen=True)
class RowTable:
    """Rows as parallel arrays."""

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    weights: NDArray[np.int64]

    def __len__(self) -> int:
        return self.labels.size

    def counts(self) -> ScoreCounts:
        return ScoreCounts.from_arrays(self.labels, self.scores)

    def weighted_counts(self) -> ScoreCounts:
        return ScoreCounts.from_arrays(self.labels, self.scores, self.weights)

    def take(self, chosen: NDArray[np.int64]) -> RowTable:
        return RowTable(self.labels[chosen], self.scores[chosen], self.weights[chosen])


# Odd multiples of 1/256 are inside (0, 1), never 0.5 and never an edge of ten equal bins or of a dyadic grid.
odd_probabilities = st.integers(0, 127).map(lambda k: (2 * k + 1) / 256)
any_scores = st.one_of(
    st.sampled_from([-2.0, -0.0, 0.0, 0.5, 1.0, 1e-300, 1e300]),
    st.floats(min_value=-1e6, max_value=1e6, allow_nan=False),
)


@st.composite
def row_tables(
    draw: st.DrawFn,
    scores: st.SearchStrategy[float] = odd_probabilities,
    *,
    least: int = 2,
    most: int = 20,
    heaviest: int = 4,
) -> RowTable:
    """Draw rows with at least `least` of each class, in any order, with whole weights."""
    positives = draw(st.integers(least, most))
    negatives = draw(st.integers(least, most))
    labels = draw(st.permutations([1] * positives + [0] * negatives))
    size = len(labels)
    return RowTable(
        np.array(labels, dtype=np.int64),
        np.array(draw(st.lists(scores, min_size=size, max_size=size))),
        np.array(draw(st.lists(st.integers(1, heaviest), min_size=size, max_size=size)), dtype=np.int64),
    )


@st.composite
def score_counts(draw: st.DrawFn, scores: st.SearchStrategy[float] = odd_probabilities) -> ScoreCounts:
    """Draw counts of any kind: none, of one class, of both; integers or dyadic float weights."""
    values = sorted(draw(st.lists(scores, unique_by=lambda value: value + 0.0, max_size=12)))
    shares = draw(
        st.lists(
            st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(any),
            min_size=len(values),
            max_size=len(values),
        )
    )
    step = draw(st.sampled_from([1, 0.25]))
    kind = np.int64 if step == 1 else np.float64
    both = (np.array(shares).reshape(-1, 2) * step).astype(kind)
    return ScoreCounts(np.array(values, dtype=np.float64), both[:, 0], both[:, 1])
