"""Projection on a public grid: totals and what happens at the grid's edges stay."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import confide
from confide import Grid, ScoreCounts
from confide.errors import ParameterError
from tests.strategies import any_scores, odd_probabilities, score_counts

# Edges of every magnitude, but wide enough apart for a midpoint between two of them.
edges = st.lists(st.integers(-64, 320).map(lambda k: k / 256), min_size=2, max_size=12, unique=True).map(sorted)


@given(score_counts(), edges)
def test_totals_stay(counts: ScoreCounts, at: list[float]) -> None:
    projected = counts.project(Grid(np.array(at)))
    assert projected.total_positives == counts.total_positives
    assert projected.total_negatives == counts.total_negatives
    assert projected.weighted == counts.weighted or not len(counts)
    assert len(projected) <= len(at) - 1


@given(score_counts(st.integers(-80, 340).map(lambda k: k / 256)), edges)
def test_confusion_matrices_at_inner_edges_stay(counts: ScoreCounts, at: list[float]) -> None:
    projected = counts.project(Grid(np.array(at)))
    for edge in at[1:-1]:
        assert confide.confusion_matrix(projected, edge) == confide.confusion_matrix(counts, edge)


@given(score_counts(st.integers(0, 256).map(lambda k: k / 256)), st.integers(1, 40))
def test_confusion_matrices_at_all_edges_stay_where_scores_lie_within(counts: ScoreCounts, cells: int) -> None:
    """Beside the inner edges: at the lowest edge everything is called positive."""
    grid = Grid.uniform(cells)
    projected = counts.project(grid)
    for edge in grid.edges[:-1]:
        assert confide.confusion_matrix(projected, edge) == confide.confusion_matrix(counts, edge)


@given(score_counts(odd_probabilities), score_counts(odd_probabilities), edges)
def test_projecting_and_adding_commute(a: ScoreCounts, b: ScoreCounts, at: list[float]) -> None:
    grid = Grid(np.array(at))
    assert (a + b).project(grid) == a.project(grid) + b.project(grid)


@given(score_counts(any_scores), edges)
def test_projecting_twice_is_projecting_once(counts: ScoreCounts, at: list[float]) -> None:
    grid = Grid(np.array(at))
    once = counts.project(grid)
    assert once.project(grid) == once
    assert set(once.scores) <= set(grid.representatives)


@given(st.lists(any_scores, min_size=2, max_size=8, unique_by=lambda s: s + 0.0).map(sorted))
def test_representatives_lie_in_their_cells(at: list[float]) -> None:
    assume(all(math.nextafter(a, math.inf) < b for a, b in pairwise(at)))
    grid = Grid(np.array(at))
    assert (grid.representatives >= grid.edges[:-1]).all()
    assert (grid.representatives < grid.edges[1:]).all()
    np.testing.assert_array_equal(grid.cells(grid.representatives), np.arange(len(grid)))


@pytest.mark.parametrize("cells", [1, 2, 3, 10, 100])
def test_logit_grid_is_even_in_log_odds(cells: int) -> None:
    grid = Grid.logit(cells, smallest=0.01)
    assert len(grid) == cells
    assert (grid.edges[0], grid.edges[-1]) == (0.0, 1.0)
    if cells > 2:
        inner = np.log(grid.edges[1:-1] / (1 - grid.edges[1:-1]))
        np.testing.assert_allclose(inner, np.linspace(-np.log(99), np.log(99), cells - 1), atol=1e-12)


def test_quantile_grid_has_equal_mass() -> None:
    public = np.arange(1_000.0)
    grid = Grid.quantiles(public, 8)
    assert np.bincount(grid.cells(public)).tolist() == [125] * 8


def test_grids_are_values() -> None:
    own = np.array([0.0, 0.5, 1.0])
    grid = Grid(own)
    own[1] = 0.25
    assert grid == Grid.uniform(2)
    assert hash(grid) == hash(Grid.uniform(2))
    with pytest.raises(ValueError, match="read-only"):
        grid.edges[0] = 7


@pytest.mark.parametrize("bad", [[0.5], [1.0, 0.0], [0.0, 0.0], [0.0, np.nan], [0.0, np.inf], [[0.0, 1.0]], []])
def test_edges_must_ascend(bad: list[float]) -> None:
    with pytest.raises(ParameterError, match="edges"):
        Grid(np.array(bad))


@pytest.mark.parametrize("cells", [0, -1, 2.5, True, "ten"])
def test_cells_are_counted_in_whole_numbers(cells: object) -> None:
    with pytest.raises(ParameterError, match="cells"):
        Grid.uniform(cells)  # type: ignore[arg-type]
