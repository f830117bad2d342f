"""The minimum-cell rule: what leaves, what it gives away, and what is read of it."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from confide.counts import ScoreCounts
from confide.errors import DataError, ParameterError
from confide.federation.tables import DisclosedTable, disclosed, grouped, grouped_counts, pair_bounds
from confide.grid import Grid
from confide.metrics.ranking import twice_wins

GRID = Grid.uniform(20)
Table = tuple[int, ...]


def counted(seed: int, size: int = 80) -> ScoreCounts:
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < 0.4).astype(np.int64)
    labels[:12] = [0, 1] * 6
    return ScoreCounts.from_arrays(labels, np.clip(rng.beta(2, 3, size) + 0.2 * labels, 0.0, 1.0))


def every_table(cells: int, most: int, least: int) -> Iterator[Table]:
    """All counts of one class in so many cells."""
    for table in itertools.product(range(most + 1), repeat=cells):
        if least <= sum(table) <= most:
            yield table


def given_away(tables: Iterable[Table], message: Callable[[Table], Hashable], minimum: int) -> int:
    """How many tables have a cell with 1 to q - 1 rows that whoever sees the message knows."""
    alike: dict[Hashable, list[Table]] = defaultdict(list)
    for table in tables:
        alike[message(table)].append(table)
    found = 0
    for same in alike.values():
        known = [set(values) for values in zip(*same, strict=True)]
        if any(len(values) == 1 and 1 <= min(values) < minimum for values in known):
            found += len(same)
    return found


def groups_of(minimum: int) -> Callable[[Table], Hashable]:
    return lambda table: grouped(np.array(table), minimum)


def suppressed(minimum: int) -> Callable[[Table], Hashable]:
    """The broken twin: small cells are left out, but the total is published."""
    return lambda table: (sum(table), *(None if 0 < count < minimum else count for count in table))


SIZES = [(2, 4, 8), (2, 6, 6), (3, 4, 10), (4, 3, 14), (5, 3, 17)]


@pytest.mark.parametrize(("minimum", "cells", "most"), SIZES)
def test_no_small_cell_is_known_from_groups(minimum: int, cells: int, most: int) -> None:
    tables = list(every_table(cells, most, minimum))
    assert given_away(tables, groups_of(minimum), minimum) == 0


@pytest.mark.parametrize(("minimum", "cells", "most"), SIZES)
def test_plain_suppression_gives_small_cells_away(minimum: int, cells: int, most: int) -> None:
    tables = list(every_table(cells, most, minimum))
    assert given_away(tables, suppressed(minimum), minimum) > len(tables) / 4


def test_what_groups_still_say() -> None:
    """The last cell of a group that is not the topmost is known to hold a row, and never more than that many."""
    alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Table]] = defaultdict(list)
    for table in every_table(4, 9, 3):
        alike[grouped(np.array(table), 3)].append(table)
    for (starts, counts), same in alike.items():
        for start, end, count in zip(starts, starts[1:], counts, strict=False):
            closing = {table[end - 1] for table in same}
            assert closing == ({count} if end - start == 1 else set(range(count - 2, count + 1)))


def test_a_sites_exact_auc_beside_its_groups_would_give_small_cells_away() -> None:
    """Why it is not sent: where scores take few values, it settles what groups leave open."""
    tables = list(every_table(3, 4, 2))

    def message(both: Table) -> Hashable:
        ours, theirs = np.array(both[:3]), np.array(both[3:])
        used = ours + theirs > 0
        counts = ScoreCounts(np.arange(3.0)[used], ours[used], theirs[used])
        return grouped(ours, 2), grouped(theirs, 2), twice_wins(counts)

    pairs = [ours + theirs for ours in tables for theirs in tables]
    assert given_away(pairs, lambda both: message(both)[:2], 2) == 0  # type: ignore[index]
    assert given_away(pairs, message, 2) > 0


@pytest.mark.parametrize(("minimum", "cells", "most"), SIZES)
def test_sums_and_squares_of_each_group_would_give_small_cells_away(minimum: int, cells: int, most: int) -> None:
    """Why they are not sent: with scores on the cells' edges they settle nearly all that groups leave open."""
    tables = list(every_table(cells, most, minimum))
    small = sum(any(0 < count < minimum for count in table) for table in tables)

    def message(table: Table) -> Hashable:
        starts, counts = grouped(np.array(table), minimum)
        moments = [[count * at**power for at, count in enumerate(table)] for power in (1, 2)]
        return starts, counts, *(tuple(np.add.reduceat(moment, starts).tolist()) for moment in moments)

    assert given_away(tables, message, minimum) > small / 2


