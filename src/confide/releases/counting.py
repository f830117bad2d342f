"""Noisy counts for curves: their grid, strategy and noise, including the mechanisms of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.accounting import rho_for
from confide.privacy.concentration import rho_of_pure
from confide.privacy.mechanisms.private_counts import Cells, cells_on, concentrated_counts, private_counts
from confide.privacy.mechanisms.strategies import (
    FLAT,
    MOST_CELLS,
    Strategy,
    best_strategy,
    predicted_error,
    strategy_named,
)
from confide.privacy.neighbours import Neighbours
from confide.privacy.noisy_counts import NoisePart, NoisyCells
from confide.privacy.queries import IntegerQuery, Noise
from confide.releases.grids import (
    Automatic,
    GridSource,
    PrivateQuantiles,
    RecursiveMedians,
    find_grid,
    grid_share,
    grid_source,
    most_cells,
)
from confide.releases.shapes import AUTO, checked_shape
from confide.releases.terms import Terms, known_mechanism

FAMILIES = ("laplace", "gaussian")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperMechanism:
    """Mechanism of the papers: its grid, strategy and shape, and how it divides the epsilon that is left."""

    grid: str
    strategy: str
    shape: str = "isotonic"
    halved: bool = False
    per_point: bool = False

    def share(self, cells: int) -> Fraction:
        """Half for each class where the papers divide it; one of `2K + 1` counts at each of K points."""
        if self.per_point:
            return Fraction(cells, 2 * cells + 1)
        return Fraction(1, 2) if self.halved else Fraction(1)


PUBLISHED: Mapping[str, PaperMechanism] = MappingProxyType(
    {
        "laplace-per-point": PaperMechanism(grid="uniform:10", strategy="per-point", per_point=True),
        "fixed-space": PaperMechanism(grid="uniform:512", strategy="haar", halved=True),
        "recursive-medians": PaperMechanism(grid="medians:10", strategy="haar", halved=True),
    }
)
"""Stoddard, Chen & Machanavajjhala (2014), section 4.2, with Algorithm 4's scale corrected."""

