"""Subject of an audit: a function that draws releases, the claimed guarantee, and neighbouring datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ConfideError
from confide.grid import Grid
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import (
    SYSTEM_NOISE,
    CutQuery,
    FlipQuery,
    FollowedQuery,
    IntegerQuery,
    Noise,
    RealQuery,
    ThresholdQuery,
    TopQuery,
)

Data = TypeVar("Data")
"""Dataset, of the kind that a mechanism takes."""

Query: TypeAlias = CutQuery | FlipQuery | FollowedQuery | IntegerQuery | RealQuery | ThresholdQuery | TopQuery
Queries: TypeAlias = Callable[[Data], tuple[Query, ...]]
"""Function that returns the queries of a release of a dataset; all answers are shown."""

Sampler: TypeAlias = Callable[[Data, int], FloatArray]
"""Function that releases a dataset many times: one output in each row, NaN where there was no answer."""

Pair: TypeAlias = tuple[Data, Data]
Rows: TypeAlias = list[tuple[int, float]]

REAL_COST = 10
"""Cost of drawing one real number, or one edge of a private grid, in integers, about."""

DELTA = Fraction(1, 10**6)
"""Delta of mechanisms that are not pure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Release in two steps: find a grid, then draw integers on it. Both are shown."""

    find: Callable[[ScoreCounts, Noise], Grid]
    ask: Callable[[ScoreCounts, Grid], IntegerQuery]
    edges: int
    integers: int

    def sample(self, counts: ScoreCounts, times: int, noise: Noise = SYSTEM_NOISE) -> FloatArray:
        """Release a dataset many times."""
        grids = [self.find(counts, noise) for _ in range(times)]
        asked = {grid: self.ask(counts, grid) for grid in dict.fromkeys(grids)}
        drawn = _drawn_together([asked[grid] for grid in grids], noise)
        return np.array([self._shown(grid, integers) for grid, integers in zip(grids, drawn, strict=True)])

    def _shown(self, grid: Grid, drawn: Sequence[int]) -> FloatArray:
        classes = np.array(drawn, dtype=np.float64).reshape(2, -1)
        columns = [_padded(grid.edges[1:-1], self.edges), *(_padded(each, self.integers) for each in classes)]
        return np.concatenate(([float(len(grid))], *columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject(Generic[Data]):
    """Mechanism, or a broken twin of one, with its claim and the pairs of neighbours that are hardest for it."""

    name: str
    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    pairs: tuple[Pair[Data], ...]
    sample: Sampler[Data]
    cost: int
    proven: tuple[Callable[..., Any], ...] = ()
    release: tuple[str, str] | None = None
    queries: Queries[Data] | None = None
    steps: Steps | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    spent: Fraction = Fraction(1)
    wrong: str = ""


def asking(
    name: str,
    neighbours: Neighbours,
    epsilon: Fraction,
    delta: Fraction,
    pairs: tuple[Pair[Data], ...],
    queries: Queries[Data],
    proven: tuple[Callable[..., Any], ...] = (),
    release: tuple[str, str] | None = None,
    **given: Any,
) -> Subject[Data]:
    """Return a subject that draws the queries of a release."""
    return Subject(
        name=name,
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        pairs=pairs,
        sample=drawing(queries),
        cost=cost_of(queries, pairs[0][0]),
        proven=proven,
        release=release,
        queries=queries,
        **given,
    )


def drawing(queries: Queries[Data]) -> Sampler[Data]:
    """Draw all queries of a dataset, side by side; NaN throughout where the release is refused."""

    def sample(data: Data, times: int) -> FloatArray:
        try:
            asked = queries(data)
        except ConfideError:
            return np.full((times, 1), np.nan)
        return np.hstack([_columns(query, times) for query in asked])

    return sample


def cost_of(queries: Queries[Data], data: Data) -> int:
    """Return the time of one release."""
    return sum(map(_cost, queries(data)))


def counted(rows: Iterable[tuple[int, float]]) -> ScoreCounts:
    """Count rows given as (label, score)."""
    tally = Counter(rows)
    scores = sorted({score for _, score in tally})
    positives, negatives = ([tally[label, score] for score in scores] for label in (1, 0))
    return ScoreCounts(np.array(scores), np.array(positives, dtype=np.int64), np.array(negatives, dtype=np.int64))


def differing(common: Rows, ours: Rows, theirs: Rows) -> Pair[ScoreCounts]:
    """Build two datasets that have most rows in common."""
    return counted(common + ours), counted(common + theirs)


def _cost(query: Query) -> int:
    if isinstance(query, IntegerQuery | FlipQuery):
        return len(query.values)
    if isinstance(query, ThresholdQuery):
        return len(query.values) + 1
    if isinstance(query, TopQuery) and query.how == "permute-and-flip":
        return 4 * query.k
    return REAL_COST


def _columns(query: Query, times: int) -> FloatArray:
    if isinstance(query, ThresholdQuery | TopQuery):
        return selected_numbers(query.draw_many(times), len(query.values))
    if isinstance(query, FollowedQuery):  # 0 where no integer follows, which the number before it shows as well
        drawn = [(float(number), *(integers or (0,))) for number, integers in query.draw_many(times)]
        return np.array(drawn, dtype=np.float64)
    return np.array(query.draw_many(times), dtype=np.float64).reshape(times, -1)


def selected_numbers(answers: Sequence[Sequence[int]], width: int) -> FloatArray:
    """Encode the order of the selected features as one number: its digits to the base `width + 1`."""
    numbers = [sum((number + 1) * (width + 1) ** place for place, number in enumerate(answer)) for answer in answers]
    return np.array(numbers, dtype=np.float64)[:, np.newaxis]


def _drawn_together(queries: Sequence[IntegerQuery], noise: Noise) -> list[list[int]]:
    """Draw many queries, those with one scale in one go: asking for noise takes longer than drawing it."""
    drawn: list[list[int]] = [[] for _ in queries]
    kinds: dict[tuple[str, Fraction], list[int]] = {}
    for place, query in enumerate(queries):
        kinds.setdefault((query.family, query.scales[0]), []).append(place)
    for places in kinds.values():
        alike = [queries[place] for place in places]
        together = IntegerQuery(
            values=tuple(value for query in alike for value in query.values),
            scales=tuple(scale for query in alike for scale in query.scales),
            family=alike[0].family,
        )
        answers = iter(together.draw(noise))
        for place, query in zip(places, alike, strict=True):
            drawn[place] = [next(answers) for _ in query.values]
    return drawn


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Return the first values, filled up with zeros."""
    return np.concatenate((values[:width], np.zeros(max(width - values.size, 0))))
