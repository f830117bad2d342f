"""Whether sums of scores beside groups give small cells away, for an attacker who knows which scores there can be.

Every score stands on the lower edge of its cell, as scores with few decimals do: the worst case. For one table the
attack goes through all others that have its groups, one group at a time: what matters of a group is how far its
tables move the two sums, so what several groups can do together is a set of pairs of whole numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.counts import ScoreCounts
from confide.federation.tables import disclosed, grouped
from confide.grid import Grid

MINIMUM = 5
Integers = NDArray[np.int64]
Window = tuple[tuple[float, float], tuple[float, float]]


def ways(cells: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All ways to have so many rows in so many cells."""
    if cells == 0:
        yield from [()] if rows == 0 else []
        return
    for first in [rows] if cells == 1 else range(rows + 1):
        for rest in ways(cells - 1, rows - first):
            yield (first, *rest)


def tables_of_group(cells: int, rows: int, top: bool) -> Integers:
    """All counts that end up as one group: few rows, the cell that closes it, and few rows after it at the top."""
    found = []
    for closing in range(cells) if top else [cells - 1]:
        for before, after in itertools.product(range(MINIMUM), repeat=2):
            here = rows - before - after
            if here < max(1, MINIMUM - before):
                continue
            pairs = itertools.product(ways(closing, before), ways(cells - closing - 1, after))
            found += [(*low, here, *high) for low, high in pairs]
    return np.unique(np.array(found), axis=0)


@dataclass(frozen=True)
class Open:
    """A group of several cells: what it is, what else it could be, and by how much each changes the sums."""

    truth: Integers
    tables: Integers
    moves: Integers


def open_groups(both: Integers) -> list[Open]:
    """Sums are counted in whole units: a cell's width for scores, its square for errors."""
    cells, found = both.shape[1], []
    for positive, side in zip((True, False), both, strict=True):
        starts, counts = grouped(side, MINIMUM)
        for start, end, count in zip(starts, (*starts[1:], cells), counts, strict=True):
            if end - start > 1:
                at = np.arange(start, end)
                values = np.stack((at, (cells - at) ** 2 if positive else at**2), axis=1)
                tables, truth = tables_of_group(end - start, count, start == starts[-1]), side[start:end]
                assert (tables == truth).all(axis=1).any()
                found.append(Open(truth, tables, (tables - truth) @ values))
    return found


def given_away(both: Integers, unseen: Callable[[Integers], Window]) -> tuple[int, int]:
    """How many cells have 1 to q - 1 rows, and how many of these are the same in all tables with this message."""
    groups = open_groups(both)
    sizes: Integers = np.array([len(group.tables) for group in groups])
    (low_a, high_a), (low_b, high_b) = unseen(both)

    def alike(moves: Integers) -> bool:
        a, b = moves.T
        return bool(((a >= low_a) & (a < high_a) & (b >= low_b) & (b < high_b)).any())

    small = known = 0
    for place, group in enumerate(groups):
        for cell in np.flatnonzero((group.truth > 0) & (group.truth < MINIMUM)):
            small += 1
            reached = np.unique(group.moves[group.tables[:, cell] != group.truth[cell]], axis=0)
            others = [groups[other] for other in np.argsort(sizes, kind="stable") if other != place]
            while not alike(reached) and others:
                reached = together(reached, others.pop(0).moves)
            known += not alike(reached)
    return small, known


def together(one: Integers, two: Integers) -> Integers:
    other = np.unique(two, axis=0)
    assert len(one) * len(other) < 6_000_000, "choose smaller tables"
    joined: Integers = np.unique((one[:, None] + other[None]).reshape(-1, 2), axis=0)
    return joined


def exact(both: Integers) -> Window:
    """The broken twin: with exact sums only tables that move neither have the same message."""
    return (0, 1), (0, 1)


def rounded(both: Integers) -> Window:
    """How far sums may move until the whole numbers that are sent change; halves are rounded up."""
    cells = both.shape[1]
    at = np.arange(cells)
    sums = int(both.sum(axis=0) @ at), int(both[0] @ (cells - at) ** 2 + both[1] @ at**2)
    sent = disclosed(counts_of(both), Grid.uniform(cells), MINIMUM)
    assert sent.squared_error is not None
    ends = zip(sums, (cells, cells**2), (sent.score_sum, sent.squared_error), strict=True)
    score, error = (((value - 0.5) * unit - total, (value + 0.5) * unit - total) for total, unit, value in ends)
    assert score[0] <= 0 < score[1]
    assert error[0] <= 0 < error[1]
    return score, error


