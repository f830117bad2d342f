"""Audited mechanisms for private curves, and their broken twins.

Each is audited with neighbours that are hardest for it. The release's own `Counting` draws: the edges of the grid,
where data or noise decide them, and the noisy integers. Grids are small so that many releases can be drawn. The change
that a row causes depends on the number of cells only through the number of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide.audits.subject import DELTA, REAL_COST, Pair, Queries, Query, Rows, Steps, Subject, asking, differing
from confide.counts import FloatArray, ScoreCounts
from confide.grid import Grid
from confide.privacy.mechanisms.private_counts import cells_on, concentrated_counts, private_counts
from confide.privacy.mechanisms.recursive_medians import (
    exponential_medians,
    median_cauchy,
    medians_with,
    smooth_medians,
)
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.mechanisms.strategies import Haar, Strategy, Tree
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.releases.counting import PUBLISHED, Counting
from confide.releases.grids import FEWEST_FOLLOWING, FIRST, PrivateQuantiles, cell_deviation, following_grid
from confide.releases.terms import Terms

Proven = tuple[Callable[..., Any], ...]
Pairs = Mapping[Neighbours, tuple[Pair[ScoreCounts], ...]]

STRATEGIES = {"flat": Grid.uniform(2), "tree:2": Grid.uniform(3), "haar": Grid.uniform(2)}
"""Grids on which each strategy has all of its levels: one, two and two."""

CANDIDATES = Grid.uniform(4)
"""Grid whose inner edges are the candidates for private quantiles."""

_PRIVATE_SCORES = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE)

# A positive at the top goes, and a negative at the bottom comes: no integer is touched twice.
_FOUR_ROWS: Rows = [(1, 0.1), (1, 0.9), (0, 0.1), (0, 0.9)]
_ENDS: Pairs = {
    Neighbours.REPLACE_ONE: (differing(_FOUR_ROWS, [(1, 0.9)], [(0, 0.1)]),),
    Neighbours.ADD_REMOVE_ONE: (differing(_FOUR_ROWS, [(1, 0.9)], []),),
    Neighbours.LABEL_ONLY: (differing(_FOUR_ROWS, [(1, 0.9)], [(0, 0.9)]),),
}
# One class alone: the difference of halves changes by 2, as strained in squares as two integers by 1 each.
_MOVED = differing(_FOUR_ROWS, [(1, 0.9)], [(1, 0.1)])

# A positive at the top becomes a negative there: both are counted at every point of a curve.
_TOP: Pairs = {**_ENDS, Neighbours.REPLACE_ONE: _ENDS[Neighbours.LABEL_ONLY]}

# A row comes below the median, or goes from there to above it: edges on both sides of the median change their costs
# against each other. It is in the lowest cell of every grid, so that one column has its count.
_QUARTERS: Rows = [(0, 0.1), (1, 0.4), (0, 0.4), (1, 0.6), (0, 0.6), (1, 0.9)]
_SPLIT: Pairs = {
    Neighbours.REPLACE_ONE: (differing(_QUARTERS, [(1, 0.1)], [(0, 0.9)]),),
    Neighbours.ADD_REMOVE_ONE: (differing(_QUARTERS, [], [(1, 0.1)]),),
    Neighbours.LABEL_ONLY: (differing(_QUARTERS, [(1, 0.1)], [(0, 0.1)]),),
}

# A third row far from the first of two: the median's scale changes with it.
_APART: Rows = [(0, 0.31), (1, 0.9)]
_MEDIANS: Pairs = {
    Neighbours.REPLACE_ONE: (differing(_APART, [(0, 0.29)], [(1, 0.92)]),),
    Neighbours.ADD_REMOVE_ONE: (differing(_APART, [], [(1, 0.92)]),),
    Neighbours.LABEL_ONLY: (differing(_APART, [(1, 0.92)], [(0, 0.92)]),),
}

# A row comes to the lowest cell of every grid, or changes its class there: the first integers show all that it changes.
_CORNERS: Pairs = {
    Neighbours.REPLACE_ONE: (differing([(1, 1.0), (0, 1.0)], [(1, 0.0)], [(0, 0.0)]),),
    Neighbours.ADD_REMOVE_ONE: (differing([(1, 1.0), (0, 1.0)], [], [(1, 0.0)]),),
}


def curve_targets(epsilon: Fraction) -> Iterator[Subject[ScoreCounts]]:
    """Yield every way to make noisy counts for curves, at an epsilon."""
    for neighbours in Neighbours:
        for strategy in STRATEGIES:
            yield _on_public_grid(epsilon, neighbours, "laplace", strategy)
        for strategy in STRATEGIES:
            yield _on_public_grid(epsilon, neighbours, "gaussian", strategy)
        for mechanism in ("laplace-per-point", "fixed-space"):
            yield _as_published(epsilon, neighbours, mechanism)
        yield _quantiles(epsilon, neighbours)
        yield _recursive_medians(epsilon, neighbours)
    for neighbours in _PRIVATE_SCORES:
        yield _automatic(epsilon, neighbours)


def counting_with(epsilon: Fraction, neighbours: Neighbours, mechanism: str, **options: Any) -> Counting:
    """Return the counting of a release with these terms."""
    delta = DELTA if mechanism == "gaussian" else 0
    return Counting.checked(
        Terms.checked(epsilon=epsilon, delta=delta, neighbours=neighbours), mechanism=mechanism, **options
    )


def counts_of(counting: Counting) -> Queries[ScoreCounts]:
    """Return the query of a release on a grid that takes no noise to find."""

    def queries(counts: ScoreCounts) -> tuple[Query, ...]:
        return (counting.ask(counts, counting.find_grid(counts, SYSTEM_NOISE)),)

    return queries


def _on_public_grid(epsilon: Fraction, neighbours: Neighbours, mechanism: str, strategy: str) -> Subject[ScoreCounts]:
    pairs = _ENDS[neighbours]
    if (mechanism, strategy, neighbours) == ("gaussian", "haar", Neighbours.REPLACE_ONE):
        pairs = (*pairs, _MOVED)
    return _asking(
        f"{mechanism}-{strategy.partition(':')[0]}",
        counting_with(epsilon, neighbours, mechanism, grid=STRATEGIES[strategy], strategy=strategy),
        pairs,
        (concentrated_counts if mechanism == "gaussian" else private_counts,),
        options={"grid": STRATEGIES[strategy], "strategy": strategy},
    )


def _as_published(epsilon: Fraction, neighbours: Neighbours, mechanism: str) -> Subject[ScoreCounts]:
    grid = Grid.uniform(2)
    return _asking(
        mechanism,
        counting_with(epsilon, neighbours, mechanism, grid=grid),
        _TOP[neighbours],
        (private_counts,),
        options={"grid": grid},
        spent=PUBLISHED[mechanism].share(len(grid)),
    )


def _quantiles(epsilon: Fraction, neighbours: Neighbours) -> Subject[ScoreCounts]:
    """Audit two levels of private quantiles: up to four cells."""
    source = PrivateQuantiles(4, CANDIDATES)
    counting = counting_with(epsilon, neighbours, "laplace", grid=source, strategy="flat")
    options, pairs = {"grid": source, "strategy": "flat"}, _SPLIT[neighbours]
    if neighbours not in _PRIVATE_SCORES:
        return _asking("laplace-quantiles", counting, pairs, (private_counts,), options=options)
    proven = (exponential_medians, private_counts)
    return _stepping(
        "laplace-quantiles", counting, pairs, proven, edges=3, integers=4, cost=3 * REAL_COST + 8, options=options
    )


def _recursive_medians(epsilon: Fraction, neighbours: Neighbours) -> Subject[ScoreCounts]:
    """Audit one noisy median: two cells."""
    name, grid = "recursive-medians", "medians:1"
    counting = counting_with(epsilon, neighbours, name, grid=grid)
    if neighbours not in _PRIVATE_SCORES:
        spent = PUBLISHED[name].share(2)
        pairs = _MEDIANS[neighbours]
        return _asking(name, counting, pairs, (private_counts,), options={"grid": grid}, spent=spent)
    proven = (smooth_medians, medians_with, median_cauchy, private_counts)
    return _stepping(
        name, counting, _MEDIANS[neighbours], proven, edges=1, integers=2, cost=REAL_COST + 4, options={"grid": grid}
    )


def _automatic(epsilon: Fraction, neighbours: Neighbours) -> Subject[ScoreCounts]:
    """Audit cells that follow a coarse table.

    Rows are so few that there are the fewest cells, or some more if noise is large. They lie in the lowest and the
    highest cell of every grid. Few edges and integers are shown, as an audit of many would need more draws.
    """
    return _stepping(
        "laplace-automatic",
        counting_with(epsilon, neighbours, "laplace"),
        _CORNERS[neighbours],
        (private_counts,),
        edges=2,
        integers=2,
        cost=2 * FEWEST_FOLLOWING,  # the coarse table is left out: it would leave too few draws to show anything
    )


def _asking(
    name: str, counting: Counting, pairs: tuple[Pair[ScoreCounts], ...], proven: Proven, **given: Any
) -> Subject[ScoreCounts]:
    delta = Fraction(0) if counting.rho is None else DELTA
    return asking(
        f"curves/{name}",
        counting.neighbours,
        counting.epsilon,
        delta,
        pairs,
        counts_of(counting),
        proven,
        ("curves", counting.mechanism),
        **given,
    )


def _stepping(
    name: str,
    counting: Counting,
    pairs: tuple[Pair[ScoreCounts], ...],
    proven: Proven,
    *,
    edges: int,
    integers: int,
    cost: int,
    options: Mapping[str, Any] | None = None,
) -> Subject[ScoreCounts]:
    steps = Steps(find=counting.find_grid, ask=counting.ask, edges=edges, integers=integers)
    return Subject(
        name=f"curves/{name}",
        neighbours=counting.neighbours,
        epsilon=counting.epsilon,
        pairs=pairs,
        sample=steps.sample,
        cost=cost,
        proven=proven,
        release=("curves", counting.mechanism),
        steps=steps,
        options=options or {},
    )


_REPLACE, _ADD_REMOVE = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE
_TWO_ROWS: Rows = [(1, 0.1), (0, 0.9)]

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
    pair = differing(_TWO_ROWS, [(1, 0.9)], [(0, 0.1)])
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
    steps = Steps(find=find, ask=counted.ask, edges=FEWEST_FOLLOWING - 1, integers=FEWEST_FOLLOWING)
    return Subject(
        name="curves/own-cells",
        neighbours=_ADD_REMOVE,
        epsilon=epsilon,
        pairs=(differing([(1, 1.0), (0, 1.0)], [], [(1, 0.0)]),),
        sample=steps.sample,
        cost=2 * FEWEST_FOLLOWING,
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

    pair = differing(_TWO_ROWS, [(1, 0.9)], [(0, 0.9)])
    wrong = "noise for one level on the integers of all"
    return asking(
        f"curves/{name}-one-level", Neighbours.LABEL_ONLY, epsilon, Fraction(0), (pair,), queries, wrong=wrong
    )


def _scores(counts: ScoreCounts) -> FloatArray:
    return np.repeat(counts.scores, counts.positives + counts.negatives)
