"""Measurement strategies for a row of cells: the cells, sums over a tree of them, or differences of halves.

A strategy turns the counts of K cells into integers, to each of which noise is added, and turns the
noisy integers back into the K counts that fit them best (least squares). Every row of the data takes
part in one integer of each of the strategy's `levels`, and moves it by 1 up or down: that is all a
proof needs to know. Sums over many cells have less noise in a tree, at the price of more levels.

Proof: strategies.proof.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError

MOST_CELLS = 2048
"""More cells than this take more memory to judge than it is worth, and no grid that is asked for has more."""


class Strategy(Protocol):
    """Integers measured of cells, and how cells are rebuilt from them; arrays run along the last axis."""

    def __hash__(self) -> int:
        """Equal strategies are one and the same."""
        ...

    @property
    def name(self) -> str:
        """Name of the strategy for users."""
        ...

    def levels(self, cells: int) -> int:
        """Number of integers that one row takes part in."""
        ...

    def measure(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the integers that noise is added to."""
        ...

    def reconstruct(self, measured: NDArray[Any], cells: int) -> FloatArray:
        """Return the counts that fit noisy integers best; exactly the counts if there is no noise."""
        ...


@dataclass(frozen=True, slots=True)
class Flat:
    """Strategy that measures the cells themselves."""

    name: str = "flat"

    def levels(self, cells: int) -> int:
        """Return one, as a row lies in one cell."""
        return 1

    def measure(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts."""
        return counts

    def reconstruct(self, measured: NDArray[Any], cells: int) -> FloatArray:
        """Return the counts."""
        return np.asarray(measured, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tree:
    """Sums over the nodes of a tree in which every node has up to `branching` children; the leaves are the cells.

    The root is left out. Noisy sums that contradict each other are reconciled by least squares, from
    the leaves up and down again (Hay, Rastogi, Miklau & Suciu 2010, here for trees of any size).
    """

    branching: int = 16

    def __post_init__(self) -> None:
        if isinstance(self.branching, bool) or not isinstance(self.branching, int) or self.branching < 2:
            raise ParameterError(f"branching must be a whole number of at least 2; got {self.branching!r}")

    @property
    def name(self) -> str:
        """Name of the strategy, with its branching."""
        return f"tree:{self.branching}"

    def levels(self, cells: int) -> int:
        """Return the height of the tree, without the root."""
        return len(self._sizes(cells))

    def measure(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sums of all levels, from the leaves up."""
        found = [counts]
        for _ in range(self.levels(counts.shape[-1]) - 1):
            found.append(self._parents(found[-1]))
        return np.concatenate(found, axis=-1)

    def reconstruct(self, measured: NDArray[Any], cells: int) -> FloatArray:
        """Reconcile: each sum is averaged with that of its children, then what is left over is shared among them.

        Going up, a node's own value and the sum of its children's estimates are weighted by their
        precision; going down, the difference between a node and its children's sum is shared in
        proportion to their variances. This solves the least squares problem on a tree.
        """
        sizes = self._sizes(cells)
        own = np.split(np.asarray(measured, dtype=np.float64), np.cumsum(sizes)[:-1], axis=-1)
        estimate, variance = [own[0]], [np.ones(sizes[0])]
        for values in own[1:]:
            below, spread = self._parents(estimate[-1]), self._parents(variance[-1])
            estimate.append((values * spread + below) / (1.0 + spread))
            variance.append(spread / (1.0 + spread))
        for level in range(len(sizes) - 2, -1, -1):
            gap = (estimate[level + 1] - self._parents(estimate[level])) / self._parents(variance[level])
            share = np.repeat(gap, self.branching, axis=-1)[..., : sizes[level]]
            estimate[level] = estimate[level] + share * variance[level]
        return estimate[0]

    def _sizes(self, cells: int) -> list[int]:
        """Return the number of nodes each level has, from the leaves up to the children of the root."""
        sizes = [cells]
        while sizes[-1] > self.branching:
            sizes.append(-(-sizes[-1] // self.branching))
        return sizes

    def _parents(self, values: NDArray[Any]) -> NDArray[Any]:
        missing = -values.shape[-1] % self.branching
        padded = np.concatenate((values, np.zeros((*values.shape[:-1], missing), dtype=values.dtype)), axis=-1)
        summed: NDArray[Any] = padded.reshape(*values.shape[:-1], -1, self.branching).sum(axis=-1)
        return summed


@dataclass(frozen=True, slots=True)
class Haar:
    """Total, and for every node of a binary tree the difference between its halves.

    These are the Haar wavelet's coefficients, each times the number of cells below it: Privelet
    (Xiao, Wang & Gehrke 2010), whose noise is the same on all of them in these units. Cells are padded
    with empty ones to a power of two; the padding's share of the noise is dropped.
    """

    name: str = "haar"

    def levels(self, cells: int) -> int:
        """Return the height of the binary tree, and the total."""
        return 1 + (cells - 1).bit_length()

    def measure(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the differences, from the leaves up, and the total."""
        sums = self._padded(counts)
        found = []
        while sums.shape[-1] > 1:
            found.append(sums[..., 0::2] - sums[..., 1::2])
            sums = sums[..., 0::2] + sums[..., 1::2]
        return np.concatenate((*found, sums), axis=-1)

    def reconstruct(self, measured: NDArray[Any], cells: int) -> FloatArray:
        """Halve the total by its difference, and so on down to the cells."""
        values = np.asarray(measured, dtype=np.float64)
        sums, end = values[..., -1:], values.shape[-1] - 1
        while end > 0:
            differences = values[..., end - sums.shape[-1] : end]
            end -= sums.shape[-1]
            sums = np.stack(((sums + differences) / 2.0, (sums - differences) / 2.0), axis=-1).reshape(
                *values.shape[:-1], -1
            )
        return sums[..., :cells]

    def _padded(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        missing = (1 << (counts.shape[-1] - 1).bit_length()) - counts.shape[-1]
        return np.concatenate((counts, np.zeros((*counts.shape[:-1], missing), dtype=np.int64)), axis=-1)


@dataclass(frozen=True, slots=True)
class PerPoint:
    """Sums of all cells from the top down to each: one number for every point of a curve, the papers' baseline.

    A row takes part in the sums of its own cell and of all below it, so there are as many levels as cells.
    """

    name: str = "per-point"

    def levels(self, cells: int) -> int:
        """Return the number of all points, as the row in the highest cell is counted at every point."""
        return cells

    def measure(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums from the top."""
        return np.cumsum(counts[..., ::-1], axis=-1)

    def reconstruct(self, measured: NDArray[Any], cells: int) -> FloatArray:
        """Differences of the sums."""
        sums = np.asarray(measured, dtype=np.float64)
        return np.diff(sums, axis=-1, prepend=0.0)[..., ::-1]


FLAT = Flat()

BRANCHINGS = (4, 8, 16, 32)


def strategy_named(name: str) -> Strategy:
    """Return the strategy of a name: flat, haar, tree (16 children), tree:4, or per-point.

    >>> strategy_named("tree:4")
    Tree(branching=4)
    """
    kind, colon, branching = str(name).partition(":")
    if kind == "tree" and (not colon or branching.isdecimal()):
        return Tree(int(branching)) if colon else Tree()
    plain: dict[str, Strategy] = {"flat": FLAT, "haar": Haar(), "per-point": PerPoint()}
    if str(name) not in plain:
        raise ParameterError(f"strategy must be auto, flat, haar, tree, tree:4 or per-point; got {name!r}")
    return plain[str(name)]


def best_strategy(cells: int, *, gaussian: bool = False) -> Strategy:
    """Return the strategy with the least predicted error for so many cells: a choice from public facts alone.

    >>> best_strategy(32).name, best_strategy(1024).name, best_strategy(1024, gaussian=True).name
    ('flat', 'tree:32', 'haar')
    """
    if cells > MOST_CELLS:
        return Haar() if gaussian else Tree()
    candidates: list[Strategy] = [FLAT, Haar(), *(Tree(branching) for branching in BRANCHINGS if branching < cells)]
    return min(candidates, key=lambda strategy: predicted_error(strategy, cells, gaussian=gaussian))


@lru_cache(maxsize=256)
def predicted_error(strategy: Strategy, cells: int, *, gaussian: bool = False) -> float:
    """Return the mean variance of a curve's coordinate, in rows, where one level has noise of variance 1.

    A coordinate is the sum of the cells above an edge less its share of the total, at equally full
    cells: what a rate's error comes from. Laplace noise grows with the number of levels, Gaussian noise
    with its square root.
    """
    levels = strategy.levels(cells)
    sums = np.cumsum(_coefficients(strategy, cells), axis=1)
    share = np.arange(1, cells + 1) / cells
    error = ((sums - share * sums[:, -1:]) ** 2).sum(axis=0).mean()
    return float(error * (levels if gaussian else levels**2))


def _coefficients(strategy: Strategy, cells: int) -> FloatArray:
    """Return the effect of noise of 1 on each integer (rows) on each cell (columns)."""
    integers = strategy.measure(np.zeros(cells, dtype=np.int64)).size
    return strategy.reconstruct(np.eye(integers), cells)
