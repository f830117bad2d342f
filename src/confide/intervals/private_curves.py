"""Bands around private curves: one region in which all points of the curve lie at once.

The noise in counts has a known law that does not depend on the data, so whole sets of counts can be
ruled out by simulating it. For each edge of the grid the region bounds the share of each class above the
edge: a share t is kept if `sum above - t total` is no further from 0 than noise (and, for the
population, sampling) would carry it, where one factor, the quantile of the largest of all such
deviations, serves every edge of both classes and the ratio of the classes. Between edges a curve can only go up
and right, which bounds it there. ROC and PR bands, and operating points chosen after looking, all
follow from the same region and hold together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.counts import FloatArray, read_only
from confide.intervals.bands import Band

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
    lower, upper = _between(region.alarm, region.recall, at)
    return Band(at, lower, upper, region.level)


def pr_band(region: CurveRegion) -> Band:
    """A band that holds precision at every recall: `r / (r + f m/n)` for the false-positive rates f possible at r."""
    at = _places()
    fewest, most = _between(region.recall, region.alarm, at)
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


def _between(x: FloatArray, y: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
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
