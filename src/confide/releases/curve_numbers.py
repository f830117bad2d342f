"""Numbers of private curves, and where rows lie within the cells that were counted.

Within a cell the density of each class is taken to be a line whose slope is that of the neighbouring cells. A curve
then bends between its points instead of running straight, and the AUC gains the order that the neighbours suggest. For
densities that change smoothly from cell to cell the error falls with the square of the number of cells faster than
without: this is Richardson's extrapolation of the AUC of K and of K/2 cells.

How far that can be trusted is estimated too. Pairs of rows in cells that stand out from their neighbours may have any
order (`unknown_order`). Scores of few values are tied within cells: with m values in each cell the correction is too
large by `1 / m^2` of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from confide.counts import FloatArray
from confide.curves.reliability import ReliabilityBins
from confide.grid import Grid
from confide.intervals.interval import Interval
from confide.privacy.noisy_counts import Errors, NoisyCells, ratio_intervals
from confide.privacy.noisy_numbers import auc_spread, limits
from confide.releases.average_precision import (
    highest_average_precision,
    lowest_average_precision,
    middle_average_precision,
)
from confide.releases.release import PrivateIntervals
from confide.releases.shapes import rising

FINE = 256
"""Number of parts into which cells are divided in all; more points do not change a curve."""

MOST_PARTS = 8

IN_DOUBT = 0.25
"""Share of the correction for the order within cells that is in doubt, on cells that nobody drew around values."""


def parts_of(cells: int) -> int:
    """Into how many parts each cell is divided where curves are drawn.

    >>> [parts_of(cells) for cells in (12, 34, 100, 300)]
    [8, 7, 2, 1]
    """
    return int(min(max(FINE // cells, 1), MOST_PARTS))


def refined_grid(grid: Grid) -> Grid:
    """Divide every cell into parts of equal width."""
    parts = parts_of(len(grid))
    if parts == 1:
        return grid
    share = np.arange(parts) / parts
    inner = grid.edges[:-1, None] + np.diff(grid.edges)[:, None] * share
    edges = np.append(inner.ravel(), grid.edges[-1])
    return Grid(edges) if (np.diff(edges) > 0.0).all() else grid  # cells may be a float wide


def refined_table(table: FloatArray, grid: Grid) -> FloatArray:
    """Spread the rows of each cell over its parts: a line for the density of each class, nowhere below 0."""
    fine = refined_grid(grid)
    if fine is grid:
        return table
    parts = len(fine) // len(grid)
    ends = np.arange(parts + 1) / parts
    even, bent = np.diff(ends), np.diff(ends**2 - ends)
    spread: FloatArray = table[..., None] * even + _tilts(table)[..., None] * bent
    return np.maximum(spread, 0.0).reshape(*table.shape[:-1], -1)


def order_gain(tables: FloatArray) -> FloatArray:
    """Estimate what pairs within cells add to the wins of positives, beyond the half of an even mixture.

    `sum_k p_k q_k (a_k - b_k) / 6` for densities `1 + a (2x - 1)` and `1 + b (2x - 1)` across a cell.
    """
    positives, negatives = tables[..., 0, :], tables[..., 1, :]
    tilts = _tilts(tables)
    gain: FloatArray = (negatives * tilts[..., 0, :] - positives * tilts[..., 1, :]).sum(axis=-1) / 6.0
    return gain


def order_variance(table: FloatArray) -> float:
    """Compute the variance of wins within cells if rows of both classes lie there in random order."""
    positives, negatives = np.maximum(table, 0.0)
    return float((positives * negatives * (positives + negatives + 1.0)).sum() / 12.0)


def unknown_order(table: FloatArray) -> float:
    """Estimate the number of pairs within cells about whose order the neighbouring cells say nothing.

    Two thirds of `sum_k (p_k - (p_k-1 + p_k+1) / 2) (q_k - (q_k-1 + q_k+1) / 2)`, by how much a cell stands out in both
    classes: next to nothing where densities are smooth, and all pairs within cells where every row lies in a cell
    between empty ones.
    """
    positives, negatives = (np.diff(np.pad(side, 2), n=2) / 2.0 for side in table)
    return max(float(np.dot(positives, negatives)) * 2.0 / 3.0, 0.0)


def order_allowance(table: FloatArray, grid: Grid, *, follows_scores: bool = False) -> float:
    """Compute how far the AUC may be off because of the order within cells.

    A share of the correction for that order, and half of the pairs about whose order the neighbouring cells say
    nothing. The share is a quarter on cells by arcsine and on those that follow a coarse private table: values of a
    score may lie two and two in them, and the correction is then too large by that much. On other cells, which somebody
    may have drawn around single values, it is all of the correction. The allowance is no more than if the order were
    quite unknown, and 1/2 where a class has no rows.
    """
    sizes = table.sum(axis=1)
    if (sizes <= 0.0).any():
        return 0.5
    pairs = float(sizes[0] * sizes[1])
    tied = min(max(float((table[0] * table[1]).sum()) / pairs, 0.0), 1.0)
    share = IN_DOUBT if follows_scores or _by_arcsine(grid) else 1.0
    doubtful = abs(float(order_gain(table))) * share + unknown_order(table) / 2.0
    return min(doubtful / pairs, tied / 2.0)


def _by_arcsine(grid: Grid) -> bool:
    """Return whether cells are those of `Grid.arcsine`, except for an edge that a threshold may have added."""
    return any(
        bool(np.isin(Grid.arcsine(cells).edges, grid.edges).all()) for cells in (len(grid), len(grid) - 1) if cells
    )


def _tilts(tables: FloatArray) -> FloatArray:
    """Return `a` times the rows of each cell, where its density is `1 + a (2x - 1)` and `a` lies between -1 and 1."""
    if tables.shape[-1] < 2:
        return np.zeros_like(tables)
    most = np.abs(tables)
    return np.clip(np.gradient(tables, axis=-1) / 2.0, -most, most)


RISEN_DRAWS = 500
"""Number of plausible tables for average precision, which takes long for each."""


MOST_BINS = 10
"""Largest number of bins, of about equally many rows, of a calibration curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveNumbers:
    """Values by name, and their intervals."""

    values: Mapping[str, float]
    intervals: Mapping[str, PrivateIntervals]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBins:
    """Bins, the ends of the share of positives in each for the sample and the population, and the bins' edges."""

    bins: ReliabilityBins
    ends: tuple[FloatArray, FloatArray]
    edges: FloatArray


