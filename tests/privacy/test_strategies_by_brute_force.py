"""What the proof of private counts takes from strategies, by brute force: every cell, every pair of cells, every table.

Matrices are written down here by definition and share nothing with the code; least squares is NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.audits.subject import counted
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.mechanisms.private_counts import cells_on, concentrated_counts, private_counts
from confide.privacy.mechanisms.strategies import (
    BRANCHINGS,
    FLAT,
    MOST_CELLS,
    Flat,
    Haar,
    PerPoint,
    Strategy,
    Tree,
    best_strategy,
    predicted_error,
    strategy_named,
)
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import IntegerQuery
from tests.audits.exhaustive import table_neighbours, tables

Matrix = NDArray[np.int64]

STRATEGIES: list[Strategy] = [FLAT, Tree(2), Tree(3), Tree(5), Tree(16), Haar(), PerPoint()]
CELLS = [*range(1, 41), 64, 100]
EPSILON, RHO = Fraction(7, 5), Fraction(3, 40)

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
every_relation = pytest.mark.parametrize("neighbours", list(Neighbours))


def intervals(strategy: Strategy, cells: int) -> Iterator[NDArray[Any]]:
    """The integers of a strategy as functions of a cell's number."""
    where = np.arange(cells)
    if isinstance(strategy, Flat):
        yield from (where == cell for cell in where)
    elif isinstance(strategy, Tree):
        size = 1
        while True:
            yield from (where // size == node for node in range(-(-cells // size)))
            size *= strategy.branching
            if size >= cells:
                return
    elif isinstance(strategy, Haar):
        yield np.ones(cells)
        size = 2
        while size < 2 * cells:
            for node in range(-(-_padded(cells) // size)):
                halves = np.where(where % size < size // 2, 1, -1)
                yield np.where(where // size == node, halves, 0)
            size *= 2
    else:
        yield from (where >= cell for cell in where)


def by_definition(strategy: Strategy, cells: int) -> Matrix:
    """An integer in each row, a cell in each column."""
    return np.array([np.asarray(each, dtype=np.int64) for each in intervals(strategy, cells)])


def _padded(cells: int) -> int:
    power = 1
    while power < cells:
        power *= 2
    return power


def proven_levels(strategy: Strategy, cells: int) -> int:
    """How many integers a row takes part in, from the proof's words."""
    if isinstance(strategy, Tree):
        return next(depth for depth in range(1, 99) if strategy.branching**depth >= cells)
    if isinstance(strategy, Haar):
        return 1 + next(depth for depth in range(99) if 2**depth >= cells)
    return cells if isinstance(strategy, PerPoint) else 1


def measured(strategy: Strategy, cells: int) -> Matrix:
    """What a row in each cell (a column) adds to each integer (a row)."""
    return strategy.measure(np.eye(cells, dtype=np.int64)).T


# --- the claim of the proof


@every_strategy
def test_what_is_measured_is_what_is_defined(strategy: Strategy) -> None:
    for cells in CELLS:
        ours, theirs = (
            sorted(map(tuple, each.tolist())) for each in (measured(strategy, cells), by_definition(strategy, cells))
        )
        assert ours == theirs, cells


@every_strategy
def test_a_row_moves_one_integer_of_each_level_by_one(strategy: Strategy) -> None:
    for cells in CELLS:
        added = measured(strategy, cells)
        levels = strategy.levels(cells)
        assert levels == proven_levels(strategy, cells), cells
        assert set(np.unique(added)) <= {-1, 0, 1}, cells
        assert np.count_nonzero(added, axis=0).max() == levels, cells  # no more than levels, and no fewer levels
        if not isinstance(strategy, PerPoint):
            assert np.count_nonzero(added, axis=0).min() == levels, cells


@every_strategy
def test_two_rows_differ_by_at_most_twice_the_levels_also_in_squares(strategy: Strategy) -> None:
    for cells in CELLS:
        added = measured(strategy, cells)
        difference = added[:, :, None] - added[:, None, :]
        bound = 2 * strategy.levels(cells)
        assert np.abs(difference).sum(axis=0).max() <= bound, cells
        squares = (difference**2).sum(axis=0).max()
        assert squares <= bound, cells
        if cells > 1:
            assert squares == (cells - 1 if isinstance(strategy, PerPoint) else bound), cells


@every_strategy
def test_measuring_is_linear_and_exact(strategy: Strategy) -> None:
    rng = np.random.default_rng(1)
    for cells in CELLS:
        counts = rng.integers(0, 2**30, (2, cells))
        found = strategy.measure(counts)
        assert found.dtype == np.int64
        assert np.array_equal(found, counts @ measured(strategy, cells).T), cells


# --- from integers to counts


@every_strategy
def test_without_noise_the_counts_come_back(strategy: Strategy) -> None:
    rng = np.random.default_rng(2)
    for cells in CELLS:
        counts = rng.integers(0, 10**6, (2, cells))
        assert strategy.reconstruct(strategy.measure(counts), cells) == pytest.approx(counts, abs=1e-6), cells


@every_strategy
def test_counts_are_the_least_squares_solution(strategy: Strategy) -> None:
    """For Haar where nothing is padded: beyond, noise of the empty cells is dropped, which costs accuracy alone."""
    for cells in CELLS:
        if isinstance(strategy, Haar) and cells != _padded(cells):
            continue
        matrix = measured(strategy, cells)
        ours = strategy.reconstruct(np.eye(matrix.shape[0]), cells)
        solution = np.linalg.pinv(matrix.astype(np.float64))
        assert np.allclose(ours.T, solution, rtol=0.0, atol=1e-9), cells


@pytest.mark.parametrize("cells", [3, 5, 7, 13, 31, 33])
def test_padded_wavelets_are_those_of_more_cells(cells: int) -> None:
    """The least squares solution for all cells, empty ones among them, cut."""
    more, noisy = _padded(cells), np.random.default_rng(3).normal(size=_padded(cells))
    solution = np.linalg.pinv(measured(Haar(), more).astype(np.float64)) @ noisy
    assert Haar().reconstruct(noisy, cells) == pytest.approx(solution[:cells], abs=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("branching", [2, 3, 5, 16])
def test_the_sums_of_a_tree_agree_and_are_no_worse_than_what_was_measured(branching: int) -> None:
    strategy = Tree(branching)
    for cells in CELLS:
        matrix = measured(strategy, cells)
        leaves = strategy.reconstruct(np.eye(matrix.shape[0]), cells)  # a noise in each row, a leaf in each column
        sums = leaves @ matrix.T
        assert sums @ sums == pytest.approx(sums, abs=1e-9), cells  # agreed sums are left as they are
        assert (sums**2).sum(axis=0).max() <= 1.0 + 1e-9, cells  # the variance of a node, measured with 1


# --- the choice of a strategy


@pytest.mark.few(16)
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("cells", [1, 5, 24, 64])
@every_strategy
def test_the_predicted_error_is_the_mean_variance_of_a_coordinate(
    strategy: Strategy, cells: int, gaussian: bool
) -> None:
    """Against 20,000 draws with a seed; the tolerance is five standard errors or more."""
    rng, levels = np.random.default_rng(4), strategy.levels(cells)
    integers = measured(strategy, cells).shape[0]
    noise = rng.normal(scale=levels**0.5 if gaussian else levels, size=(20_000, integers))
    counts = strategy.reconstruct(noise, cells)
    above = np.cumsum(counts[:, ::-1], axis=1)
    coordinates = above - np.arange(1, cells + 1) / cells * above[:, -1:]
    found = predicted_error(strategy, cells, gaussian=gaussian)
    assert found == pytest.approx(coordinates.var(axis=0).mean(), rel=0.05, abs=1e-12)


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_best_strategy_has_the_least_predicted_error(gaussian: bool) -> None:
    candidates: list[Strategy] = [FLAT, Haar(), *(Tree(branching) for branching in BRANCHINGS)]
    chosen = set()
    for cells in (1, 2, 3, 8, 16, 33, 64, 100, 257, 512, 700):
        best = best_strategy(cells, gaussian=gaussian)
        errors = [predicted_error(strategy, cells, gaussian=gaussian) for strategy in candidates]
        assert predicted_error(best, cells, gaussian=gaussian) == min(errors)
        chosen.add(best.name)
    assert len(chosen) > 1


def test_strategies_have_names_and_limits() -> None:
    for strategy in STRATEGIES:
        assert strategy_named(strategy.name) == strategy
    assert strategy_named("tree") == Tree(16)
    for wrong in ("trees", "tree:x", "tree:-2", "", "flat:2"):
        with pytest.raises(ParameterError, match="strategy must be"):
            strategy_named(wrong)
    for branching in (1, 0, -2, 2.0, True):
        with pytest.raises(ParameterError, match="branching"):
            Tree(branching)  # type: ignore[arg-type]
    assert best_strategy(MOST_CELLS + 1) == Tree()  # not judged, but never an error after a charge
    assert best_strategy(MOST_CELLS + 1, gaussian=True) == Haar()


# --- the noise of private counts


def rows_changed(neighbours: Neighbours) -> int:
    return {Neighbours.REPLACE_ONE: 2, Neighbours.ADD_REMOVE_ONE: 1, Neighbours.LABEL_ONLY: 1}[neighbours]


@every_relation
@every_strategy
def test_the_scales_are_those_of_the_proof(strategy: Strategy, neighbours: Neighbours) -> None:
    for cells in CELLS:
        table = np.ones((2, cells), dtype=np.int64)
        differences = rows_changed(neighbours) * proven_levels(strategy, cells)
        integers = by_definition(strategy, cells).shape[0] * (1 if neighbours == Neighbours.LABEL_ONLY else 2)
        pure = private_counts(table, EPSILON, neighbours, strategy)
        assert (pure.family, pure.scales) == ("laplace", (differences / EPSILON,) * integers), cells
        other = concentrated_counts(table, RHO, neighbours, strategy)
        (scale,) = set(other.scales)
        assert (other.family, len(other.scales)) == ("gaussian", integers)
        assert 1 <= scale**2 / (differences / (2 * RHO)) < 1 + Fraction(1, 2**50), cells
        assert len(pure.values) == len(other.values) == integers


@cache
def neighbouring(cells: int, neighbours: Neighbours) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """All tables of up to four rows on so many cells, and the pairs of neighbours among them."""
    kinds = [(label, (cell + 0.5) / cells) for label in (0, 1) for cell in range(cells)]
    every = tuple(table for rows in range(5) for table in tables(kinds, rows))
    place = {table: number for number, table in enumerate(every)}
    pairs = {
        (place[table], place[other])
        for table in every
        for other in table_neighbours(table, kinds, neighbours)
        if other in place
    }
    return every, np.array(sorted(pairs))


def differences(queries: list[IntegerQuery], pairs: NDArray[np.intp]) -> Matrix:
    """By how much each integer differs, for every pair; all must be asked alike."""
    assert len({(query.family, query.scales) for query in queries}) == 1
    values = np.array([query.values for query in queries])
    changes: Matrix = values[pairs[:, 0]] - values[pairs[:, 1]]
    return changes


@pytest.mark.few(6)
@pytest.mark.parametrize("cells", [3, 4])
@every_relation
@every_strategy
def test_no_two_neighbours_lose_more_than_epsilon_or_rho(
    strategy: Strategy, neighbours: Neighbours, cells: int
) -> None:
    """All tables of up to four rows and all their neighbours. What is promised is lost, by some."""
    every, pairs = neighbouring(cells, neighbours)
    on_grid = [cells_on(counted(table), Grid.uniform(cells)) for table in every]
    pure = [private_counts(table, EPSILON, neighbours, strategy) for table in on_grid]
    lost = int(np.abs(differences(pure, pairs)).sum(axis=1).max()) / pure[0].scales[0]
    assert lost == EPSILON
    other = [concentrated_counts(table, RHO, neighbours, strategy) for table in on_grid]
    squares = int((differences(other, pairs) ** 2).sum(axis=1).max())
    assert RHO * (1 - Fraction(1, 2**50)) < squares / (2 * other[0].scales[0] ** 2) <= RHO
