"""Grids of private counts: fixed cells, and cells that follow the scores.

A small share of the budget is spent on counts of both classes in 64 public cells. From these noisy counts alone follow
the number of cells that is worthwhile and their edges: cells are narrow where rows are many, and no cell is very wide.
A cell holds about as much of both rates of a ROC curve as any other, whatever the prevalence.

All of this is a function of released integers. Proof: private_counts.proof.md, "A grid that is found privately".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.mechanisms.private_counts import cells_on, concentrated_counts, private_counts
from confide.privacy.mechanisms.recursive_medians import exponential_medians, smooth_medians
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import nonnegative
from confide.privacy.queries import IntegerQuery, Noise

FIRST_CELLS = 64
FIRST = Grid.arcsine(FIRST_CELLS)
"""Public cells of the coarse table."""

FIRST_SHARE = Fraction(1, 20)
"""Share of the budget that the coarse table costs: of epsilon, or of rho with Gaussian noise."""

EVEN = 0.3
"""Share of all cells that is spread evenly, by arcsine, whatever the coarse table shows."""

FEWEST_FOLLOWING, MOST_FOLLOWING = 12, 1024
"""Limits to the number of cells."""

FACTOR = 1.2
"""Number of cells, as a multiple of that with the least error: `balanced_cells`."""

_SMOOTH = np.array([0.25, 0.5, 0.25])


def first_table(
    counts: ScoreCounts, neighbours: Neighbours, epsilon: Fraction, rho: Fraction | None = None
) -> IntegerQuery:
    """Query the coarse table, with Laplace noise for epsilon or, if rho is given, with Gaussian noise for rho."""
    cells = cells_on(counts, FIRST)
    return private_counts(cells, epsilon, neighbours) if rho is None else concentrated_counts(cells, rho, neighbours)


def cell_deviation(neighbours: Neighbours, epsilon: Fraction, rho: Fraction | None = None) -> float:
    """Return the standard deviation of the noise of a cell that is counted by itself.

    >>> round(cell_deviation(Neighbours.ADD_REMOVE_ONE, Fraction(1)), 3)
    1.414
    """
    changed = 2 if neighbours == Neighbours.REPLACE_ONE else 1
    return math.sqrt(changed / (2 * rho)) if rho is not None else math.sqrt(2.0) * changed / float(epsilon)


def following_grid(first: FloatArray, *, deviation: float, next_deviation: float, rows: int | None = None) -> Grid:
    """Return cells on [0, 1] that follow a coarse noisy table.

    `deviation` is that of the table's noise and `next_deviation` that of a cell to be counted. `rows` is the number of
    all rows where it is public.
    """
    agreed = first if rows is None else first + (rows - first.sum()) / first.size
    spread = deviation * math.sqrt(first.shape[1])
    sizes = np.maximum(agreed.sum(axis=1), 1.0)
    cells = balanced_cells(np.maximum(sizes, spread), next_deviation)
    return _edges(_density(agreed, sizes, spread), cells)


def balanced_cells(sizes: FloatArray, deviation: float) -> int:
    """Return the number of cells that balances noise with what cells hide.

    Let the classes have n rows each. Noise of deviation s moves a point of a curve by `s sqrt(K / 6)` rows. Within a
    cell rows lie `sqrt(n / 6K)` rows off a smooth curve, by chance. In rates, summed over the classes, the squares are
    least at `K = sqrt(h) / s` with `h = sum(1/n) / sum(1/n^2)`, which is near the size of the smaller class.

    >>> balanced_cells(np.array([10_000.0, 10_000.0]), 2.0**0.5), balanced_cells(np.array([200.0, 19_800.0]), 1.4)
    (85, 12)
    """
    smaller = float((1.0 / sizes).sum() / (1.0 / sizes**2).sum())
    return int(min(max(round(FACTOR * math.sqrt(smaller) / deviation), FEWEST_FOLLOWING), MOST_FOLLOWING))


def _density(agreed: FloatArray, sizes: FloatArray, spread: float) -> FloatArray:
    """Return the share of the new cells in each cell of the coarse table.

    It is the mean share of both classes, smoothed. The share of a class with few rows for its noise counts less, and an
    even share takes its place.
    """
    possible = nonnegative(agreed[None])[0]
    totals = possible.sum(axis=1, keepdims=True)
    shares = np.divide(possible, totals, out=np.zeros_like(possible), where=totals > 0.0)
    weights = sizes**2 / (sizes**2 + spread**2) / sizes.size
    followed = (1.0 - EVEN) * (weights[:, None] * shares).sum(axis=0)
    density = followed + (1.0 - followed.sum()) / followed.size
    smoothed: FloatArray = np.convolve(np.pad(density, 1, mode="edge"), _SMOOTH, "valid")
    return smoothed


def _edges(density: FloatArray, cells: int) -> Grid:
    """Divide [0, 1] so that each cell has the same share of the density, which is even in `arcsin(sqrt(score))`."""
    below = np.concatenate(([0.0], np.cumsum(density)))
    places = np.interp(np.linspace(0.0, 1.0, cells + 1), below / below[-1], np.linspace(0.0, 1.0, below.size))
    edges = np.sin(np.pi / 2.0 * places) ** 2
    edges[0], edges[-1] = 0.0, 1.0
    return Grid(edges)


CANDIDATES = 1024
"""Number of cells of the public grid from whose edges private quantiles are chosen."""

_CANDIDATES = Grid.arcsine(CANDIDATES)

FEWEST, FEW = 12, 22
"""Default numbers of cells where scores are public; the fewest if noise hides all detail."""

DROWNED = 250.0
"""Epsilon times the number of rows, below which noise hides all detail."""

CURVE_STEPS = (20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640, 896)
CURVE_FACTOR = 0.4
"""Number of cells of a question across sites, as a multiple of `epsilon sqrt(rows)`: see `cells_for_curves`."""

QUANTILES_SHARE = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class Automatic:
    """Automatic grid: as many cells as the rows and epsilon make worthwhile, narrow where rows are, in [0, 1].

    A twentieth of epsilon is spent on a coarse table that cells follow. If scores are public, cells have equally many
    rows.
    """


@dataclass(frozen=True, slots=True)
class PrivateQuantiles:
    """Cells with about equally many rows, found by the exponential mechanism among the edges of a public grid.

    The number of cells is a power of two. A fifth of epsilon is spent on them; nothing where scores are public.
    """

    cells: int
    candidates: Grid = _CANDIDATES

    def __post_init__(self) -> None:
        if self.cells < 2 or self.cells & (self.cells - 1) or self.cells > CANDIDATES:
            raise ParameterError(f"private quantiles make 2, 4, 8, ... up to {CANDIDATES} cells; got {self.cells}")

    @property
    def levels(self) -> int:
        """Number of times that ranges are halved."""
        return self.cells.bit_length() - 1


@dataclass(frozen=True, slots=True)
class RecursiveMedians:
    """Thresholds by noisy medians of [0, 1], halved `levels` times (Stoddard et al. 2014), for a fifth of epsilon."""

    levels: int

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= 11:
            raise ParameterError(f"recursive medians take 1 to 11 levels; got {self.levels}")


GridSource: TypeAlias = Grid | Automatic | PrivateQuantiles | RecursiveMedians


def grid_source(given: object) -> GridSource:
    """Read a grid, or how to find one: `arcsine:32`, ..., `quantiles:16`, `quantiles:16:-4:4` or `medians:10`.

    >>> grid_source("quantiles:16").cells
    16
    """
    if given is None or given == "auto":
        return Automatic()
    if isinstance(given, Grid | Automatic | PrivateQuantiles | RecursiveMedians):
        return given
    if not isinstance(given, str):
        raise ParameterError(f"grid must be a Grid or its name, for example 'arcsine:32'; got {type(given).__name__}")
    kind, _, rest = given.partition(":")
    try:
        if kind == "medians":
            return RecursiveMedians(int(rest))
        if kind == "quantiles":
            cells, *ends = rest.split(":")
            low, high = (float(end) for end in ends or ("0", "1"))
            return PrivateQuantiles(int(cells), Grid.uniform(CANDIDATES, low, high) if ends else _CANDIDATES)
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"grid must look like quantiles:16, quantiles:16:-4:4 or medians:10; got {given!r}"
        ) from None
    return Grid.named(given)


def grid_share(source: GridSource, neighbours: Neighbours) -> Fraction:
    """Return the share of epsilon that finding the grid costs."""
    if isinstance(source, Grid) or neighbours == Neighbours.LABEL_ONLY:
        return Fraction(0)
    if isinstance(source, Automatic):
        return FIRST_SHARE
    return QUANTILES_SHARE


def most_cells(source: GridSource) -> int:
    """A public upper bound on the number of cells of a grid that is found."""
    if isinstance(source, Grid):
        return len(source)
    if isinstance(source, Automatic):
        return MOST_FOLLOWING
    return source.cells if isinstance(source, PrivateQuantiles) else int(2**source.levels)


def check_threshold(threshold: float, source: GridSource, neighbours: Neighbours) -> None:
    """Refuse a threshold that no edge can be put at; where scores are public the grid follows them."""
    if neighbours == Neighbours.LABEL_ONLY and not isinstance(source, Grid):
        return
    if isinstance(source, Grid | PrivateQuantiles):
        edges = (source if isinstance(source, Grid) else source.candidates).edges
        low, high = float(edges[0]), float(edges[-1])
    else:
        low, high = 0.0, 1.0
    if not low < threshold < high:
        raise ParameterError(
            f"the threshold must lie inside the grid, between {low:g} and {high:g}; got {threshold:g}: "
            "give another, or a grid that reaches further"
        )


def find_grid(
    source: GridSource,
    counts: ScoreCounts,
    epsilon: Fraction,
    neighbours: Neighbours,
    noise: Noise,
    *,
    rho: Fraction | None = None,
) -> Grid:
    """Find the grid; `epsilon` is that of the whole release, of which `grid_share` is spent here.

    If the whole release is given Gaussian noise for `rho`, an automatic grid has that share of rho instead.
    """
    if isinstance(source, Grid):
        return source
    spent = epsilon * grid_share(source, neighbours)
    if neighbours == Neighbours.LABEL_ONLY:
        return _public_quantiles(source, counts, epsilon)
    if isinstance(source, Automatic):
        return _following(counts, epsilon, rho, neighbours, noise)
    if isinstance(source, PrivateQuantiles):
        return _private_quantiles(source, counts, spent, neighbours, noise)
    scores = np.repeat(counts.scores, counts.positives + counts.negatives)
    thresholds = smooth_medians(scores, levels=source.levels, epsilon=spent, neighbours=neighbours, noise=noise)
    return Grid(np.array([0.0, *thresholds, 1.0]))


def worthwhile_cells(rows: int, epsilon: Fraction) -> int:
    """Return the number of cells that balances interpolation error, `1/K^2`, with noise, `sqrt(K) / (epsilon N)`.

    Half as many again: it costs curves little, and leaves the order within cells less open.

    >>> worthwhile_cells(2_000, Fraction(1))
    34
    """
    weight = float(epsilon) * max(rows, 1)
    if weight < DROWNED:
        return FEWEST
    return int(min(max(round(1.5 * (1.2 * weight) ** 0.4), FEW), MOST_FOLLOWING))


def cells_for_curves(rows: int, epsilon: float) -> int:
    """Return the number of cells with the least error of a ROC curve that bends between its points.

    Noise of K cells moves a point by `sqrt(K) / epsilon` rows; within a cell rows lie by chance `sqrt(N / K)` rows off
    any smooth curve. The two are equal at `K = epsilon sqrt(N)`. Trees make noise smaller but coarser: the factor, and
    the fewest that a curve needs to bend rightly, are measured (`python -m benchmarks federated-peer`). Steps are
    coarse, so that a rough number of rows gives the same cells.

    >>> [cells_for_curves(rows, 1.0) for rows in (1_000, 20_000, 100_000)]
    [20, 56, 112]
    """
    wanted = CURVE_FACTOR * epsilon * math.sqrt(max(rows, 1))
    return min(CURVE_STEPS, key=lambda cells: abs(math.log(cells / max(wanted, 1.0))))


def _following(
    counts: ScoreCounts, epsilon: Fraction, rho: Fraction | None, neighbours: Neighbours, noise: Noise
) -> Grid:
    """Draw the coarse table and return the cells that follow it."""
    first, rest = ((share * epsilon, None if rho is None else share * rho) for share in (FIRST_SHARE, 1 - FIRST_SHARE))
    drawn = first_table(counts, neighbours, *first).draw(noise)
    return following_grid(
        np.array(drawn, dtype=np.float64).reshape(2, FIRST_CELLS),
        deviation=cell_deviation(neighbours, *first),
        next_deviation=cell_deviation(neighbours, *rest),
        rows=_rows(counts) if neighbours == Neighbours.REPLACE_ONE else None,
    )


def _rows(counts: ScoreCounts) -> int:
    return int(counts.total_positives + counts.total_negatives)


def _public_quantiles(source: GridSource, counts: ScoreCounts, epsilon: Fraction) -> Grid:
    """Cells with equally many rows, where scores are public."""
    if isinstance(source, PrivateQuantiles):
        cells = source.cells
    elif isinstance(source, RecursiveMedians):
        cells = 2**source.levels
    else:
        cells = worthwhile_cells(_rows(counts), epsilon)
    scores = np.repeat(counts.scores, counts.positives + counts.negatives)
    if len(counts) < 2:
        return Grid(np.array([scores[0], np.nextafter(scores[0], np.inf)]))
    edges = Grid.quantiles(scores, min(cells, scores.size)).edges
    return Grid(np.append(edges[:-1], np.nextafter(edges[-1], np.inf)))  # so that the highest score can be a threshold


def _private_quantiles(
    source: PrivateQuantiles, counts: ScoreCounts, spent: Fraction, neighbours: Neighbours, noise: Noise
) -> Grid:
    cells = cells_on(counts, source.candidates).sum(axis=0)
    thresholds = exponential_medians(
        cells, source.candidates, levels=source.levels, epsilon=spent, neighbours=neighbours, noise=noise
    )
    ends = source.candidates.edges[[0, -1]]
    return Grid(np.array([ends[0], *thresholds, ends[1]]))
