"""Broken twins of private curves: a published mistake, and mistakes that composition and grids invite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from confide.audits.curve_targets import counting_with, counts_of
from confide.audits.subject import REAL_COST, Query, Rows, Steps, Subject, asking, differing
from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.privacy.mechanisms.private_counts import cells_on, private_counts
from confide.privacy.mechanisms.recursive_medians import exponential_medians, medians_with
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.mechanisms.strategies import Haar, Strategy, Tree
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.following_cells import FEWEST, FIRST, cell_deviation, following_grid

_REPLACE, _ADD_REMOVE = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE
_FEW: Rows = [(1, 0.1), (0, 0.9)]

_HARD = REAL_COST * 7 // 10  # the hardest to catch get more draws than their cost would allow


def curve_twins(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Yield every broken twin of private curves, each claiming an epsilon."""
    yield _published_medians(epsilon)
    yield _parallel_counts(epsilon)
    yield _parallel_medians(epsilon)
    yield _own_quantiles(epsilon)
    yield _own_cells(epsilon)
    yield _one_level("tree", epsilon, Tree(2), 5)
    yield _one_level("haar", epsilon, Haar(), 4)


def _published_medians(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Use the noise of one of 20 levels as in Stoddard, Chen & Machanavajjhala (2014), algorithm 4.

    The level may spend a twentieth, epsilon here, and has noise for all of it: scale `8 S/(20 epsilon)`, `beta =
    epsilon`.
    """
    levels = 20
    published = Calibration(family="cauchy", beta=epsilon, multiplier=8 / (levels * epsilon))

    def find(counts: ScoreCounts) -> tuple[float, ...]:
        return medians_with(published, _scores(counts), levels=1, low=0.0, high=1.0, noise=SYSTEM_NOISE)

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        return np.array([find(counts) for _ in range(times)])

    return Subject(
        name="curves/published-medians",
        neighbours=_ADD_REMOVE,
        epsilon=epsilon,
        pairs=(differing([(0, 0.31), (1, 0.9)], [], [(1, 0.92)]),),
        sample=sample,
        cost=_HARD,
        wrong="a level's median with the noise of all levels' epsilon",
    )


def _parallel_counts(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Divide epsilon among the cells, as if a replaced row were in one of them alone."""
    counting = counting_with(epsilon, _ADD_REMOVE, "laplace", grid=Grid.uniform(2), strategy="flat")
    pair = differing(_FEW, [(1, 0.9)], [(0, 0.1)])
    wrong = "parallel composition of cells under replace-one"
    return asking("curves/parallel-counts", _REPLACE, epsilon, Fraction(0), (pair,), counts_of(counting), wrong=wrong)


def _parallel_medians(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Give each level of private quantiles a whole share, though a replaced row leaves one part for another.

    There are two edges, one below the median and one above it: the costs of both change by 2, in opposite directions.
    """
    grid = Grid.uniform(3)

    def find(counts: ScoreCounts) -> tuple[float, ...]:
        rows = cells_on(counts, grid).sum(axis=0)
        return exponential_medians(rows, grid, levels=1, epsilon=epsilon, neighbours=_ADD_REMOVE)

    def sample(counts: ScoreCounts, times: int) -> FloatArray:
        return np.array([find(counts) for _ in range(times)])

    # Rows in the cells: 1, 3, 2, and then 0, 3, 3. The edges' costs: 4 and 2, and then 6 and 0.
    pair = differing([(0, 0.5)] * 3 + [(0, 0.9)] * 2, [(0, 0.1)], [(0, 0.9)])
    return Subject(
        name="curves/parallel-medians",
        neighbours=_REPLACE,
        epsilon=epsilon,
        pairs=(pair,),
        sample=sample,
        cost=_HARD,
        wrong="parallel composition of medians under replace-one",
    )


def _own_quantiles(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Use the data's own quantiles as edges, which label-only allows, with the right noise on the counts."""
    found = counting_with(epsilon, Neighbours.LABEL_ONLY, "laplace", grid="quantiles:2")
    counted = counting_with(epsilon, _REPLACE, "laplace", grid=Grid.uniform(2), strategy="flat")
    steps = Steps(find=found.find_grid, ask=counted.ask, edges=1, integers=2)
    return Subject(
        name="curves/own-quantiles",
        neighbours=_REPLACE,
        epsilon=epsilon,
        pairs=(differing([(1, 0.2), (1, 0.6)], [(0, 0.4)], [(0, 0.3)]),),
        sample=steps.sample,
        cost=16,
        steps=steps,
        wrong="cells at the data's own quantiles",
    )


def _own_cells(epsilon: Fraction) -> Subject[ScoreCounts]:
    """Let cells follow the rows themselves instead of a noisy table, with the right noise on the counts."""

    def find(counts: ScoreCounts, noise: Noise) -> Grid:
        table = cells_on(counts, FIRST).astype(np.float64)
        return following_grid(table, deviation=1e-6, next_deviation=cell_deviation(_ADD_REMOVE, epsilon))

    counted = counting_with(epsilon, _ADD_REMOVE, "laplace", grid=Grid.uniform(2), strategy="flat")
    steps = Steps(find=find, ask=counted.ask, edges=FEWEST - 1, integers=FEWEST)
    return Subject(
        name="curves/own-cells",
        neighbours=_ADD_REMOVE,
        epsilon=epsilon,
        pairs=(differing([(1, 1.0), (0, 1.0)], [], [(1, 0.0)]),),
        sample=steps.sample,
        cost=2 * FEWEST,
        steps=steps,
        wrong="cells that follow the rows themselves",
    )


def _one_level(name: str, epsilon: Fraction, strategy: Strategy, cells: int) -> Subject[ScoreCounts]:
    """Add noise to the integers of all levels as if a row were in one of them."""
    grid = Grid.uniform(cells)

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        scale = private_counts(cells_on(counts, grid), epsilon, Neighbours.LABEL_ONLY).scales[0]
        asked = private_counts(cells_on(counts, grid), epsilon, Neighbours.LABEL_ONLY, strategy)
        return (replace(asked, scales=(scale,) * len(asked.values)),)

    pair = differing(_FEW, [(1, 0.9)], [(0, 0.9)])
    wrong = "noise for one level on the integers of all"
    return asking(
        f"curves/{name}-one-level", Neighbours.LABEL_ONLY, epsilon, Fraction(0), (pair,), queries, wrong=wrong
    )


def _scores(counts: ScoreCounts) -> FloatArray:
    return np.repeat(counts.scores, counts.positives + counts.negatives)