def curve_numbers(
    *,
    agreed: FloatArray,
    noise: FloatArray,
    sampling: FloatArray,
    table: FloatArray,
    grid: Grid,
    level: float,
    generator: np.random.Generator,
    follows_scores: bool = False,
) -> CurveNumbers:
    """Compute every number with its intervals.

    Tables that are plausible are the noisy counts less draws of the noise, negative ones included:
    cutting them at 0 would move every table the same way. (Average precision needs counts that are possible:
    there the sums from the top are made to rise.) For the population sampling errors are taken off
    too; that of AUC comes from its own formula, as few positives make it skewed.
    """
    plausible = agreed - noise
    tables = {"sample": plausible, "population": plausible - sampling}
    best = table[None]
    low, high = np.clip(grid.edges[:-1], 0.0, 1.0), np.clip(grid.edges[1:], 0.0, 1.0)
    middle = np.clip(grid.representatives, 0.0, 1.0)
    values = {
        "auc": table_auc(table),
        "average_precision": float(middle_average_precision(best)[0]),
        "brier": min(float(_brier(best, 1.0 - middle, middle)[0]), 1.0),
        "observed_expected": float(_observed_expected(best, middle)[0]),
        "prevalence": min(float(_prevalence(best)[0]), 1.0),
        "rows": float(table.sum()),
    }
    drawn = {
        "brier": {
            name: (_brier(each, 1.0 - high, low), _brier(each, 1.0 - low, high)) for name, each in tables.items()
        },
        "observed_expected": {
            name: (_observed_expected(each, high), _observed_expected(each, low)) for name, each in tables.items()
        },
        "rows": {name: (plausible.sum(axis=(1, 2)),) * 2 for name in tables},
        "average_precision": {name: _average_precisions(each[:RISEN_DRAWS]) for name, each in tables.items()},
    }
    possible = {"observed_expected": np.inf, "rows": np.inf}
    intervals = {name: _intervals(ends, values[name], possible.get(name, 1.0), level) for name, ends in drawn.items()}
    if grid.edges[0] < 0.0 or grid.edges[-1] > np.nextafter(1.0, 2.0):  # no probabilities
        for name in ("brier", "observed_expected"):
            values[name] = np.nan
            intervals[name] = _anything(possible.get(name, 1.0), level)
    intervals["auc"] = _auc_intervals(agreed, plausible, table, grid, level, generator, follows_scores)
    intervals["prevalence"] = _prevalence_intervals(agreed, noise, sampling, table, level)
    return CurveNumbers(values=values, intervals=intervals)


