"""Every small dataset and all its neighbours, to check by enumeration what the proofs say in general.

To a metric of ranks a dataset is a sequence of tie groups in ascending order of score, each a pair of numbers
`(positives, negatives)`. Values are computed here by definition, in fractions, and share nothing with the
mechanisms. For metrics that see scores themselves a dataset is a sorted tuple of rows `(label, score)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import TypeAlias

from confide.audits.subject import counted
from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery

Group: TypeAlias = tuple[int, int]
Ranking: TypeAlias = tuple[Group, ...]
Row: TypeAlias = tuple[int, float]
Table: TypeAlias = tuple[Row, ...]
Sizes: TypeAlias = tuple[int, int]


def rankings(rows: int, *, ties: bool = True) -> Iterator[Ranking]:
    """All datasets with so many rows: 2^N without ties.

    >>> sum(1 for _ in rankings(9, ties=False)), sum(1 for _ in rankings(9))
    (512, 38048)
    """
    if rows == 0:
        yield ()
        return
    for size in range(1, rows + 1) if ties else (1,):
        for positives in range(size + 1):
            for rest in rankings(rows - size, ties=ties):
                yield ((positives, size - positives), *rest)


def sizes(ranking: Ranking) -> Sizes:
    """The number of positives and of negatives."""
    return sum(group[0] for group in ranking), sum(group[1] for group in ranking)


@cache
def insertions(ranking: Ranking, label: int, *, ties: bool = True) -> tuple[Ranking, ...]:
    """All datasets with one more row of a class: between two groups, or in one."""
    alone = (1, 0) if label else (0, 1)
    between = [(*ranking[:k], alone, *ranking[k:]) for k in range(len(ranking) + 1)]
    within = [(*ranking[:k], (p + alone[0], q + alone[1]), *ranking[k + 1 :]) for k, (p, q) in enumerate(ranking)]
    return tuple(dict.fromkeys(between + within if ties else between))


def flips(ranking: Ranking) -> Iterator[Ranking]:
    """All datasets in which one label is the other one."""
    for k, (p, q) in enumerate(ranking):
        if p:
            yield (*ranking[:k], (p - 1, q + 1), *ranking[k + 1 :])
        if q:
            yield (*ranking[:k], (p + 1, q - 1), *ranking[k + 1 :])


def twice_rank_sum(ranking: Ranking) -> int:
    """Pairs ranked right minus pairs ranked wrong."""
    return sum(
        p * q * ((i > j) - (i < j)) for i, (p, _) in enumerate(ranking) for j, (_, q) in enumerate(ranking) if i != j
    )


@cache
def auc(ranking: Ranking) -> Fraction:
    """The share of pairs ranked right, ties as half; 1/2 where a class is absent."""
    positives, negatives = sizes(ranking)
    pairs = positives * negatives
    return Fraction(1, 2) + Fraction(twice_rank_sum(ranking), 2 * pairs) if pairs else Fraction(1, 2)


@cache
def average_precision(ranking: Ranking) -> Fraction:
    """The mean precision at each positive from the top, tied negatives first; 0 without positives."""
    precisions = []
    seen = above = 0
    for positives, negatives in reversed(ranking):
        above += negatives
        for _ in range(positives):
            seen += 1
            precisions.append(Fraction(seen, seen + above))
    return sum(precisions, Fraction(0)) / len(precisions) if precisions else Fraction(0)


def local_sensitivities(
    value: Callable[[Ranking], Fraction], rows: int, neighbours: Neighbours, *, ties: bool = True
) -> dict[Sizes, Fraction]:
    """For every pair of class sizes with so many rows, the most that any neighbour's value differs.

    Datasets that arise from one by inserting a row are all neighbours under replace-one: their
    extremes suffice.
    """
    largest: dict[Sizes, Fraction] = {}

    def note(ranking: Ranking, others: Iterable[Fraction]) -> None:
        here = value(ranking)
        change = max((abs(here - other) for other in others), default=Fraction(0))
        key = sizes(ranking)
        largest[key] = max(largest.get(key, Fraction(0)), change)

    if neighbours == Neighbours.LABEL_ONLY:
        for ranking in rankings(rows, ties=ties):
            note(ranking, map(value, flips(ranking)))
        return largest
    if rows:
        for fewer in rankings(rows - 1, ties=ties):
            together = [more for label in (0, 1) for more in insertions(fewer, label, ties=ties)]
            values = [value(more) for more in together]
            others = (min(values), max(values)) if neighbours == Neighbours.REPLACE_ONE else (value(fewer),)
            for more in together:
                note(more, others)
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        for ranking in rankings(rows, ties=ties):
            note(ranking, (value(more) for label in (0, 1) for more in insertions(ranking, label, ties=ties)))
    return largest


def largest_rank_sum_loss(
    query: Callable[[Ranking], IntegerQuery], rows: int, neighbours: Neighbours, *, ties: bool = True
) -> Fraction:
    """The largest loss of a query for `(2W, n)` over all neighbours of all datasets with so many rows."""
    if neighbours == Neighbours.LABEL_ONLY:
        return max(
            loss(query(ranking), query(other)) for ranking in rankings(rows, ties=ties) for other in flips(ranking)
        )
    largest = Fraction(0)
    for fewer in rankings(rows - 1, ties=ties):
        extremes = []
        for label in (0, 1):  # n is the same for all insertions of one class, so extremes of 2W suffice
            asked = [query(more) for more in insertions(fewer, label, ties=ties)]
            extremes += [min(asked, key=_first), max(asked, key=_first)]
        largest = max(largest, *(loss(first, second) for first in extremes for second in extremes))
    return largest


def _first(query: IntegerQuery) -> int:
    return query.values[0]


def tables(kinds: Sequence[Row], rows: int) -> Iterator[Table]:
    """All datasets of so many rows of these kinds."""
    yield from combinations_with_replacement(sorted(kinds), rows)


def table_neighbours(table: Table, kinds: Sequence[Row], neighbours: Neighbours) -> Iterator[Table]:
    """All neighbours of a dataset, with rows of these kinds."""
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        yield from (tuple(sorted((*table, row))) for row in kinds)
    for k, (label, score) in enumerate(table):
        rest = (*table[:k], *table[k + 1 :])
        if neighbours == Neighbours.ADD_REMOVE_ONE:
            yield rest
        elif neighbours == Neighbours.LABEL_ONLY:
            yield tuple(sorted((*rest, (1 - label, score))))
        else:
            yield from (tuple(sorted((*rest, row))) for row in kinds)


def loss(first: IntegerQuery, second: IntegerQuery) -> Fraction:
    """The most by which Laplace noise on two neighbours' integers tells them apart: `sum |difference| / scale`.

    Both must ask for as many integers with the same scales: those are public.
    """
    _check_alike(first, second, "laplace")
    return sum(
        (abs(a - b) / scale for a, b, scale in zip(first.values, second.values, first.scales, strict=True)),
        Fraction(0),
    )


def concentrated_loss(first: IntegerQuery, second: IntegerQuery) -> Fraction:
    """The rho of Gaussian noise on two neighbours' integers: `sum difference^2 / (2 scale^2)`."""
    _check_alike(first, second, "gaussian")
    return sum(
        ((a - b) ** 2 / (2 * scale**2) for a, b, scale in zip(first.values, second.values, first.scales, strict=True)),
        Fraction(0),
    )


def _check_alike(first: IntegerQuery, second: IntegerQuery, family: str) -> None:
    if first.scales != second.scales or len(first.values) != len(second.values):
        raise ParameterError("neighbours are asked for different integers, or with different scales")
    if {first.family, second.family} != {family}:
        raise ParameterError(f"the noise must be {family} for both")


def ranking_counts(ranking: Ranking) -> ScoreCounts:
    """The dataset as the mechanisms take it, with scores 1, 2, ..."""
    return counted(
        (label, float(score))
        for score, group in enumerate(ranking, start=1)
        for label in (0, 1)
        for _ in range(group[1 - label])
    )
