"""Thresholds found privately, as medians of medians: Stoddard, Chen & Machanavajjhala (2014), algorithm 4.

The median of all rows splits them, those of the two parts split these, and so on: `levels` levels give up to
`2^levels - 1` thresholds with about as many rows between any two of them. Each level has the same share of epsilon.

`smooth_medians` is the published algorithm with its noise corrected: median plus Cauchy noise on the scale of the
median's smooth sensitivity. `exponential_medians` chooses among the inner edges of a public grid, each the likelier
the more evenly it splits the rows.

Proof: recursive_medians.proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.grid import Grid
from confide.privacy.mechanisms.smooth_sensitivity import Calibration
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, as_fraction, exponential, lower_log
from confide.privacy.queries import SYSTEM_NOISE, Noise

MOST_LEVELS = 20
MOST_ROWS = 2**60

SMALLEST = Fraction(1, 2**100)
"""Length of the shortest gap that a bound knows, far below the grid on which medians are released."""

_UNIT = 2**40  # of logarithms
_CLASSES = 2**10  # of lengths between a power of two and the next
_NEVER = 2**62
_LEAST_ROWS = 4096  # for which a bound is computed to spend time

End = TypeVar("End", int, float)


def smooth_medians(
    scores: ArrayLike,
    *,
    levels: int,
    epsilon: Fraction,
    neighbours: Neighbours,
    low: float = 0.0,
    high: float = 1.0,
    noise: Noise = SYSTEM_NOISE,
) -> tuple[float, ...]:
    """Find ascending thresholds in (low, high) by noisy medians.

    Scores at or beyond `low` and `high` are left out, as no threshold divides them, and so are those that
    equal a threshold when its two sides are split further. A noisy median that is not inside its range gives
    way to the middle of it. There are `2^levels - 1` thresholds, unless ranges become so narrow that no float
    lies inside.
    """
    calibration = median_cauchy(level_epsilon(epsilon, levels, neighbours))
    return medians_with(calibration, scores, levels=levels, low=low, high=high, noise=noise)


def exponential_medians(
    cells: ArrayLike,
    grid: Grid,
    *,
    levels: int,
    epsilon: Fraction,
    neighbours: Neighbours,
    noise: Noise = SYSTEM_NOISE,
) -> tuple[float, ...]:
    """Find ascending thresholds among the inner edges of a public grid, by the exponential mechanism.

    `cells` holds the number of rows in each cell. The cost of an edge is the difference between the rows of its
    range below it and those above, which one row more or less changes by 1: the rate is half a level's epsilon.
    A range without an inner edge yields no threshold.
    """
    rate = level_epsilon(epsilon, levels, neighbours) / 2
    below = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(_row_counts(cells, grid))))

    def split(left: int, right: int) -> int | None:
        costs = split_costs(below, left, right)
        return left + 1 + noise.exponential_choice(costs, rate) if costs.size else None

    return tuple(float(grid.edges[edge]) for edge in _divided(0, len(grid), levels, split))


def level_epsilon(epsilon: Fraction, levels: int, neighbours: Neighbours) -> Fraction:
    """Return the epsilon of a level for adding or removing a row; a replaced row is removed once and added once."""
    if isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= MOST_LEVELS:
        raise ParameterError(f"levels must be a whole number from 1 to {MOST_LEVELS}, got {levels!r}")
    whole = as_fraction(epsilon, "epsilon")
    if whole <= 0:
        raise ParameterError(f"epsilon must be greater than 0, got {epsilon}")
    if neighbours == Neighbours.LABEL_ONLY:
        raise ParameterError(
            "under label-only the scores are public and their quantiles cost nothing: "
            "make the grid with Grid.quantiles and spend epsilon on the counts"
        )
    return whole / (levels * (2 if neighbours == Neighbours.REPLACE_ONE else 1))


def median_cauchy(epsilon: Fraction) -> Calibration:
    """Calibrate Cauchy noise for one median: scale `8S/epsilon` as published, and so `beta = 7/8 epsilon`.

    Published are `beta = epsilon` and a scale with the epsilon of all levels together, which is not private.
    """
    return Calibration(family="cauchy", beta=Fraction(7, 8) * epsilon, multiplier=8 / epsilon)


def medians_with(
    calibration: Calibration, scores: ArrayLike, *, levels: int, low: float, high: float, noise: Noise
) -> tuple[float, ...]:
    """Find thresholds with a median's noise of one's own: as private as that is, at every level."""
    ordered = _ordered(scores)
    if not (np.isfinite(high - low) and low < high):
        raise ParameterError(f"low must be below high, both finite and not too far apart; got {low!r} and {high!r}")

    seen = 0

    def split(left: float, right: float) -> float | None:
        nonlocal seen
        start, stop = np.searchsorted(ordered, left, side="right"), np.searchsorted(ordered, right, side="left")
        padded = np.concatenate(([left], ordered[start:stop], [right]))
        seen += padded.size - 2
        return inside(
            calibration.query(median(padded), smooth_bound(padded, calibration.beta)).draw(noise), left, right
        )

    thresholds = tuple(_divided(float(low), float(high), levels, split))
    _spend_time(ordered, levels * ordered.size - seen, levels, calibration.beta)
    return thresholds


def median(padded: FloatArray) -> Fraction:
    """Return the median of ascending points between two ends; the middle of the ends if there are no points."""
    last = padded.size - 1
    return (Fraction(float(padded[last // 2])) + Fraction(float(padded[last - last // 2]))) / 2


def smooth_bound(padded: FloatArray, beta: Fraction) -> ExactReal:
    """Return a smooth bound on the sensitivity of that median to adding and removing points.

    `S = max of exp(-beta (j - i - 1)) F(x_j - x_i)/2 over i < j with |i + j - (n + 1)| <= 1`, where
    `x_1 <= ... <= x_n` are the points, `x_0` and `x_n+1` the ends, and F rounds a length up by at most a thousandth;
    S is at least `SMALLEST / 2`. Lengths and decays are whole numbers of 2^-40 on the scale of logarithms, so that the
    greatest term is found among integers: the work depends on the number of points alone, and not on ties.
    """
    lows, highs, removed = _pairs(padded)
    decay, limit = int(beta * _UNIT), int(_log_parts(SMALLEST))
    decays = decay * np.minimum(removed, limit // max(decay, 1) + 1)  # those beyond the limit count as the limit
    cost = min(int((_length_costs(highs - lows) + decays).min()), limit)
    return exponential(-Fraction(cost, _UNIT)) * Fraction(1, 2)


def split_costs(below: NDArray[np.int64], left: int, right: int) -> NDArray[np.int64]:
    """Return how unevenly each edge splits the rows between two others; `below[e]` are the rows below edge e."""
    costs: NDArray[np.int64] = np.abs(2 * below[left + 1 : right] - below[left] - below[right])
    return costs


def inside(drawn: Fraction, left: float, right: float) -> float | None:
    """Return a drawn number if it is strictly inside a range, else its middle; a float if one lies there."""
    middle = (Fraction(left) + Fraction(right)) / 2
    threshold = float(drawn if left < drawn < right else middle)
    if not left < threshold < right:
        threshold = float(middle)
    return threshold if left < threshold < right else None


def _divided(left: End, right: End, levels: int, split: Callable[[End, End], End | None]) -> Iterator[End]:
    """Split a range, and its two parts again, so many levels deep; what is split depends on former splits alone."""
    middle = split(left, right) if levels else None
    if middle is not None:
        yield from _divided(left, middle, levels - 1, split)
        yield middle
        yield from _divided(middle, right, levels - 1, split)


def _spend_time(ordered: FloatArray, rows: int, levels: int, beta: Fraction) -> None:
    """Take the time that so many rows take in nodes: how many rows of a level are in none, as they tie, is private."""
    at_once = max(ordered.size >> (levels - 1), _LEAST_ROWS)
    for start in range(0, rows, at_once):
        smooth_bound(np.zeros(min(at_once, rows - start) + 2), beta)


def _pairs(padded: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return the pairs around the middle: both points, and how many lie between."""
    lows, highs, removed = [], [], []
    for points in (padded, padded[:-1], padded[1:]):
        half = points.size // 2
        lows.append(points[:half])
        highs.append(points[::-1][:half])
        removed.append(points.size - 2 - 2 * np.arange(half))
    return np.concatenate(lows), np.concatenate(highs), np.concatenate(removed)