def table_auc(table: FloatArray) -> float:
    """AUC of a table of counts, none negative, with the order within cells that neighbouring cells suggest."""
    return float(np.clip(_aucs(table[None])[0], 0.0, 1.0))  # floats may pass it by a hair


def auc_intervals(
    *,
    agreed: FloatArray,
    noise: FloatArray,
    table: FloatArray,
    grid: Grid,
    level: float,
    generator: np.random.Generator,
    follows_scores: bool = False,
) -> PrivateIntervals:
    """Compute both intervals of the AUC alone, equal to those of `curve_numbers`."""
    return _auc_intervals(agreed, agreed - noise, table, grid, level, generator, follows_scores)


def _prevalence_intervals(
    agreed: FloatArray, noise: FloatArray, sampling: FloatArray, table: FloatArray, level: float
) -> PrivateIntervals:
    """Compute intervals for the prevalence as a ratio of noisy numbers; without noise they are Wilson's."""

    def sizes(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        return counts[..., 0, :].sum(axis=-1)[..., None], counts.sum(axis=(-2, -1))[..., None]

    guess, rows = _prevalence(table[None]), table.sum()
    result = [
        ratio_intervals(
            *sizes(agreed),
            Errors(*sizes(noise)),
            guess,
            level,
            highest=np.ones(1),
            sampling=more,
            linear=rows,
            square=rows,
        )
        for more in (None, Errors(*sizes(sampling)))
    ]
    names = ("noise alone, ratio", "noise and sampling, ratio")
    sample, population = (
        Interval(lower=float(ends[0, 0]), upper=float(ends[1, 0]), level=level, method=name)
        for ends, name in zip(result, names, strict=True)
    )
    return PrivateIntervals.nested(sample, population)


def _anything(most: float, level: float) -> PrivateIntervals:
    """Intervals of a number that does not exist."""
    whole = Interval(lower=0.0, upper=most, level=level, method="scores are not probabilities")
    return PrivateIntervals(sample=whole, population=whole)


def rows_intervals(noisy: NoisyCells, level: float) -> PrivateIntervals:
    """Compute the interval of the number of rows; a population has none, so both intervals are the same."""
    drawn = (noisy.agreed() - noisy.noise(np.random.default_rng(0))).sum(axis=(1, 2))
    value = max(float(noisy.agreed().sum()), 0.0)
    return _intervals({"sample": (drawn, drawn), "population": (drawn, drawn)}, value, np.inf, level)


def calibration_bins(
    *, agreed: FloatArray, noise: FloatArray, sampling: FloatArray, table: FloatArray, grid: Grid, level: float
) -> CalibrationBins:
    """Compute the share of positives in up to ten bins, with intervals that hold for all bins at once.

    Cells are put together until a bin has a tenth of the rows. Where in its bin a score lies is not
    known: the mean score is that of the cells' middles.
    """
    starts = _bin_starts(table)

    def binned(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        sums = np.add.reduceat(counts, starts, axis=-1)
        return sums[..., 0, :], sums.sum(axis=-2)

    (positives, rows), (top, bottom) = binned(table), binned(agreed)
    guess = positives / rows
    errors, drawn = Errors(*binned(noise)), Errors(*binned(sampling))
    ends = [
        ratio_intervals(
            top, bottom, errors, guess, level, highest=np.ones(guess.size), sampling=more, linear=rows, square=rows
        )
        for more in (None, drawn)
    ]
    mean = np.add.reduceat(table.sum(axis=0) * grid.representatives, starts) / rows
    edges = np.append(grid.edges[starts], grid.edges[-1])
    nested = np.stack((np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])))
    return CalibrationBins(bins=ReliabilityBins(rows, mean, guess), ends=(ends[0], nested), edges=edges)


def _bin_starts(table: FloatArray) -> NDArray[np.int64]:
    """Return the first cell of each bin: a bin has at least a tenth of all rows, and never none."""
    rows = table.sum(axis=0)
    enough = rows.sum() / MOST_BINS
    starts, held = [0], 0.0
    for cell, here in enumerate(rows):
        if held >= enough:
            starts.append(cell)
            held = 0.0
        held += here
    if len(starts) > 1 and held < enough / 2.0:
        starts.pop()
    return np.array(starts, dtype=np.int64)


