"""Intervals on noisy counts, and bands around curves that follow from them.

The noise on counts does not depend on the data, so subtracting fresh draws of it from what was
released gives the counts that are plausible. For the population each of these is followed by
probabilities that are plausible given such counts (Dirichlet, Jeffreys' prior).

The noise in counts has a known law that does not depend on the data, so whole sets of counts can be
ruled out by simulating it. For each edge of the grid the region bounds the share of each class above the
edge: a share t is kept if `sum above - t total` is no further from 0 than noise (and, for the
population, sampling) would carry it, where one factor, the quantile of the largest of all such
deviations, serves every edge of both classes and the ratio of the classes. Between edges a curve can only go up
and right, which bounds it there. ROC and PR bands, and operating points chosen after looking, all
follow from the same region and hold together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from confide.counts import FloatArray, read_only
from confide.intervals.interval import Interval, check_level
from confide.intervals.resample import Band

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
        return _interval_between(low, high, possible, level, f"{name}, plausible counts")

    sample, population = (between(tables, name) for tables, name in named)
    return sample, population


def _interval_between(
    low: FloatArray, high: FloatArray, possible: tuple[float, float], level: float, method: str
) -> Interval:
    tail = (1.0 - level) / 2.0
    bottom = np.clip(np.where(np.isnan(low), possible[0], low), *possible)
    top = np.clip(np.where(np.isnan(high), possible[1], high), *possible)
    return Interval(
        lower=float(np.quantile(bottom, tail, method="lower")),
        upper=float(np.quantile(top, 1.0 - tail, method="higher")),
        level=level,
        method=method,
    )


POINTS = 201
"""How many x a band has, denser towards 0 and 1."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CurveRegion:
    """Region that holds all points of the curve at once, from the top of the grid (nobody positive) to its bottom.

    `recall` and `alarm` hold lower and upper ends of the true and false-positive rate at each edge,
    `odds` those of the number of negatives for each positive.
    """

    recall: FloatArray
    alarm: FloatArray
    odds: tuple[float, float]
    level: float

    def __post_init__(self) -> None:
        for name in ("recall", "alarm"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


def sampling_errors(table: FloatArray, draws: int, generator: np.random.Generator) -> FloatArray:
    """Draw the changes in the counts that sampling as many rows again, at the table's shares, would make."""
    rows = max(round(float(table.sum())), 1)
    shares = table.ravel() / table.sum()
    drawn = generator.multinomial(rows, shares, size=draws)
    errors: FloatArray = (drawn - rows * shares).reshape(draws, *table.shape)
    return errors


def curve_region(
    agreed: FloatArray, noise: FloatArray, table: FloatArray, level: float, *, sampling: FloatArray | None = None
) -> CurveRegion:
    """Compute the region for the sample's curve; with draws of sampling errors, for the population's.

    `agreed` are the noisy counts (class, cell), `noise` draws of their noise, `table` the best guess of the
    counts, which only decides how deviations at different edges are weighed.
    """
    rows = table.sum(axis=1)
    share = np.minimum(_above(table) / rows[:, None], 1.0)  # sums may pass their total by a hair
    odds = rows[1] / rows[0]
    edges = share.shape[1]
    guess = np.concatenate((share.ravel(), [odds]))
    per_row = np.concatenate((np.repeat(rows, edges), [rows.sum()]))
    result = ratio_intervals(
        _tops(agreed),
        _bottoms(agreed, edges),
        Errors(_tops(noise), _bottoms(noise, edges)),
        guess,
        level,
        sampling=None if sampling is None else Errors(_tops(sampling), _bottoms(sampling, edges)),
        linear=per_row,
        square=np.concatenate((per_row[:-1], [0.0])),
        rare=1.0,
        highest=np.concatenate((np.ones(guess.size - 1), [np.inf])),
    )
    recall, alarm = result[:, :edges], result[:, edges:-1]
    return CurveRegion(
        recall=_monotone(recall), alarm=_monotone(alarm), odds=(float(result[0, -1]), float(result[1, -1])), level=level
    )


@dataclass(frozen=True, slots=True)
class Errors:
    """Draws of errors (draw, ratio) in the upper and in the lower numbers of ratios."""

    top: FloatArray
    bottom: FloatArray


def ratio_intervals(
    top: FloatArray,
    bottom: FloatArray,
    noise: Errors,
    guess: FloatArray,
    level: float,
    *,
    highest: FloatArray,
    sampling: Errors | None = None,
    linear: FloatArray | float = 0.0,
    square: FloatArray | float = 0.0,
    rare: float = 0.0,
) -> FloatArray:
    """Lower and upper ends of many ratios at once, each holding its guess (Fieller 1954, by simulation).

    A ratio t is kept if `(top - t bottom)^2` is at most `c^2` times its variance at t: that of the noise
    and, with `sampling`, `linear t - square t^2 + rare`; the last, a row or so, keeps ratios of next to no rows, whose
    errors are far from normal, from deciding for all. The factor c is the quantile of the largest deviation
    among all ratios, weighed at the guesses. A ratio whose lower number cannot be told from 0 is anything.
    """
    drawn = 0.0 if sampling is None else 1.0
    spread_top, spread_bottom = (noise.top**2).mean(axis=0), (noise.bottom**2).mean(axis=0)
    joint = (noise.top * noise.bottom).mean(axis=0)
    variance = spread_top - 2.0 * guess * joint + guess**2 * spread_bottom
    variance += drawn * (linear * guess - square * guess**2 + rare)
    shift = noise.top - guess * noise.bottom
    if sampling is not None:
        shift = shift + sampling.top - guess * sampling.bottom
    reach = float(np.quantile(_largest(np.abs(shift), variance), level, method="higher")) ** 2
    a = bottom**2 - reach * (spread_bottom - drawn * square)
    b = top * bottom - reach * (joint - drawn * linear / 2.0)
    c = top**2 - reach * (spread_top + drawn * rare)
    bounded = (bottom > 0.0) & (a > 0.0)
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    safe = np.where(bounded, a, 1.0)
    lower = np.where(bounded, (b - root) / safe, 0.0)
    upper = np.where(bounded, (b + root) / safe, highest)
    ends: FloatArray = np.clip(np.stack((lower, upper)), 0.0, highest)
    return np.stack((np.minimum(ends[0], guess), np.maximum(ends[1], guess)))


def roc_band(region: CurveRegion) -> Band:
    """A band that holds the whole ROC curve, between grid points too."""
    at = _places()
    lower, upper = _ends_over(region.alarm, region.recall, at)
    return Band(at, lower, upper, region.level)


def pr_band(region: CurveRegion) -> Band:
    """A band that holds precision at every recall: `r / (r + f m/n)` for the false-positive rates f possible at r."""
    at = _places()
    fewest, most = _ends_over(region.recall, region.alarm, at)
    before, after = np.concatenate(([0.0], at[:-1])), np.concatenate((at[1:], [1.0]))
    return Band(at, _precision(before, most, region.odds[1]), _precision(after, fewest, region.odds[0]), region.level)


def _places() -> FloatArray:
    places: FloatArray = np.sin(np.pi / 2.0 * np.linspace(0.0, 1.0, POINTS)) ** 2
    places[-1] = 1.0
    return places


def _precision(recall: FloatArray, alarm: FloatArray, odds: float) -> FloatArray:
    with np.errstate(invalid="ignore"):
        false = np.where(alarm > 0.0, alarm * odds, 0.0)
        result: FloatArray = np.where(recall + false > 0.0, recall / (recall + false), 1.0)
    return result


def _ends_over(x: FloatArray, y: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of y over each x of a curve that rises through points known to lie in boxes.

    At x the curve is before its first point whose x must be larger, so y is at most that point's;
    and behind the last point whose x must be smaller. Each end is that of the neighbouring places of
    `at`, so that lines between places hold the curve as well.
    """
    before, after = np.concatenate((at[:1], at[:-1])), np.concatenate((at[1:], at[-1:]))
    first = np.minimum(np.searchsorted(x[0], after, side="right"), x.shape[1] - 1)
    last = np.searchsorted(x[1], before, side="left")
    return y[0][np.maximum(last - 1, 0)], y[1][first]


def _above(counts: FloatArray) -> FloatArray:
    """Sums above each edge, from 0 above the top one to everything above the bottom one."""
    sums = np.cumsum(counts[..., ::-1], axis=-1)
    return np.concatenate((np.zeros((*counts.shape[:-1], 1)), sums), axis=-1)


def _tops(counts: FloatArray) -> FloatArray:
    """Return the numerators of all ratios: the counts above each edge, of both classes, and the negatives."""
    above = _above(counts)
    return np.concatenate((above.reshape(*above.shape[:-2], -1), counts[..., 1, :].sum(axis=-1)[..., None]), axis=-1)


def _bottoms(counts: FloatArray, edges: int) -> FloatArray:
    """Return the denominators of all ratios: the classes' totals, and the positives."""
    total = counts.sum(axis=-1)
    return np.concatenate((np.repeat(total, edges, axis=-1), total[..., :1]), axis=-1)


def _largest(shift: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the largest deviation of each draw, in units of its own standard deviation; 0 where nothing varies."""
    varies = variance > 1e-12
    scaled = np.where(varies, shift / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    largest: FloatArray = scaled.max(axis=1)
    return largest


def _monotone(ends: FloatArray) -> FloatArray:
    """Rates only rise from the top down: an edge's ends are no lower than those above it."""
    low = np.maximum.accumulate(ends[0])
    high = np.minimum.accumulate(ends[1, ::-1])[::-1]
    risen = np.stack((np.minimum(low, high), np.maximum(low, high)))
    risen[:, 0], risen[:, -1] = 0.0, 1.0
    return risen
