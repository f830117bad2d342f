"""What is audited: how to draw releases of a dataset, what they promise, and neighbours to tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ConfideError
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery, RealQuery

Query: TypeAlias = IntegerQuery | RealQuery
Queries: TypeAlias = Callable[[ScoreCounts], tuple[Query, ...]]
"""What a release asks of a dataset; all of it is shown."""

Sampler: TypeAlias = Callable[[ScoreCounts, int], FloatArray]
"""Releases a dataset many times: an output in each row, NaN where there was no answer."""

Pair: TypeAlias = tuple[ScoreCounts, ScoreCounts]

REAL_COST = 10
"""A real number takes as long to draw as this many integers, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mechanism, or a broken twin of one, with its claim and pairs of neighbours that strain it most.

    `cost` is the time of one release in units of one integer's. `proven` holds the functions under
    `confide.privacy.mechanisms` that it draws from, `release` the metric and mechanism of the
    release that shows the same. `wrong` says what is broken in a twin.
    """

    name: str
    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    pairs: tuple[Pair, ...]
    sample: Sampler
    cost: int
    proven: tuple[Callable[..., Any], ...] = ()
    release: tuple[str, str] | None = None
    queries: Queries | None = None
    wrong: str = ""


def drawing(queries: Queries) -> Sampler:
    """Draw everything that is asked of a dataset, side by side; NaN throughout where it is refused."""

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        try:
            asked = queries(counts)
        except ConfideError:
            return np.full((times, 1), np.nan)
        return np.hstack([_columns(query, times) for query in asked])

    return sample


def cost_of(queries: Queries, counts: ScoreCounts) -> int:
    """The time of one release."""
    return sum(len(query.values) if isinstance(query, IntegerQuery) else REAL_COST for query in queries(counts))


def counted(rows: Iterable[tuple[int, float]]) -> ScoreCounts:
    """Count rows given as (label, score)."""
    tally = Counter(rows)
    scores = sorted({score for _, score in tally})
    positives, negatives = ([tally[label, score] for score in scores] for label in (1, 0))
    return ScoreCounts(np.array(scores), np.array(positives, dtype=np.int64), np.array(negatives, dtype=np.int64))


def _columns(query: Query, times: int) -> FloatArray:
    drawn = np.array(query.draw_many(times), dtype=np.float64)
    return drawn.reshape(times, -1)