def _auc_intervals(
    agreed: FloatArray,
    plausible: FloatArray,
    table: FloatArray,
    grid: Grid,
    level: float,
    generator: np.random.Generator,
    follows_scores: bool,
) -> PrivateIntervals:
    """Compute the intervals of the sample's and the population's AUC.

    The order within cells is what the neighbouring cells suggest. For the sample, chance in that order is added; the
    population's sampling error holds it already. Both get an allowance for what the neighbours may not tell.
    """
    open_share = max(order_allowance(counts, grid, follows_scores=follows_scores) for counts in (table, agreed))
    exact = _aucs(plausible)
    sample = exact + _chance_in_order(table) * generator.standard_normal(exact.size)
    lower, upper = _population_auc(exact, np.maximum(plausible.sum(axis=2), 1.0), level)
    drawn = {
        "sample": (sample - open_share, sample + open_share),
        "population": (np.array([lower - open_share]), np.array([upper + open_share])),
    }
    return _intervals(drawn, table_auc(table), 1.0, level)


def _population_auc(exact: FloatArray, sizes: FloatArray, level: float) -> tuple[float, float]:
    """Return the limits of the population's AUC, given plausible AUCs of the sample and their class sizes.

    A value is kept unless sampling at this value would too rarely give the plausible AUCs. Plausible AUCs beyond 0 or 1
    are brought back first, which only widens the interval. An AUC that does not exist could be any.
    """
    possible = np.clip(exact, 0.0, 1.0)
    ends = np.stack((np.where(np.isnan(exact), -np.inf, possible), np.where(np.isnan(exact), np.inf, possible)))

    def probability(theta: FloatArray) -> FloatArray:
        deviation = auc_spread(theta, sizes[:, 0], sizes[:, 1])
        share: FloatArray = ndtr((ends - theta) / np.maximum(deviation, 1e-300))
        return share

    lower, upper = limits(probability, 2, level)
    return float(lower[0]), float(upper[1])


def _chance_in_order(table: FloatArray) -> float:
    """Compute the standard deviation of the AUC if rows within cells lie in random order."""
    return float(np.sqrt(order_variance(table)) / max(float(table[0].sum() * table[1].sum()), 1.0))


def _average_precisions(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest average precision of each table, as the order within a cell is unknown."""
    possible = rising(tables)
    return lowest_average_precision(possible), highest_average_precision(possible)


def _aucs(tables: FloatArray) -> FloatArray:
    """AUC of many tables, with the order within cells that their neighbours suggest; NaN where a class has no rows."""
    positives, negatives = tables[:, 0], tables[:, 1]
    below = np.cumsum(negatives, axis=1) - negatives / 2.0
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    known = (positives.sum(axis=1) > 0.0) & (negatives.sum(axis=1) > 0.0)
    wins = (positives * below).sum(axis=1) + order_gain(tables)
    return _ratio(wins, pairs, known)


def _brier(tables: FloatArray, missed: FloatArray, alarmed: FloatArray) -> FloatArray:
    """Compute the mean squared error, given the error of a positive and of a negative in each cell."""
    total = tables.sum(axis=(1, 2))
    squares = tables[:, 0] @ missed**2 + tables[:, 1] @ alarmed**2
    return _ratio(squares, total, total > 0.0)


def _observed_expected(tables: FloatArray, scores: FloatArray) -> FloatArray:
    expected = tables.sum(axis=1) @ scores
    positives = tables[:, 0].sum(axis=1)
    return _ratio(positives, expected, expected > 0.0)


def _prevalence(tables: FloatArray) -> FloatArray:
    total = tables.sum(axis=(1, 2))
    return _ratio(tables[:, 0].sum(axis=1), total, total > 0.0)


def _ratio(top: FloatArray, bottom: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Ratios, NaN where they are not known."""
    with np.errstate(over="ignore"):  # scores that are all next to 0
        result: FloatArray = np.divide(top, bottom, out=np.full(top.size, np.nan), where=known)
    return result


def _intervals(
    drawn: Mapping[str, tuple[FloatArray, FloatArray]], value: float, most: float, level: float
) -> PrivateIntervals:
    """Quantiles of what is plausible; a number that does not exist could be any; the value is always inside."""
    tail = (1.0 - level) / 2.0
    names = {"sample": "noise alone, plausible counts", "population": "noise and sampling, plausible counts"}
    result = {}
    for name, (low, high) in drawn.items():
        bottom, top = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), most, high)
        lower = float(np.clip(np.quantile(bottom, tail, method="lower"), 0.0, most))
        upper = float(np.clip(np.quantile(top, 1.0 - tail, method="higher"), 0.0, most))
        result[name] = Interval(lower=min(lower, value), upper=max(upper, value), level=level, method=names[name])
    return PrivateIntervals.nested(result["sample"], result["population"])
