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
_NEAR_STEPS = 20
_NEAR_SAMPLES = 256  # at a time: with fewer, calls take longer than the work on them
_FINER = 8  # points of the fine grid for each of the coarse one
_RIVAL = 0.05  # points of the grid whose approximate criteria are so near may have the other order
_LONGEST_MOVE = 1.0  # of a penalty's logarithm in one step
_FARTHEST = 4.0  # from where the quadratic approximation has its minimum
_ONE_THREAD = 1 << 18  # multiplications up to which OpenBLAS starts no threads
_FLAT = 1e-2  # change of the criterion that counts as none beside the strongest penalty
_LEVEL = 1e-6  # slope of the criterion that counts as none at the strongest penalty


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
    most = _strongest(rows)
    if design.shape[1] == 2:
        return problem.maximise(start, most)
    return _refine(problem, _bracket(problem, start, most), tolerance)


def penalised_fit_near(
    design: FloatArray, positives: FloatArray, rows: FloatArray, near: PenalisedFit, *, tolerance: float = 1e-8
) -> PenalisedFit:
    """Fit every sample, as `penalised_fit` does, in a tenth of the time where all are like one that was fitted before.

    `near` is the fit of one sample of the same design, as that of the rows from which others are resampled. Around it
    the log-likelihood of a sample is nearly quadratic, and the criterion of the approximation has a closed form. From
    its minimum, coefficients and penalty move together by Newton's method on the true criterion, until log-odds and
    penalty are as close as `penalised_fit` brings them. Samples for which it is doubtful where `penalised_fit` would
    end, and those that do not converge, are left to it.
    """
    if design.shape[1] == 2:
        return penalised_fit(design, positives, rows, tolerance=tolerance)
    whole = _Problem.of(design, positives, rows)
    coefficients, log_penalty = np.empty((rows.shape[0], design.shape[1])), np.empty(rows.shape[0])
    information = np.empty((*coefficients.shape, design.shape[1]))
    failed: list[NDArray[Any]] = []
    around = _Expansion.at(whole, near.coefficients[0])
    for first in range(0, rows.shape[0], _NEAR_SAMPLES):
        part = np.arange(first, min(first + _NEAR_SAMPLES, rows.shape[0]))
        fit, found = _fit_together(whole.only(part), around, tolerance)
        coefficients[part], log_penalty[part] = fit.coefficients, fit.log_penalty
        information[part] = fit.information
        failed.append(part[~found])
    rest = np.concatenate(failed)
    if rest.size:
        fit = penalised_fit(design, positives[rest], rows[rest], tolerance=tolerance)
        coefficients[rest], log_penalty[rest], information[rest] = fit.coefficients, fit.log_penalty, fit.information
    return PenalisedFit(coefficients, log_penalty, information)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
        matrix: FloatArray = small_products(weight, self.products)[:, self.unpack]
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
            rate = logistic(small_products(coefficients[active], self.design.T))
            gradient = (
                small_products(part.positives - part.rows * rate, self.design) - penalty[active] * coefficients[active]
            )
            curvature = part.information(part.rows * rate * (1.0 - rate), penalty[active])
            step: FloatArray = np.linalg.solve(curvature, gradient[..., None])[..., 0].astype(np.float64, copy=False)
            reach = np.abs(small_products(step, self.design.T)).max(axis=1)
            damped = np.divide(np.log1p(reach), reach, out=np.ones_like(reach), where=reach > 0.0)
            coefficients[active] += damped[:, None] * step
            information[active] = curvature
            if (reach <= close).all():
                break
            if (reach <= close).mean() > 0.3:
                active = active[reach > close]
                part = self.only(active)
        return PenalisedFit(coefficients, log_penalty, information)

    def look(self, coefficients: FloatArray, log_penalty: FloatArray) -> _Look:
        """Return Newton's step and the criterion's slope at coefficients that are near their maximum."""
        rate = logistic(small_products(coefficients, self.design.T))
        penalty, amount, curved = self.penalty(log_penalty), np.exp(log_penalty), coefficients[:, 2:]
        weight = self.rows * rate
        gradient = small_products(self.positives - weight, self.design) - penalty * coefficients
        weight *= 1.0 - rate
        information = self.information(weight, penalty)
        inverse = np.linalg.inv(information)
        step = np.einsum("bij,bj->bi", inverse, gradient)
        turn = -amount[:, None] * np.einsum("bij,bj->bi", inverse[:, :, 2:], curved)
        moved = small_products(turn, self.design.T)
        weight *= (1.0 - 2.0 * rate) * moved
        turned = np.einsum("bij,bij->b", inverse, small_products(weight, self.products)[:, self.unpack])
        trace = amount * np.trace(inverse[:, 2:, 2:], axis1=1, axis2=2)
        return _Look(
            step=step,
            reach=np.abs(small_products(step, self.design.T)).max(axis=1),
            turn=turn,
            turn_reach=np.abs(moved).max(axis=1),
            slope=0.5 * (amount * np.sum(curved**2, axis=1) - curved.shape[1] + trace + turned),
            information=information,
        )

    def criterion(self, fit: PenalisedFit) -> tuple[FloatArray, FloatArray]:
        """Return `V` and its derivative in the logarithm of the penalty, for each sample."""
        amount, curved = np.exp(fit.log_penalty), fit.coefficients[:, 2:]
        log_odds = small_products(fit.coefficients, self.design.T)
        rate, size = logistic(log_odds), np.sum(curved**2, axis=1)
        soft = np.maximum(log_odds, 0.0) + np.log1p(np.exp(-np.abs(log_odds)))
        likelihood = np.sum(self.positives * log_odds - self.rows * soft, axis=1)
        plain = likelihood - 0.5 * _RIDGE * np.sum(fit.coefficients[:, :2] ** 2, axis=1)
        columns = curved.shape[1]
        determinant = np.linalg.slogdet(fit.information)[1]
        value = -plain + 0.5 * amount * size - 0.5 * columns * fit.log_penalty + 0.5 * determinant
        inverse = np.linalg.inv(fit.information)
        # The coefficients move with the penalty, and the information with them.
        turn = -amount[:, None] * np.einsum("bij,bj->bi", inverse[:, :, 2:], curved)
        moved = small_products(turn, self.design.T)
        change = self.rows * rate * (1.0 - rate) * (1.0 - 2.0 * rate) * moved
        turned = np.einsum("bij,bij->b", inverse, small_products(change, self.products)[:, self.unpack])
        trace = amount * np.trace(inverse[:, 2:, 2:], axis1=1, axis2=2)
        return value, 0.5 * (amount * size - columns + trace + turned)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Expansion:
    """Coefficients around which the log-likelihood of any sample is expanded to the second order.

    `expected` and `curvatures` are what a row of each cell adds to the expected gradient and to the information.
    """

    coefficients: FloatArray
    expected: FloatArray
    curvatures: FloatArray

    @classmethod
    def at(cls, problem: _Problem, coefficients: FloatArray) -> _Expansion:
        rate = logistic(problem.design @ coefficients)
        return cls(coefficients, rate[:, None] * problem.design, (rate * (1.0 - rate))[:, None] * problem.products)

    def quadratic(self, problem: _Problem) -> _Quadratic:
        """Expand the log-likelihood of each sample.

        The free coefficients are eliminated; what remains of the information has the eigenvalues `values`, and
        `squares` are the squared gradients along its eigenvectors.
        """
        information = small_products(problem.rows, self.curvatures)[:, problem.unpack]
        information[:, [0, 1], [0, 1]] += _RIDGE
        gradient = small_products(problem.positives, problem.design) - small_products(problem.rows, self.expected)
        target = gradient + information @ self.coefficients
        free, mixed, curved = information[:, :2, :2], information[:, :2, 2:], information[:, 2:, 2:]
        solved = np.linalg.solve(free, np.concatenate((mixed, target[:, :2, None]), axis=2))
        values, vectors = np.linalg.eigh(curved - np.swapaxes(mixed, 1, 2) @ solved[:, :, :-1])
        pull = target[:, 2:] - np.einsum("bij,bi->bj", mixed, solved[:, :, -1])
        squares = np.einsum("bij,bi->bj", vectors, pull) ** 2
        return _Quadratic(information, target, np.maximum(values, 0.0), squares, _strongest(problem.rows))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Quadratic:
    """Quadratic approximation of each sample's log-likelihood; its criterion has a closed form.

    With eigenvalues `d` and squared gradients `b^2` it is half of the sum over `j` of
    `log(d_j + penalty) - log(penalty) - b_j^2 / (d_j + penalty)`.
    """

    information: FloatArray
    target: FloatArray
    values: FloatArray
    squares: FloatArray
    most: FloatArray

    def start(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the penalty (logarithm) where `_bracket` and `_refine` would end, and whether that is beyond doubt.

        Each point of the coarse grid leads to the least criterion between it and its neighbour on the falling side. It
        is doubtful which point is best if another has nearly the same criterion and leads elsewhere.
        """
        fine = _FINER * (_GRID - 1)
        grid = np.linspace(self.most, np.log(_LEAST_PENALTY), fine + 1)
        amount = np.exp(grid)[:, :, None]
        sums = self.values + amount
        criterion = 0.5 * np.sum(np.log(sums) - np.log(amount) - self.squares / sums, axis=2)
        coarse = criterion[::_FINER]
        slopes = np.sum((amount * (1.0 + self.squares / sums) / sums)[::_FINER] - 1.0, axis=2)
        between = np.stack([criterion[i : i + _FINER + 1] for i in range(0, fine, _FINER)])
        lowest = np.argmin(between, axis=1) + np.arange(0, fine, _FINER)[:, None]
        below = np.minimum(np.arange(_GRID), _GRID - 2)
        above = np.maximum(np.arange(_GRID) - 1, 0)
        ends = np.where(slopes > 0.0, lowest[below], lowest[above])  # the grid descends
        ends[0] = np.where(slopes[0] > 0.0, ends[0], 0)
        ends[-1] = np.where(slopes[-1] > 0.0, fine, ends[-1])
        samples = np.arange(self.most.size)
        best = np.argmin(coarse, axis=0)
        end = ends[best, samples]
        # Where the criterion hardly changes from the strongest penalty on, its order is not in doubt.
        tail = np.sum(np.logical_and.accumulate(np.abs(criterion - criterion[0]) < _FLAT, axis=0), axis=0)
        away = (np.abs(ends - end) > _FINER // 2) & ~((ends < tail) & (end < tail))
        elsewhere = away & (coarse <= coarse[best, samples] + _RIVAL)
        return grid[end, samples], ~elsewhere.any(axis=0)

    def coefficients(self, log_penalty: FloatArray) -> FloatArray:
        """Maximise the approximation at a penalty of each sample."""
        matrix = self.information.copy()
        diagonal = np.arange(2, matrix.shape[1])
        matrix[:, diagonal, diagonal] += np.exp(log_penalty)[:, None]
        return np.asarray(np.linalg.solve(matrix, self.target[..., None])[..., 0], dtype=np.float64)

    def bend(self, log_penalty: FloatArray) -> FloatArray:
        """Return the criterion's second derivative in the logarithm of the penalty."""
        amount = np.exp(log_penalty)[:, None]
        sums = self.values + amount
        terms = amount * self.values / sums**2 + self.squares * amount * (self.values - amount) / sums**3
        bend: FloatArray = 0.5 * np.sum(terms, axis=1)
        return bend


def small_products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Multiply matrices some lines at a time: so small that the linear algebra library starts no threads for it.

    Its threads wait for each other in loops: on a processor that others use too, that takes many times longer.
    """
    step = max(1, _ONE_THREAD // max(right.size, 1))
    if step >= left.shape[0]:
        return left @ right
    result = np.empty((left.shape[0], right.shape[1]))
    for first in range(0, left.shape[0], step):
        np.matmul(left[first : first + step], right, out=result[first : first + step])
    return result


def _strongest(rows: FloatArray) -> FloatArray:
    """Return the logarithm of each sample's strongest penalty."""
    strongest: FloatArray = np.log(1e3 * np.maximum(rows.sum(axis=1), 1.0))
    return strongest


def _fit_together(problem: _Problem, around: _Expansion, tolerance: float) -> tuple[PenalisedFit, NDArray[np.bool_]]:
    """Move coefficients and penalty of each sample together; tell also which samples converged."""
    quadratic = around.quadratic(problem)
    start, certain = quadratic.start()
    coefficients, log_penalty, bend = quadratic.coefficients(start), start.copy(), quadratic.bend(start)
    least, most = np.log(_LEAST_PENALTY), quadratic.most
    information = quadratic.information.copy()
    converged = np.zeros(start.size, np.bool_)
    before, slope_before = np.full(start.size, np.nan), np.full(start.size, np.nan)
    active = np.flatnonzero(certain)
    for _ in range(_NEAR_STEPS):
        if not active.size:
            break
        part, place = problem.only(active), log_penalty[active]
        look = part.look(coefficients[active], place)
        with np.errstate(all="ignore"):
            secant = (look.slope - slope_before[active]) / (place - before[active])
        useful = np.isfinite(secant) & (secant > 0.0) & (np.abs(place - before[active]) > 1e-9)
        bend[active] = np.where(useful, secant, bend[active])
        with np.errstate(all="ignore"):
            move = np.clip(np.nan_to_num(-look.slope / bend[active], nan=0.0), -_LONGEST_MOVE, _LONGEST_MOVE)
        move = np.where(bend[active] > 0.0, move, -np.sign(look.slope) * _LONGEST_MOVE)
        move = np.clip(place + move, least, most[active]) - place
        move[(place >= most[active]) & (look.slope <= _LEVEL)] = 0.0
        coefficients[active] += look.step + move[:, None] * look.turn
        log_penalty[active], information[active] = place + move, look.information
        before[active], slope_before[active] = place, look.slope
        settled = (np.abs(move) <= tolerance) | (np.abs(move) * look.turn_reach <= _CLOSE)
        settled &= look.reach <= _CLOSE
        converged[active[settled]] = True
        astray = (np.abs(log_penalty[active] - start[active]) > _FARTHEST) | (look.reach > 1.0)
        active = active[~(settled | astray)]
    return PenalisedFit(coefficients, log_penalty, information), converged


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Look:
    """Local behaviour of each sample's criterion.

    `step` is Newton's step of the coefficients, and `turn` their derivative in the logarithm of the penalty; `reach`
    and `turn_reach` are the largest changes of log-odds by either. `slope` is the criterion's derivative.
    """

    step: FloatArray
    reach: FloatArray
    turn: FloatArray
    turn_reach: FloatArray
    slope: FloatArray
    information: FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