def _length_costs(lengths: FloatArray) -> NDArray[np.int64]:
    """Return `-log F(length)` in units of 2^-40 for floats of at least 0; F is the upper end of a length's class.

    A class holds the floats with the same exponent and the same first digits. A length of 0 costs the most.
    """
    mantissas, exponents = np.frexp(lengths)
    digits = (mantissas * (2 * _CLASSES)).astype(np.int64) - _CLASSES
    doubled = int(_log_parts(Fraction(2)))  # rounded down; a cost must not be rounded up
    powers = -exponents.astype(np.int64) * np.where(exponents > 0, doubled + 1, doubled)
    return np.where(lengths > 0.0, powers + _digit_costs()[digits], _NEVER)


@cache
def _digit_costs() -> NDArray[np.int64]:
    """Return the costs of the upper ends of the classes between 1/2 and 1."""
    ends = (Fraction(_CLASSES + place, 2 * _CLASSES) for place in range(1, _CLASSES + 1))
    return np.array([int(_log_parts(end)) for end in ends], dtype=np.int64)


@cache
def _log_parts(number: Fraction) -> Fraction:
    """Return `|log(number)|` in units of 2^-40, not rounded up."""
    return lower_log(max(number, 1 / number)) * _UNIT


def _ordered(scores: ArrayLike) -> FloatArray:
    ordered = np.sort(np.asarray(scores, dtype=np.float64).ravel())
    if not np.isfinite(ordered).all():
        raise ParameterError("scores must be finite numbers; leave out rows without a score before a release")
    return ordered


def _row_counts(cells: ArrayLike, grid: Grid) -> NDArray[np.int64]:
    """Rows in each cell, as integers. They are private, so none is shown."""
    counts = np.asarray(cells)
    if counts.dtype.kind not in "iu" or counts.shape != (len(grid),):
        raise ParameterError(f"cells must hold one whole number of rows for each of the grid's {len(grid)} cells")
    if counts.size and (counts.min() < 0 or sum(counts.tolist()) > MOST_ROWS):
        raise ParameterError("cells must hold numbers of rows, none negative and at most 2^60 in all")
    return counts.astype(np.int64)
