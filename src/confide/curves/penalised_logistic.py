"""Logistic regression with a penalty whose size the data choose, for many samples of the same scores at once.

The last columns of the design have coefficients `c_j ~ N(0, 1/penalty)`, the first two are free. The penalty maximises
the restricted likelihood in Laplace's approximation (Wood 2011, JRSS B 73:3): it minimises

    V = -l + penalty |c|^2 / 2 - (columns - 2) log(penalty) / 2 + log det(H + penalty) / 2

at the coefficients that maximise the penalised likelihood, where `H` is the information. A sample is a line of
`positives` and of `rows`; all samples share the design, so a step for all of them is one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray

_RIDGE = 1e-9  # of constant and line: keeps separated classes from moving to infinity
_LEAST_PENALTY = 1e-6  # a standard deviation of 1,000 for a function of roughness 1
_MOST_STEPS = 100
_CLOSE = 1e-7  # in log-odds; Newton's next step is of the order of its square
_ROUGHLY = 1e-2  # near enough to tell which penalty of a coarse grid is best
_GRID = 11
_REFINEMENTS = 40


@dataclass(frozen=True, slots=True, eq=False)
class PenalisedFit:
    """Coefficients, penalty and information (with penalty) of each sample."""

    coefficients: FloatArray
    log_penalty: FloatArray
    information: FloatArray


def penalised_fit(
    design: FloatArray, positives: FloatArray, rows: FloatArray, *, tolerance: float = 1e-8
) -> PenalisedFit:
    """Fit every sample; the logarithm of its penalty is found to within `tolerance`."""
    problem = _Problem.of(design, positives, rows)
    start = np.zeros((rows.shape[0], design.shape[1]))
    share = (positives.sum(axis=1) + 0.5) / (rows.sum(axis=1) + 1.0)
    start[:, 0] = np.log(share / (1.0 - share))
    most = np.log(1e3 * np.maximum(rows.sum(axis=1), 1.0))
    if design.shape[1] == 2:
        return problem.maximise(start, most)
    return _refine(problem, _bracket(problem, start, most), tolerance)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    design: FloatArray
    products: FloatArray
    unpack: NDArray[Any]
    positives: FloatArray
    rows: FloatArray

    @classmethod
    def of(cls, design: FloatArray, positives: FloatArray, rows: FloatArray) -> _Problem:
        """Prepare the products of each two columns, from which the information is summed."""
        size = design.shape[1]
        first, second = np.triu_indices(size)
        unpack = np.empty((size, size), np.int64)
        unpack[first, second] = unpack[second, first] = np.arange(first.size)
        return cls(design, design[:, first] * design[:, second], unpack, positives, rows)

    def only(self, chosen: NDArray[Any]) -> _Problem:
        """Keep some of the samples."""
        return _Problem(self.design, self.products, self.unpack, self.positives[chosen], self.rows[chosen])

    def penalty(self, log_penalty: FloatArray) -> FloatArray:
        """Return the penalty on each coefficient of each sample."""
        amount = np.full((log_penalty.size, self.design.shape[1]), _RIDGE)
        amount[:, 2:] = np.exp(log_penalty)[:, None]
        return amount

    def information(self, weight: FloatArray, penalty: FloatArray) -> FloatArray:
        """Return the penalised information of each sample."""
        matrix: FloatArray = (weight @ self.products)[:, self.unpack]
        diagonal = np.arange(penalty.shape[1])
        matrix[:, diagonal, diagonal] += penalty
        return matrix

    def maximise(self, start: FloatArray, log_penalty: FloatArray, close: float = _CLOSE) -> PenalisedFit:
        """Maximise the penalised likelihood by damped Newton steps.

        A step that changes log-odds by at most `d` is shortened to `log(1 + d) / d` of it: the third derivative of the
        logistic loss is at most its second, so each step then raises the likelihood (Sun and Tran-Dinh 2019,
        Mathematical Programming 178:145).
        """
        coefficients, penalty = start.copy(), self.penalty(log_penalty)
        active = np.arange(start.shape[0])
        part, information = self, np.empty((*start.shape, start.shape[1]))
        for _ in range(_MOST_STEPS):
            rate = logistic(coefficients[active] @ self.design.T)
            gradient = (part.positives - part.rows * rate) @ self.design - penalty[active] * coefficients[active]
            curvature = part.information(part.rows * rate * (1.0 - rate), penalty[active])
            step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
            reach = np.abs(step @ self.design.T).max(axis=1)
            damped = np.divide(np.log1p(reach), reach, out=np.ones_like(reach), where=reach > 0.0)
            coefficients[active] += damped[:, None] * step
            information[active] = curvature
            if (reach <= close).all():
                break
            if (reach <= close).mean() > 0.3:
                active = active[reach > close]
                part = self.only(active)
        return PenalisedFit(coefficients, log_penalty, information)

    def criterion(self, fit: PenalisedFit) -> tuple[FloatArray, FloatArray]:
        """Return `V` and its derivative in the logarithm of the penalty, for each sample."""
        amount, curved = np.exp(fit.log_penalty), fit.coefficients[:, 2:]
        log_odds = fit.coefficients @ self.design.T
        rate, size = logistic(log_odds), np.sum(curved**2, axis=1)
        soft = np.maximum(log_odds, 0.0) + np.log1p(np.exp(-np.abs(log_odds)))
        likelihood = np.sum(self.positives * log_odds - self.rows * soft, axis=1)
        plain = likelihood - 0.5 * _RIDGE * np.sum(fit.coefficients[:, :2] ** 2, axis=1)
        columns = curved.shape[1]
        determinant = np.linalg.slogdet(fit.information)[1]
        value = -plain + 0.5 * amount * size - 0.5 * columns * fit.log_penalty + 0.5 * determinant
        inverse = np.linalg.inv(fit.information)
        # The coefficients move with the penalty, and the information with them.
        moved = -amount[:, None] * np.einsum("bij,bj->bi", inverse[:, :, 2:], curved) @ self.design.T
        change = self.rows * rate * (1.0 - rate) * (1.0 - 2.0 * rate) * moved
        turned = np.einsum("bij,bij->b", inverse, (change @ self.products)[:, self.unpack])
        trace = amount * np.trace(inverse[:, 2:, 2:], axis1=1, axis2=2)
        return value, 0.5 * (amount * size - columns + trace + turned)


@dataclass(frozen=True, slots=True, eq=False)
class _Bracket:
    """Two penalties of each sample (logarithms) with the criterion's slopes at them, and coefficients near both."""

    low: FloatArray
    high: FloatArray
    slope_low: FloatArray
    slope_high: FloatArray
    coefficients: FloatArray