def counts_of(both: Integers) -> ScoreCounts:
    cells = both.shape[1]
    used = both.sum(axis=0) > 0
    return ScoreCounts(Grid.uniform(cells).edges[:-1][used], both[0, used], both[1, used])


def drawn(rng: np.random.Generator, cells: int, positives: int, negatives: int) -> Integers:
    scores = rng.beta(3, 3, positives), rng.beta(2, 4, negatives)
    found: Integers = np.stack([np.bincount((side * cells).astype(int), minlength=cells) for side in scores])
    return found


def searched(tables: list[Integers], unseen: Callable[[Integers], Window]) -> tuple[int, int]:
    small, known = np.sum([given_away(both, unseen) for both in tables], axis=0).tolist()
    return small, known


@pytest.mark.parametrize(
    ("cells", "positives", "negatives", "sites", "least_known"),
    [(10, 300, 1000, 100, 0.8), (20, 1000, 4000, 40, 0.5), (100, 50_000, 200_000, 4, 0.0)],
)
def test_rounded_sums_hide_at_large_sites_what_exact_ones_give_away(
    cells: int, positives: int, negatives: int, sites: int, least_known: float
) -> None:
    rng = np.random.default_rng(1)
    tables = [drawn(rng, cells, positives, negatives) for _ in range(sites)]
    small, known = searched(tables, rounded)
    assert small > 10
    assert known == 0
    if least_known:
        assert searched(tables, exact)[1] > least_known * small


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("cells", "positives", "negatives", "sites"),
    [(10, 5, 5, 40), (10, 12, 38, 20), (10, 50, 150, 60), (20, 50, 150, 20)],
)
def test_rounded_sums_hide_small_cells_of_small_sites(cells: int, positives: int, negatives: int, sites: int) -> None:
    rng = np.random.default_rng(2)
    small, known = searched([drawn(rng, cells, positives, negatives) for _ in range(sites)], rounded)
    assert small > 2 * sites
    assert known == 0


def test_a_single_open_group_can_still_be_given_away() -> None:
    """What rounding does not promise: with one small cell and few values, some are known, with exact sums all."""
    rng = np.random.default_rng(0)
    tables = []
    for _ in range(300):
        both = rng.integers(5, 200, (2, 10))
        both.ravel()[rng.integers(20)] = rng.integers(1, 5)
        tables.append(both)
    assert searched(tables, exact) == (300, 300)
    small, known = searched(tables, rounded)
    assert small == 300
    assert 0 < known < 0.1 * small


@dataclass(frozen=True)
class Move:
    """One row moved within its group, which stays as it is, and by how much that changes the sums."""

    group: tuple[int, int]
    cells: tuple[tuple[int, int], tuple[int, int]]
    by: tuple[int, int]


def moves(both: Integers) -> Iterator[Move]:
    cells = both.shape[1]
    at = np.arange(cells)
    for side, values in enumerate(((cells - at) ** 2, at**2)):
        kept = grouped(both[side], MINIMUM)
        member = np.searchsorted(kept[0], at, side="right") - 1
        for source, target in itertools.permutations(range(cells), 2):
            if both[side, source] == 0 or member[source] != member[target]:
                continue
            other = both[side].copy()
            other[[source, target]] += (-1, 1)
            if grouped(other, MINIMUM) == kept:
                by = target - source, int(values[target] - values[source])
                yield Move((side, int(member[source])), ((side, source), (side, target)), by)


def hidden(both: Integers, unseen: Callable[[Integers], Window]) -> set[tuple[int, int]]:
    """Cells that are otherwise in a table with the same message: one row moved, or one in each of two groups."""
    (low_a, high_a), (low_b, high_b) = unseen(both)
    single = list(moves(both))
    by: Integers = np.array([move.by for move in single])
    group: Integers = np.array([move.group for move in single])
    found: set[tuple[int, int]] = set()
    for move in single:
        if set(move.cells) <= found:
            continue
        elsewhere = by[(group != move.group).any(axis=1)]
        a, b = (np.concatenate(([[0, 0]], elsewhere)) + move.by).T
        if ((a >= low_a) & (a < high_a) & (b >= low_b) & (b < high_b)).any():
            found.update(move.cells)
    return found


@pytest.mark.parametrize(("positives", "negatives", "sites"), [(5, 5, 10), (38, 12, 10), (40, 160, 5), (200, 800, 5)])
def test_scores_with_two_decimals_on_the_default_grid(positives: int, negatives: int, sites: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(sites):
        both = drawn(rng, 100, positives, negatives)
        small = {(int(side), int(cell)) for side, cell in np.argwhere((both > 0) & (both < MINIMUM))}
        assert small
        assert small <= hidden(both, rounded)