@pytest.mark.parametrize("seed", range(5))
def test_groups_by_definition(seed: int) -> None:
    counts = counted(seed)
    table = disclosed(counts, GRID, 5)
    for side, groups in ((counts.positives, table.positives), (counts.negatives, table.negatives)):
        cells = GRID.cells(counts.scores)
        assert min(groups.counts) >= 5
        assert groups.starts[0] == 0
        for start, end, count in zip(groups.starts, groups.ends(len(GRID)), groups.counts, strict=True):
            assert count == side[(cells >= start) & (cells < end)].sum()
            if end < len(GRID):  # no group could have been closed earlier
                assert side[(cells >= start) & (cells < end - 1)].sum() < 5
    assert set(table.to_dict()) == {"positives", "negatives", "score_sum", "squared_error"}
    assert set(table.positives.to_dict()) == {"starts", "counts"}
    assert table.expected == table.score_sum == round(np.dot(counts.positives + counts.negatives, counts.scores))
    errors = np.dot(counts.positives, (1 - counts.scores) ** 2) + np.dot(counts.negatives, counts.scores**2)
    assert table.squared_error == round(errors)


def test_the_grid_decides_what_is_summed() -> None:
    """Beyond [0, 1] there are no squared errors, and scores are summed in widths of the grid."""
    grid, counts = Grid.uniform(20, -8.0, 8.0), counted(1)
    table = disclosed(counts, grid, 5)
    total = float(np.dot(counts.positives + counts.negatives, counts.scores))
    assert table.squared_error is None
    assert table.score_sum == round((total + 8.0 * table.rows) / 16.0)
    assert table.expected == pytest.approx(total, abs=8.0)
    plain = table.to_dict()
    assert set(plain) == {"positives", "negatives", "score_sum"}
    assert DisclosedTable.from_dict(plain, grid=grid, minimum=5) == table
    with pytest.raises(DataError):
        DisclosedTable.from_dict({**plain, "squared_error": 3}, grid=grid, minimum=5)


def test_a_class_with_too_few_rows_lets_nothing_leave() -> None:
    counts = ScoreCounts.from_arrays([1] * 4 + [0] * 37, np.linspace(0, 1, 41))
    for make in (disclosed, grouped_counts):
        with pytest.raises(DataError, match="rule of at least 5 rows") as raised:
            make(counts, GRID, 5)
        assert "4" not in str(raised.value)
        assert "37" not in str(raised.value)


@pytest.mark.parametrize("minimum", [0, -3, 2.0, True, "5"])
def test_a_bad_minimum_is_refused(minimum: Any) -> None:
    with pytest.raises(ParameterError, match="minimum"):
        disclosed(counted(0), GRID, minimum)


