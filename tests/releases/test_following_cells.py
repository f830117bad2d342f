"""Cells that follow the scores: a function of released integers, narrow where rows are, as many as are worthwhile."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.neighbours import Neighbours
from confide.releases.curves import draw_curves, drawn_pr
from confide.releases.grids import (
    EVEN,
    FEWEST_FOLLOWING,
    FIRST,
    FIRST_CELLS,
    MOST_FOLLOWING,
    balanced_cells,
    cell_deviation,
    first_table,
    following_grid,
)
from tests.noises import seeded


def coarse(scores: FloatArray, labels: NDArray[np.bool_]) -> FloatArray:
    return cells_on(ScoreCounts.from_arrays(labels, scores), FIRST).astype(np.float64)


@given(
    table=arrays(np.int64, (2, FIRST_CELLS), elements=st.integers(-(2**40), 2**40)),
    deviation=st.floats(1e-6, 1e6),
    after=st.floats(1e-6, 1e6),
    rows=st.none() | st.integers(1, 2**30),
)
def test_any_noisy_table_gives_a_grid(table: FloatArray, deviation: float, after: float, rows: int | None) -> None:
    grid = following_grid(table.astype(np.float64), deviation=deviation, next_deviation=after, rows=rows)
    assert FEWEST_FOLLOWING <= len(grid) <= MOST_FOLLOWING
    assert (grid.edges[0], grid.edges[-1]) == (0.0, 1.0)


def test_no_cell_is_much_wider_than_if_all_were_even() -> None:
    """Whatever the table shows, a share of the cells is spread evenly, by arcsine."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = rng.normal(0.0, 1.0, (2, FIRST_CELLS)) * 10.0 ** rng.uniform(0.0, 5.0)
        grid = following_grid(table, deviation=1.0, next_deviation=1.0)
        widths = np.diff(np.arcsin(np.sqrt(grid.edges))) / (np.pi / 2.0)
        assert widths.max() <= 1.0 / (EVEN * len(grid)) * (1.0 + 1e-9)


def test_cells_are_narrow_where_the_rows_of_either_class_are() -> None:
    """1 % positives near 0.8 among negatives near 0.01: a third of the cells for each, and most edges near the rows."""
    rng = np.random.default_rng(1)
    labels = np.arange(50_000) < 500
    scores = np.where(labels, rng.normal(0.8, 0.02, labels.size), rng.normal(0.01, 0.002, labels.size))
    table = coarse(np.clip(scores, 0.0, 1.0), labels)
    grid = following_grid(table, deviation=1.0, next_deviation=0.2)
    for low, high in ((0.0, 0.03), (0.7, 0.9)):
        inside = ((grid.edges >= low) & (grid.edges <= high)).mean()
        assert inside > 0.3
        even = Grid.arcsine(len(grid)).edges
        assert inside > 1.5 * ((even >= low) & (even <= high)).mean()


def test_where_noise_hides_all_rows_cells_are_nearly_even() -> None:
    table = np.zeros((2, FIRST_CELLS))
    table[:, 0] = 5.0
    grid = following_grid(table, deviation=1_000.0, next_deviation=50.0)
    assert np.abs(grid.edges - Grid.arcsine(FEWEST_FOLLOWING).edges).max() < 0.01


def test_the_number_of_cells_has_the_least_error() -> None:
    """Noise and chance within cells, in squares of rates: no other number within the limits has less."""
    for sizes in ((500.0, 500.0), (20_000.0, 80_000.0), (1_000.0, 99_000.0)):
        for deviation in (0.5, 1.4, 5.0):
            cells = np.arange(1, 3_000)
            error = sum((size / cells + deviation**2 * cells) / size**2 for size in sizes)
            least = float(cells[np.argmin(error)])
            found = balanced_cells(np.array(sizes), deviation)
            assert found == pytest.approx(np.clip(1.2 * least, FEWEST_FOLLOWING, MOST_FOLLOWING), abs=1.5)


@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE])
@pytest.mark.parametrize("rho", [None, Fraction(1, 50)])
def test_the_deviation_is_that_of_the_noise(neighbours: Neighbours, rho: Fraction | None) -> None:
    counts = ScoreCounts.from_arrays([0, 1], [0.2, 0.7])
    query = first_table(counts, neighbours, Fraction(1, 3), rho)
    scale = float(query.scales[0])
    expected = 2.0**0.5 * scale if rho is None else scale
    assert cell_deviation(neighbours, Fraction(1, 3), rho) == pytest.approx(expected)
    assert query.family == ("laplace" if rho is None else "gaussian")
    assert len(query.values) == 2 * FIRST_CELLS


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove-one"])
def test_a_release_follows_its_scores_and_says_so(neighbours: str) -> None:
    rng = np.random.default_rng(2)
    labels = rng.random(20_000) < 0.3
    scores = np.clip(rng.normal(0.1 + 0.02 * labels, 0.01), 0.0, 1.0)
    curves = draw_curves(ScoreCounts.from_arrays(labels, scores), epsilon=1, neighbours=neighbours, noise=seeded(1))
    assert curves.raw.options["follows_scores"]
    assert ((curves.grid.edges > 0.05) & (curves.grid.edges < 0.2)).mean() > 0.5


class TestPrecision:
    """A private PR curve does not start low because of rounding, nor where there is only noise."""

    def test_a_concave_curve_does_not_rise(self) -> None:
        """With whole rows the precision of few rows goes up and down by a quarter and more."""
        rng = np.random.default_rng(3)
        for seed in range(5):
            labels = rng.random(500) < 0.15
            scores = 1.0 / (1.0 + np.exp(2.0 - rng.normal(1.5 * labels, 1.0)))
            counts = ScoreCounts.from_arrays(labels, scores)
            curves = draw_curves(counts, epsilon=1, noise=seeded(seed), shape="concave")
            precision = curves.pr.precision
            assert (precision - np.minimum.accumulate(precision)).max() < 0.1

    def test_a_curve_as_measured_starts_where_rows_stand_out_of_the_noise(self) -> None:
        table = np.array([[10.0, 50.0, 60.0, 1.0], [200.0, 50.0, 5.0, 3.0]])
        grid = Grid.uniform(4)
        assert drawn_pr(table, grid).precision[0] < 0.5
        supported = drawn_pr(table, grid, support=np.full(4, 10.0))
        assert supported.precision[0] > 0.5
        assert supported.recall[0] * table[0].sum() + 3.0 >= 9.0

    def test_precision_and_recall_are_those_of_the_table_at_the_edges(self) -> None:
        table = np.array([[10.0, 20.5, 30.0], [50.0, 20.0, 0.0]])
        curve = drawn_pr(table, Grid.uniform(3))
        assert curve.recall[-1] == 1.0
        assert curve.precision[-1] == pytest.approx(60.5 / 130.5) == curve.prevalence
        third = np.argmin(np.abs(curve.recall - 30.0 / 60.5))
        assert curve.recall[third] == pytest.approx(30.0 / 60.5)

    def test_a_table_without_support_has_its_last_point(self) -> None:
        curve = drawn_pr(np.array([[1.0, 0.0], [1.0, 0.0]]), Grid.uniform(2), support=np.full(2, 100.0))
        assert curve.recall.tolist() == [1.0]
        assert curve.precision.tolist() == [0.5]
