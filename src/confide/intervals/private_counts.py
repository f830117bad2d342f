"""Intervals on what follows from private counts: cells that the released ones leave plausible, drawn and measured.

The noise on counts does not depend on the data, so subtracting fresh draws of it from what was
released gives the counts that are plausible. For the population each of these is followed by
probabilities that are plausible given such counts (Dirichlet, Jeffreys' prior).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray
from confide.intervals.interval import Interval, check_level

DRAWS = 4_000
FEWEST_DRAWS = 1_000
MOST_NUMBERS = 2_000_000
"""Fewer draws are made where each has many numbers, but no fewer than the fewest."""

_SEED = 0  # the same release must give the same interval
_WEIGHT = 0.95  # of a row: quantiles from discrete counts cover a little less than they say


def _as_they_are(integers: FloatArray) -> FloatArray:
    return integers


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePart:
    """Discrete noise, worth so many shares of noise of a scale, that is added with a weight.

    The scale is that of Laplace noise, or the deviation of Gaussian noise.
    """

    scale: float
    shares: float
    weight: float
    gaussian: bool = False

    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Draw it, without its weight."""
        if self.gaussian:
            return np.rint(generator.normal(0.0, self.scale * np.sqrt(self.shares), shape))
        stop = -np.expm1(-1.0 / self.scale)
        if self.shares == 1.0:
            return (generator.geometric(stop, shape) - generator.geometric(stop, shape)).astype(np.float64)
        up, down = (generator.negative_binomial(self.shares, stop, shape) for _ in range(2))
        return (up - down).astype(np.float64)

    @property
    def variance(self) -> float:
        """Variance, without the weight.

        Each share of Laplace noise has `2 q / (1 - q)^2` with `q = exp(-1/scale)`, of Gaussian noise `scale^2`.
        """
        if self.gaussian:
            return float(self.shares * self.scale**2)
        stop = -np.expm1(-1.0 / self.scale)
        return float(self.shares * 2.0 * (1.0 - stop) / stop**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCells:
    """Released counts, positives in the first row and negatives in the second, with what is public about them.

    `scale` is that of discrete Laplace noise, or the deviation of Gaussian noise. The noise is worth so many
    `shares`: one, or more, also 4/3 say, where several sites added parts of it. Where the counts are a weighted mean
    of several tables, `parts` has the noise of each, and `scale` and `shares` are those of the first. `rows` is the
    sum of all counts where it is public, `cell_rows` that of each cell where scores are public; then only the
    positives have noise. Noise was added to `integers` numbers of each class, of which `reconstruct`, a
    linear function, made the counts; to the counts themselves unless that is said.
    """

    cells: FloatArray
    scale: float
    gaussian: bool = False
    shares: float = 1.0
    parts: tuple[NoisePart, ...] = ()
    rows: int | None = None
    cell_rows: FloatArray | None = None
    integers: int = 0
    reconstruct: Callable[[FloatArray], FloatArray] = _as_they_are

    def adjusted(self) -> FloatArray:
        """Return the best guess: counts that agree with what is public, none below 0."""
        result: FloatArray = self._possible(self.cells[None])[0]
        return result

    def agreed(self) -> FloatArray:
        """Counts of both classes that agree with what is public, which may be negative: as noisy as they were drawn."""
        result: FloatArray = self._agreeing(self.cells[None])[0]
        return result

    def plausible(self, generator: np.random.Generator) -> FloatArray:
        """Draw many plausible tables of counts."""
        return self._possible(self.cells - self._noise(generator))

    def noise(self, generator: np.random.Generator) -> FloatArray:
        """Draw the noise in the agreed counts of both classes many times; its law does not depend on the data."""
        drawn = self._noise(generator)
        if self.cell_rows is not None:
            return np.concatenate((drawn, -drawn), axis=1)
        return drawn if self.rows is None else drawn - drawn.mean(axis=(1, 2), keepdims=True)

    def _noise(self, generator: np.random.Generator) -> FloatArray:
        integers = self.integers or self.cells.shape[1]
        draws = int(np.clip(MOST_NUMBERS // (integers * self.cells.shape[0]), FEWEST_DRAWS, DRAWS))
        shape = (draws, self.cells.shape[0], integers)
        return self.reconstruct(self._drawn(generator, shape))

    def _drawn(self, generator: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        whole = NoisePart(scale=self.scale, shares=self.shares, weight=1.0, gaussian=self.gaussian)
        parts = self.parts or (whole,)
        first, *others = (part.weight * part.draw(generator, shape) for part in parts)
        return sum(others, first)

    def _possible(self, tables: FloatArray) -> FloatArray:
        agreed = self._agreeing(tables)
        if self.cell_rows is None:
            return nonnegative(agreed)
        return np.clip(agreed, 0.0, self.cell_rows)

    def _agreeing(self, tables: FloatArray) -> FloatArray:
        if self.cell_rows is not None:
            return np.concatenate((tables[:, :1], self.cell_rows - tables[:, :1]), axis=1)
        if self.rows is None:
            return tables
        # The counts must add up to the rows: what is missing is shared among all cells alike.
        missing = self.rows - tables.sum(axis=(1, 2), keepdims=True)
        shared: FloatArray = tables + missing / self.cells.size
        return shared


def nonnegative(tables: FloatArray) -> FloatArray:
    """Return the nearest counts that are not negative and leave each class's total as it is, if that is not negative.

    Cutting at 0 alone would add rows wherever there are few. The nearest point subtracts the same
    from all cells of a class and cuts at 0 (projection on a simplex).
    """
    totals = np.maximum(tables.sum(axis=2, keepdims=True), 0.0)
    descending = -np.sort(-tables, axis=2)
    over = (np.cumsum(descending, axis=2) - totals) / np.arange(1, tables.shape[2] + 1)
    kept = np.maximum((descending > over).sum(axis=2, keepdims=True), 1)
    nearest: FloatArray = np.maximum(tables - np.take_along_axis(over, kept - 1, axis=2), 0.0)
    return nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausibleCounts:
    """Tables of counts (draw, class, cell) that are plausible for the sample, and as many rows of the population."""

    sample: FloatArray
    population: FloatArray


def plausible_counts(noisy: NoisyCells) -> PlausibleCounts:
    """Draw what the released counts leave plausible; the same release always gives the same draws."""
    generator = np.random.default_rng(_SEED)
    tables = noisy.plausible(generator)
    few = tables.shape[1] * tables.shape[2] <= 4
    # Jeffreys' half a row for each cell; among many cells only for those with rows, or it would drown the data.
    prior = 0.5 if few else np.where(tables > 0.0, 0.5, 1e-3)
    drawn = generator.standard_gamma(_WEIGHT * tables + prior)
    totals, rows = drawn.sum(axis=(1, 2), keepdims=True), tables.sum(axis=(1, 2), keepdims=True)
    return PlausibleCounts(sample=tables, population=drawn / np.maximum(totals, 1e-300) * rows)


Measure: TypeAlias = Callable[[FloatArray], FloatArray]
"""From tables of counts to a number each; NaN where it does not exist."""


def count_intervals(
    plausible: PlausibleCounts, lowest: Measure, highest: Measure, *, possible: tuple[float, float], level: float
) -> tuple[Interval, Interval]:
    """Intervals for the sample's and the population's value of a measure between `lowest` and `highest`.

    The two differ where counts do not say all (the order within a cell). A number that does not
    exist could be any possible one.
    """
    check_level(level)
    named = ((plausible.sample, "noise alone"), (plausible.population, "noise and sampling"))

    def between(tables: FloatArray, name: str) -> Interval:
        low = lowest(tables)
        high = low if highest is lowest else highest(tables)
        return _between(low, high, possible, level, f"{name}, plausible counts")

    sample, population = (between(tables, name) for tables, name in named)
    return sample, population


def _between(low: FloatArray, high: FloatArray, possible: tuple[float, float], level: float, method: str) -> Interval:
    tail = (1.0 - level) / 2.0
    bottom = np.clip(np.where(np.isnan(low), possible[0], low), *possible)
    top = np.clip(np.where(np.isnan(high), possible[1], high), *possible)
    return Interval(
        lower=float(np.quantile(bottom, tail, method="lower")),
        upper=float(np.quantile(top, 1.0 - tail, method="higher")),
        level=level,
        method=method,
    )