@pytest.mark.parametrize("seed", range(3))
def test_moved_rows_are_in_groups_too(seed: int) -> None:
    counts = counted(seed)
    moved = grouped_counts(counts, GRID, 5)
    assert moved.sum(axis=1).tolist() == [counts.total_positives, counts.total_negatives]
    assert set(moved[moved > 0].tolist()) <= set(range(5, 100))
    scores = [np.repeat(counts.scores, side) for side in (counts.positives, counts.negatives)]
    for side, own in zip(moved, scores, strict=True):
        assert np.dot(side, GRID.representatives) / side.sum() == pytest.approx(own.mean(), abs=0.5 / len(GRID))


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_and_are_reached_when_cells_are_alone(seed: int) -> None:
    counts = counted(seed)
    table = disclosed(counts, GRID, 5)
    sure, open_pairs = pair_bounds(table.positives, table.negatives, len(GRID))
    wins = twice_wins(counts) / 2
    assert sure <= wins <= sure + open_pairs
    ours = [
        (s, e, c)
        for s, e, c in zip(table.positives.starts, table.positives.ends(20), table.positives.counts, strict=True)
    ]
    theirs = [
        (s, e, c)
        for s, e, c in zip(table.negatives.starts, table.negatives.ends(20), table.negatives.counts, strict=True)
    ]
    by_hand = sum(c * d for s, _, c in ours for _, f, d in theirs if s >= f)
    possible = sum(c * d for _, e, c in ours for t, _, d in theirs if t < e)
    assert (sure, sure + open_pairs) == (by_hand, possible)


def test_the_wire_keeps_everything() -> None:
    table = disclosed(counted(2), GRID, 5)
    plain = json.loads(json.dumps(table.to_dict()))
    assert DisclosedTable.from_dict(plain, grid=GRID, minimum=5, site="North") == table


def changed(path: tuple[Any, ...], value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(plain: dict[str, Any]) -> Any:
        inner: Any = plain
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        return plain

    return change


GARBAGE: list[Callable[[dict[str, Any]], Any]] = [
    lambda plain: None,
    lambda plain: [],
    lambda plain: "positives",
    lambda plain: {},
    lambda plain: {**plain, "more": 1},
    lambda plain: {key: value for key, value in plain.items() if key != "negatives"},
    lambda plain: {**plain, "auc": 0.7},
    changed(("positives",), []),
    changed(("positives", "counts"), []),
    changed(("positives", "counts", 0), 4),
    changed(("positives", "counts", 0), 5.0),
    changed(("positives", "counts", 0), True),
    changed(("positives", "counts", 0), 10**30),
    changed(("positives", "counts"), {"0": 5}),
    changed(("positives", "starts", 0), 1),
    changed(("positives", "starts", 1), 0),
    changed(("positives", "starts", -1), 20),
    changed(("positives", "starts", 1), 1.5),
    changed(("positives", "starts"), list(range(21))),
    changed(("positives", "counts"), [5]),
    changed(("positives", "sums"), [1.0]),
    changed(("score_sum",), 1e9),
    changed(("score_sum",), 30.0),
    changed(("score_sum",), True),
    changed(("score_sum",), None),
    changed(("score_sum",), -1),
    changed(("score_sum",), 81),
    changed(("score_sum",), 10**400),
    changed(("squared_error",), None),
    changed(("squared_error",), 0.2),
    changed(("squared_error",), 0),
    changed(("squared_error",), 80),
    changed(("squared_error",), float("nan")),
    changed(("negatives", "extra"), []),
]


@pytest.mark.parametrize("spoil", GARBAGE)
def test_garbage_is_refused_naming_the_site_only(spoil: Callable[[dict[str, Any]], Any]) -> None:
    plain = spoil(disclosed(counted(2), GRID, 5).to_dict())
    with pytest.raises(DataError) as raised:
        DisclosedTable.from_dict(plain, grid=GRID, minimum=5, site="North")
    message = str(raised.value)
    assert message.startswith("the answer of site 'North' is not a table of groups as asked for")
    assert not any(digit in message for digit in "0123456789")
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_groups_for_a_smaller_minimum_are_refused() -> None:
    plain = disclosed(counted(2), GRID, 3).to_dict()
    with pytest.raises(DataError, match="a site is not a table"):
        DisclosedTable.from_dict(plain, grid=GRID, minimum=5)
