"""ROC-GLM fits of many small datasets: probit regression of counts on normal quantiles, without a matrix.

At a false-positive rate ``t_j`` the number of positives that reach it is ``below_j``: those whose placement, the share
of negatives that score higher, is at most ``t_j``. The line ``a + b Phi^-1(t)`` with the greatest likelihood of these
counts gives ``ROC(t) = Phi(a + b Phi^-1(t))`` and ``AUC = Phi(a / sqrt(1 + b^2))`` (Pepe 2000; Schalk et al. 2024).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.kernels.threads import Counts, Scores, compiled

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_MOST_STEPS = 100
_CONVERGED = 1e-11
_LONG = 1.0
_SMALLEST = 1e-300


class Rows(NamedTuple):
    """Scores of many datasets end to end, ascending within each; ``starts`` has one entry more than datasets."""

    positives: Scores
    positive_starts: Counts
    negatives: Scores
    negative_starts: Counts

    def __repr__(self) -> str:
        """Show no rows."""
        return object.__repr__(self)

    @property
    def datasets(self) -> int:
        """Number of datasets."""
        return self.positive_starts.size - 1


class Exact(NamedTuple):
    """Results of each dataset without noise: AUC, its variance (DeLong), the line, the area between curves, medians.

    ``reversed`` says that the negatives' median is above the positives'; lines that do not exist are NaN.
    """

    auc: Scores
    variance: Scores
    intercept: Scores
    slope: Scores
    area: Scores
    reversed: NDArray[np.bool_]

    def __repr__(self) -> str:
        """Show no rows."""
        return object.__repr__(self)


class Noisy(NamedTuple):
    """AUC of the line through noisy counts (NaN if there is no line), and the variance of placements."""

    auc: Scores
    variance: Scores


class Rates(NamedTuple):
    """False-positive rates and their normal quantiles."""

    rates: Scores
    quantiles: Scores


def probit_lines(quantiles: Scores, below: Counts, positives: Counts) -> tuple[Scores, Scores]:
    """Return intercept and slope for each row of ``below``; NaN where no finite line has the greatest likelihood.

    Counts must not fall from left to right, and quantiles must rise.
    """
    intercept, slope = np.empty(len(below)), np.empty(len(below))
    _probit_lines(quantiles, below, positives, intercept, slope)
    return intercept, slope


def exact_studies(rows: Rows, fitted: Rates, fine: Rates) -> Exact:
    """Evaluate datasets as they are; the area between curves is measured at the rates of ``fine``."""
    auc, variance, intercept, slope, area = np.empty((5, rows.datasets))
    found = Exact(auc, variance, intercept, slope, area, np.empty(rows.datasets, np.bool_))
    _exact(rows, fitted, fine, found)
    return found


def noisy_studies(rows: Rows, noise: Rows, scale: float, fitted: Rates) -> tuple[Noisy, Noisy]:
    """Fit datasets whose scores got noise of a scale: ``noise`` has a standard normal number for each score.

    In the first, survivor functions are those of noisy scores, and the exact scores of each site are placed in them: as
    the paper describes it. In the second every score is noisy and cut to [0, 1], and placed among such: as the
    simulation that was published with the paper has it.
    """
    described = Noisy(np.empty(rows.datasets), np.empty(rows.datasets))
    simulated = Noisy(np.empty(rows.datasets), np.empty(rows.datasets))
    _noisy(rows, noise, scale, fitted, described, simulated)
    return described, simulated


@compiled
def _exact(rows: Rows, fitted: Rates, fine: Rates, found: Exact) -> None:
    below = np.empty(fitted.rates.size, np.int64)
    shares = np.empty(fine.rates.size, np.int64)
    for d in range(found.auc.size):
        positives = rows.positives[rows.positive_starts[d] : rows.positive_starts[d + 1]]
        negatives = rows.negatives[rows.negative_starts[d] : rows.negative_starts[d + 1]]
        n = positives.size
        mean, of_positives = _placements(positives, negatives)
        _, of_negatives = _placements(negatives, positives)
        found.auc[d] = 1.0 - mean
        found.variance[d] = of_positives / n + of_negatives / negatives.size
        found.reversed[d] = _median(negatives) > _median(positives)
        _reaching(negatives, positives, fitted.rates, below)
        a, b = _line(fitted.quantiles, below, n)
        found.intercept[d], found.slope[d] = a, b
        _reaching(negatives, positives, fine.rates, shares)
        area = 0.0
        for j in range(shares.size):
            area += abs(_normal(a + b * fine.quantiles[j]) - shares[j] / n)
        found.area[d] = area / shares.size


@compiled
def _noisy(rows: Rows, noise: Rows, scale: float, fitted: Rates, described: Noisy, simulated: Noisy) -> None:
    below = np.empty(fitted.rates.size, np.int64)
    for d in range(described.auc.size):
        first, last = rows.positive_starts[d], rows.positive_starts[d + 1]
        positives = rows.positives[first:last]
        noisy_positives = np.sort(positives + scale * noise.positives[first:last])
        first, last = rows.negative_starts[d], rows.negative_starts[d + 1]
        negatives = rows.negatives[first:last]
        noisy_negatives = np.sort(negatives + scale * noise.negatives[first:last])
        _, of_positives = _placements(positives, noisy_negatives)
        _, of_negatives = _placements(negatives, noisy_positives)
        described.variance[d] = of_positives / positives.size + of_negatives / negatives.size
        described.auc[d] = _fitted_auc(noisy_negatives, positives, fitted, below)
        _cut(noisy_positives)
        _cut(noisy_negatives)
        _, of_positives = _placements(noisy_positives, noisy_negatives)
        _, of_negatives = _placements(noisy_negatives, noisy_positives)
        simulated.variance[d] = of_positives / positives.size + of_negatives / negatives.size
        simulated.auc[d] = _fitted_auc(noisy_negatives, noisy_positives, fitted, below)


@compiled
def _fitted_auc(negatives: Scores, positives: Scores, fitted: Rates, below: Counts) -> float:
    _reaching(negatives, positives, fitted.rates, below)
    a, b = _line(fitted.quantiles, below, positives.size)
    return _normal(a / math.sqrt(1.0 + b * b))


@compiled
def _cut(scores: Scores) -> None:
    for i in range(scores.size):
        scores[i] = min(max(scores[i], 0.0), 1.0)


@compiled
def _median(ascending: Scores) -> float:
    half = ascending.size // 2
    return float(ascending[half] if ascending.size % 2 else 0.5 * (ascending[half - 1] + ascending[half]))


@compiled
def _placements(placed: Scores, among: Scores) -> tuple[float, float]:
    """Mean and variance of the share of ``among`` that is higher than each of ``placed``; both ascending."""
    total = 0.0
    squares = 0.0
    up_to = 0
    for i in range(placed.size):
        while up_to < among.size and among[up_to] <= placed[i]:
            up_to += 1
        higher = float(among.size - up_to)
        total += higher
        squares += higher * higher
    mean = total / placed.size
    spread = (squares - total * mean) / (placed.size - 1) if placed.size > 1 else math.nan
    return mean / among.size, spread / (among.size * among.size)


@compiled
def _reaching(negatives: Scores, positives: Scores, rates: Scores, below: Counts) -> None:
    """Count at each of the ascending rates the positives with no more than that share of negatives above them."""
    m = negatives.size
    for j in range(rates.size):
        allowed = int(rates[j] * m)
        while allowed < m and (allowed + 1) / m <= rates[j]:
            allowed += 1
        while allowed > 0 and allowed / m > rates[j]:
            allowed -= 1
        if allowed >= m:
            below[j] = positives.size
        else:
            below[j] = positives.size - np.searchsorted(positives, negatives[m - 1 - allowed])


@compiled
def _probit_lines(quantiles: Scores, below: Counts, positives: Counts, intercept: Scores, slope: Scores) -> None:
    for r in range(intercept.size):
        intercept[r], slope[r] = _line(quantiles, below[r], positives[r])


@compiled
def _line(quantiles: Scores, below: Counts, positives: int) -> tuple[float, float]:
    """Newton's method from the line 0; NaN where the counts can be separated.

    As counts rise, they are separated if no rate that some positive fails lies above one that some positive reaches.
    Otherwise the likelihood, which is concave, has one greatest value. Long steps that lose likelihood are halved.
    """
    first_reached = 0
    while first_reached < below.size and below[first_reached] == 0:
        first_reached += 1
    last_failed = below.size - 1
    while last_failed >= 0 and below[last_failed] == positives:
        last_failed -= 1
    if last_failed <= first_reached:
        return math.nan, math.nan
    a, b = 0.0, 0.0
    for _ in range(_MOST_STEPS):
        da, db = _step(quantiles, below, positives, a, b)
        if abs(da) + abs(db) > _LONG:
            height = _likelihood(quantiles, below, positives, a, b)
            while _likelihood(quantiles, below, positives, a + da, b + db) < height and abs(da) + abs(db) > _CONVERGED:
                da *= 0.5
                db *= 0.5
        a += da
        b += db
        if abs(da) + abs(db) <= _CONVERGED * (1.0 + abs(a) + abs(b)):
            break
    return a, b


@compiled
def _step(quantiles: Scores, below: Counts, positives: int, a: float, b: float) -> tuple[float, float]:
    """Return the inverse of the observed information times the score."""
    s0, s1, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(quantiles.size):
        x = quantiles[j]
        eta = a + b * x
        failed = 0.5 * math.erfc(eta * _ROOT_HALF)
        reached = 1.0 - failed if failed < 0.5 else _normal(eta)
        density = math.exp(-0.5 * eta * eta) / _ROOT_TWO_PI
        up = density / max(reached, _SMALLEST)
        down = density / max(failed, _SMALLEST)
        successes, failures = below[j], positives - below[j]
        score = successes * up - failures * down
        weight = successes * up * (up + eta) + failures * down * (down - eta)
        s0 += score
        s1 += score * x
        w0 += weight
        w1 += weight * x
        w2 += weight * x * x
    determinant = w0 * w2 - w1 * w1
    return (w2 * s0 - w1 * s1) / determinant, (w0 * s1 - w1 * s0) / determinant


@compiled
def _likelihood(quantiles: Scores, below: Counts, positives: int, a: float, b: float) -> float:
    total = 0.0
    for j in range(quantiles.size):
        eta = a + b * quantiles[j]
        total += below[j] * math.log(max(_normal(eta), _SMALLEST))
        total += (positives - below[j]) * math.log(max(_normal(-eta), _SMALLEST))
    return total


@compiled
def _normal(x: float) -> float:
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-x * _ROOT_HALF)
