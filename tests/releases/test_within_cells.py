"""The order within cells: against exact AUCs of smooth laws, ties, and cells that stand alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta

from confide.counts import FloatArray
from confide.grid import Grid
from confide.releases.curve_numbers import (
    order_allowance,
    order_gain,
    order_variance,
    parts_of,
    refined_grid,
    refined_table,
    table_auc,
    unknown_order,
)


def even_auc(table: FloatArray) -> float:
    """AUC where classes are mixed evenly in each cell."""
    below = np.cumsum(table[1]) - table[1] / 2.0
    return float((table[0] * below).sum() / (table[0].sum() * table[1].sum()))


def normal_table(cells: int, apart: float = 1.2) -> FloatArray:
    """Expected counts of two normal classes on a uniform grid of their probabilities."""
    edges = np.linspace(-5.0, 6.0, cells + 1)
    return 1000.0 * np.stack((np.diff(ndtr(edges - apart)), np.diff(ndtr(edges))))


@pytest.mark.parametrize("cells", [16, 32, 64])
def test_the_auc_of_normal_classes_against_theory(cells: int) -> None:
    truth = float(ndtr(1.2 / np.sqrt(2.0)))
    table = normal_table(cells)
    plain, corrected = abs(even_auc(table) - truth), abs(table_auc(table) - truth)
    assert corrected < 0.12 * plain
    assert corrected < order_allowance(table, Grid.arcsine(cells))


def test_the_error_falls_with_the_fourth_power_of_the_cells() -> None:
    """By sixteen for twice the cells; the correction alone has the square."""
    truth = float(ndtr(1.2 / np.sqrt(2.0)))
    coarse, fine = (abs(table_auc(normal_table(cells)) - truth) for cells in (32, 64))
    assert 12.0 < coarse / fine < 20.0


def test_the_refined_curve_has_the_corrected_area_and_the_same_points() -> None:
    grid = Grid.uniform(20)
    table = 1000.0 * np.stack([np.diff(beta.cdf(grid.edges, *shape)) for shape in ((4.0, 2.0), (2.0, 4.0))])
    fine = refined_table(table, grid)
    parts = parts_of(20)
    assert len(refined_grid(grid)) == 20 * parts == fine.shape[1]
    assert np.allclose(fine.reshape(2, 20, parts).sum(axis=2), table)
    assert np.isin(grid.edges, refined_grid(grid).edges).all()
    assert even_auc(fine) == pytest.approx(table_auc(table), abs=2e-5)
    assert (fine >= 0.0).all()


def test_two_values_in_each_cell_leave_three_quarters_of_the_correction() -> None:
    fine = normal_table(64)
    table = fine.reshape(2, 32, 2).sum(axis=2)
    pairs = float(table[0].sum() * table[1].sum())
    kept = (even_auc(fine) - even_auc(table)) / (float(order_gain(table)) / pairs)
    assert kept == pytest.approx(0.75, abs=0.03)
    assert abs(even_auc(fine) - table_auc(table)) <= 1.01 * order_allowance(table, Grid.arcsine(32))


def test_one_value_in_each_cell_is_allowed_for_on_cells_that_somebody_drew() -> None:
    """Then all pairs within cells are tied, and the correction is wrong altogether."""
    table = normal_table(32)
    for grid in (Grid.uniform(32), Grid(np.linspace(-5.0, 6.0, 33))):
        assert abs(even_auc(table) - table_auc(table)) <= order_allowance(table, grid)
    assert abs(even_auc(table) - table_auc(table)) > order_allowance(table, Grid.arcsine(32))
    with_threshold = np.insert(table, 10, 0.0, axis=1)
    assert order_allowance(with_threshold, Grid.arcsine(32).with_edge(0.3)) == pytest.approx(
        0.25 * abs(float(order_gain(with_threshold))) / 1e6 + unknown_order(with_threshold) / 2e6, rel=1e-3
    )


def test_a_cell_that_stands_alone_may_hide_any_order() -> None:
    table = np.zeros((2, 9))
    table[:, 4] = 30.0, 50.0
    assert float(order_gain(table)) == 0.0
    assert unknown_order(table) == 30.0 * 50.0
    assert order_allowance(table, Grid.arcsine(9)) == 0.5


def test_classes_that_share_no_cell_have_nothing_to_order() -> None:
    table = np.array([[0.0, 0.0, 7.0, 9.0], [8.0, 5.0, 0.0, 0.0]])
    assert table_auc(table) == 1.0
    assert order_variance(table) == 0.0
    assert order_allowance(table, Grid.arcsine(4)) == 0.0


def test_the_variance_of_random_order_against_the_rank_sum_s() -> None:
    """`n m (n + m + 1) / 12` in one cell (Mann & Whitney 1947), by shuffling."""
    rng = np.random.default_rng(0)
    labels = np.repeat([True, False], [6, 9])
    wins = []
    for _ in range(20_000):
        shuffled = rng.permutation(labels)
        wins.append(float((np.cumsum(~shuffled) * shuffled).sum()))
    assert order_variance(np.array([[6.0], [9.0]])) == 6 * 9 * 16 / 12
    assert np.var(wins) == pytest.approx(6 * 9 * 16 / 12, rel=0.05)


def test_one_cell_and_cells_a_float_wide_stay_as_they_are() -> None:
    table = np.array([[3.0], [4.0]])
    assert float(order_gain(table)) == 0.0
    narrow = Grid(np.array([1.0, np.nextafter(1.0, 2.0)]))
    assert refined_grid(narrow) is narrow
    assert refined_table(table, narrow) is table