def _bracket(problem: _Problem, start: FloatArray, most: FloatArray) -> _Bracket:
    """Search a grid from the largest penalty down; return the best point with its neighbour on the falling side."""
    grid = np.linspace(most, np.log(_LEAST_PENALTY), _GRID)
    values, slopes, fits = np.empty(grid.shape), np.empty(grid.shape), np.empty((*grid.shape, start.shape[1]))
    coefficients = start
    for i, log_penalty in enumerate(grid):
        fit = problem.maximise(coefficients, log_penalty, _ROUGHLY)
        values[i], slopes[i] = problem.criterion(fit)
        coefficients = fits[i] = fit.coefficients
    sample = np.arange(start.shape[0])
    best = np.argmin(values, axis=0)
    other = np.clip(best + np.where(slopes[best, sample] > 0.0, 1, -1), 0, _GRID - 1)
    low, high = np.maximum(best, other), np.minimum(best, other)  # the grid descends
    return _Bracket(
        grid[low, sample], grid[high, sample], slopes[low, sample], slopes[high, sample], fits[best, sample]
    )


def _refine(problem: _Problem, bracket: _Bracket, tolerance: float) -> PenalisedFit:
    """Find where the criterion's slope passes 0 between two penalties, by the Illinois variant of regula falsi."""
    low, high = bracket.low.copy(), bracket.high.copy()
    slope_low, slope_high = bracket.slope_low.copy(), bracket.slope_high.copy()
    coefficients, point = bracket.coefficients.copy(), np.where(slope_high <= 0.0, high, low)
    above_before = np.zeros(low.size)
    todo = np.flatnonzero(high - low > tolerance)
    for _ in range(_REFINEMENTS):
        if not todo.size:
            break
        before = point[todo]
        point[todo] = _between(low[todo], high[todo], slope_low[todo], slope_high[todo])
        part = problem.only(todo)
        fit = part.maximise(coefficients[todo], point[todo])
        coefficients[todo] = fit.coefficients
        slope = part.criterion(fit)[1]
        above = np.where(slope > 0.0, 1, -1)
        again = above == above_before[todo]
        for side, end, end_slope, other_slope in ((1, high, slope_high, slope_low), (-1, low, slope_low, slope_high)):
            moved = todo[above == side]
            end[moved], end_slope[moved] = point[moved], slope[above == side]
            other_slope[todo[(above == side) & again]] /= 2.0  # the same end moved twice: weigh the other less
        above_before[todo] = above
        settled = (np.abs(point[todo] - before) <= tolerance) | (high[todo] - low[todo] <= tolerance)
        todo = todo[~settled]
    return problem.maximise(coefficients, point)


def _between(low: FloatArray, high: FloatArray, slope_low: FloatArray, slope_high: FloatArray) -> FloatArray:
    """Return where a line through both slopes passes 0, or the middle where it does not."""
    crossing = (slope_low < 0.0) & (slope_high > 0.0)
    share = np.divide(slope_high, slope_high - slope_low, out=np.full(low.size, 0.5), where=crossing)
    point: FloatArray = high - share * (high - low)
    return point


def logistic(log_odds: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds, without overflow."""
    rates: FloatArray = 1.0 / (1.0 + np.exp(np.minimum(-log_odds, 700.0)))
    return rates