COUNTING_MECHANISMS = (*FAMILIES, *PUBLISHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Public parameters of noisy counts."""

    mechanism: str
    grid: GridSource
    strategy: str
    shape: str
    epsilon: Fraction
    rho: Fraction | None
    neighbours: Neighbours

    @classmethod
    def checked(
        cls,
        terms: Terms,
        *,
        mechanism: object = "auto",
        grid: object = None,
        strategy: str = "auto",
        shape: object = None,
    ) -> Counting:
        """Check how counts are asked for."""
        requested = known_mechanism(mechanism, COUNTING_MECHANISMS, "a curve")
        published = PUBLISHED.get(requested or "")
        if published is not None and strategy not in ("auto", published.strategy):
            raise ParameterError(f"mechanism {requested!r} has the strategy {published.strategy!r}; leave strategy out")
        if strategy != "auto":
            strategy = strategy_named(strategy).name
        source = grid_source(published.grid if published is not None and grid is None else grid)
        if isinstance(source, Grid) and len(source) > MOST_CELLS:
            raise ParameterError(f"a grid has at most {MOST_CELLS:,} cells; give a coarser one")
        left = terms.epsilon * (1 - grid_share(source, terms.neighbours))
        chosen = requested or ("gaussian" if terms.delta and _gaussian_is_better(source, left, terms) else "laplace")
        rho = _counts_rho(source, left, terms) if chosen == "gaussian" else None
        return cls(
            mechanism=chosen,
            grid=source,
            strategy=published.strategy if published is not None else strategy,
            shape=checked_shape(shape or (AUTO if published is None else published.shape)),
            epsilon=terms.epsilon,
            rho=rho,
            neighbours=terms.neighbours,
        )

    def public(self, threshold: float | None) -> tuple[str, ...]:
        """Return the facts that are taken as public: the grid, or its candidates, and a threshold."""
        if isinstance(self.grid, Grid):
            return ("grid of scores",)
        ranged = isinstance(self.grid, PrivateQuantiles) and self.grid.candidates != PrivateQuantiles(2).candidates
        return (*(("range of scores",) if ranged else ()), *(() if threshold is None else ("threshold",)))

    @property
    def left(self) -> Fraction:
        """Epsilon that is left after the grid was found."""
        return self.epsilon * (1 - grid_share(self.grid, self.neighbours))

    @property
    def whole_rho(self) -> Fraction | None:
        """Rho of grid and counts together; None without Gaussian noise. A pure grid counts by its epsilon."""
        if self.rho is None:
            return None
        if isinstance(self.grid, Automatic):
            return self.rho / (1 - grid_share(self.grid, self.neighbours))
        return self.rho + rho_of_pure(self.epsilon - self.left)

    @property
    def follows_scores(self) -> bool:
        """Tell whether cells follow a coarse private table."""
        return isinstance(self.grid, Automatic) and self.neighbours != Neighbours.LABEL_ONLY

    @property
    def most_cells(self) -> int:
        """A public upper bound on the number of cells."""
        return most_cells(self.grid)

    def public_cells(self, threshold: float | None) -> Grid | None:
        """Return the finest public cells that the answer depends on, with an edge at a threshold; None without such."""
        if isinstance(self.grid, PrivateQuantiles) and self.neighbours != Neighbours.LABEL_ONLY:
            finest = self.grid.candidates
        elif isinstance(self.grid, Grid):
            finest = self.grid
        else:
            return None
        return finest if threshold is None else finest.with_edge(threshold)

    def find_grid(self, counts: ScoreCounts, noise: Noise) -> Grid:
        """Find the grid, which costs its share of epsilon."""
        return find_grid(
            self.grid,
            counts,
            self.epsilon,
            self.neighbours,
            noise,
            rho=self.whole_rho if isinstance(self.grid, Automatic) else None,
        )

    def ask(self, counts: ScoreCounts, grid: Grid) -> IntegerQuery:
        """Return the query for the integers of the strategy."""
        cells, strategy = cells_on(counts, grid), self.chosen_strategy(len(grid))
        if self.rho is not None:
            return concentrated_counts(cells, self.rho, self.neighbours, strategy)
        published = PUBLISHED.get(self.mechanism)
        share = Fraction(1) if published is None else published.share(len(grid))
        return private_counts(cells, self.left * share, self.neighbours, strategy)

    def chosen_strategy(self, cells: int) -> Strategy:
        """Return the requested strategy, or the one with the least predicted error."""
        if self.strategy != "auto":
            return strategy_named(self.strategy)
        return best_strategy(cells, gaussian=self.rho is not None)

    def request(self, threshold: float | None) -> dict[str, Any]:
        """Return the parameters of the noisy counts as plain data; a threshold matters as an edge of the grid."""
        source = self.grid
        if isinstance(source, Grid):
            edges = (source if threshold is None else source.with_edge(threshold)).edges
            return {"grid": [float(edge) for edge in edges], "strategy": self.strategy}
        if isinstance(source, Automatic):
            grid: Any = "auto"
        elif isinstance(source, RecursiveMedians):
            grid = f"medians:{source.levels}"
        else:
            grid = {"quantiles": source.cells, "among": [float(edge) for edge in source.candidates.edges]}
        return {"grid": grid, "strategy": self.strategy, "threshold": threshold}


def _counts_rho(source: GridSource, left: Fraction, terms: Terms) -> Fraction:
    """Return the rho of the counts: a share of that of all, or that of the epsilon which a pure grid leaves."""
    if isinstance(source, Automatic):
        return rho_for(terms.epsilon, terms.delta) * (1 - grid_share(source, terms.neighbours))
    return rho_for(left, terms.delta)


def _gaussian_is_better(source: GridSource, epsilon: Fraction, terms: Terms) -> bool:
    """Return whether Gaussian noise promises less error than Laplace noise for so many cells (32 if unknown)."""
    cells = len(source) if isinstance(source, Grid) else getattr(source, "cells", 32)
    changed = 2.0 if terms.neighbours == Neighbours.REPLACE_ONE else 1.0
    pure = predicted_error(best_strategy(cells), cells) * 2.0 * (changed / float(epsilon)) ** 2
    strategy = best_strategy(cells, gaussian=True)
    try:
        rho = rho_for(epsilon, terms.delta)
    except ParameterError:
        return False
    return predicted_error(strategy, cells, gaussian=True) * changed / (2.0 * float(rho)) < pure


def noisy_cells(
    drawn: tuple[int, ...], query: IntegerQuery, cells: Cells, neighbours: Neighbours, rows: int | None
) -> NoisyCells:
    """Put drawn counts back into their cells; under label-only the rows of each cell are public."""
    counts = np.array(drawn, dtype=np.float64).reshape(-1, cells.shape[1])
    scale, gaussian = float(query.scales[0]), query.family == "gaussian"
    if neighbours == Neighbours.LABEL_ONLY:
        return NoisyCells(cells=counts, scale=scale, gaussian=gaussian, cell_rows=cells.sum(axis=0).astype(np.float64))
    return NoisyCells(cells=counts, scale=scale, gaussian=gaussian, rows=rows)


def rebuilt_cells(
    integers: FloatArray,
    *,
    cells: int,
    strategy: Strategy,
    scale: float,
    gaussian: bool,
    rows: int | None,
    cell_rows: FloatArray | None,
    shares: float = 1.0,
    parts: tuple[NoisePart, ...] = (),
) -> NoisyCells:
    """Noisy counts from the integers of a strategy, one class after the other (under label-only one alone)."""
    classes = integers.reshape(2 if cell_rows is None else 1, -1)
    plain = NoisyCells(
        cells=strategy.reconstruct(classes, cells),
        scale=scale,
        gaussian=gaussian,
        shares=shares,
        parts=parts,
        rows=rows if cell_rows is None else None,
        cell_rows=cell_rows,
    )
    if strategy == FLAT:
        return plain
    return replace(plain, integers=classes.shape[1], reconstruct=lambda drawn: strategy.reconstruct(drawn, cells))
