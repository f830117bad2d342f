"""Final by shaped noise: lines measured along an ellipsoid, and the values that follow from them.

One label changes the forms by a column of their matrix. Gaussian noise whose covariance is shaped like the smallest
ellipsoid around all columns (John's ellipsoid; dual to D-optimal design [1]_) hides every column and is small in
directions where columns are short. So differences of similar entries get little noise.

Everything here reads public scores only. A worse ellipsoid costs accuracy and no privacy.

Measured lines tell too little to estimate how much a metric varies from sample to sample. Probabilities of maximum
entropy fill the gap: each row's is `1 / (1 + exp(-l . s_i))`, where `s_i` is its public column of the strategy and l is
chosen so that the expected lines are those measured, as far as the noise allows. All of it follows from the release
and from public scores, and costs nothing.

Noise: measured lines are independent with one public scale, so forms of the labels, and by the delta method all values
and their differences, have a known covariance. The interval of a value holds every value that the form's total and the
number of positives allow within so many standard errors (the profile likelihood).

Sampling: how a metric varies from sample to sample depends on labels in more ways than were measured. It is estimated
from the likeliest labels, which agree with the measured lines, by the influence of each row.
Entries on the same rows are compared in pairs.

References
----------
.. [1] R. Harman and L. Pronzato, "Improvements on removing nonoptimal support points in D-optimum design algorithms",
   Statistics & Probability Letters 77 (2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.estimators import score_entry
from confide.contest.forms import LinearForm, linear_coefficients, metric_range
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from confide.intervals.interval import Interval, normal_quantile

STEPS = 2**20
"""Lines of the strategy are multiples of one part in so many; rounding to them costs less than 1e-6 of an AUC."""

TOLERANCE = 1e-6
"""Directions whose share of the forms' lengths is smaller than this are left out: entries are the same but for them."""

_CLOSE_COLUMNS = 1.01  # longest column against the shortest longest column possible, squared
_ELLIPSOID_TURNS = 300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strategy:
    """Integers to measure, and how the forms follow from them: `forms ~ back @ lines`.

    `lines` has a line for each measured number and a column for each row of the data.
    """

    lines: NDArray[np.int64]
    back: FloatArray

    def rounding(self, forms: NDArray[np.int64]) -> FloatArray:
        """Return for each form the most by which its total can differ from `back @ lines`, whatever the labels are."""
        lost = self.back @ self.lines - forms
        larger: FloatArray = np.maximum(np.maximum(lost, 0.0).sum(axis=1), np.maximum(-lost, 0.0).sum(axis=1))
        return larger


def shaped_strategy(forms: NDArray[np.int64]) -> Strategy:
    """Return the strategy for forms with these coefficients, one form in each line.

    Equal forms, and forms that are sums of others, add no line of their own.

    >>> strategy = shaped_strategy(np.array([[1, 1, -1], [1, 1, -1]]))
    >>> strategy.lines.shape, bool(np.allclose(strategy.back @ strategy.lines, [1, 1, -1]))
    ((1, 3), True)
    """
    different, members = np.unique(forms, axis=0, return_inverse=True)
    values = different.astype(np.float64)
    lengths = np.sqrt(np.einsum("ki,ki->k", values, values))
    values /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    shares, directions = np.linalg.eigh(values @ values.T)
    kept = shares > TOLERANCE**2
    loadings = directions[:, kept] * np.sqrt(shares[kept])
    basis = (directions[:, kept] / np.sqrt(shares[kept])).T @ values
    half = _half(basis)
    lines = np.rint(STEPS * np.linalg.solve(half, basis)).astype(np.int64)
    back = (lengths[:, None] * loadings @ half / STEPS)[members.reshape(-1)]
    return Strategy(lines=lines, back=back)


def _half(columns: FloatArray) -> FloatArray:
    """Return the lower half of the ellipsoid's matrix: a ball if nearly equal forms leave no ellipsoid."""
    lines = len(columns)
    if not lines:
        return np.zeros((0, 0))
    try:
        half: FloatArray = np.asarray(np.linalg.cholesky(_enclosing(columns)), dtype=np.float64)
    except np.linalg.LinAlgError:
        longest = float(np.einsum("ki,ki->i", columns, columns).max())
        half = math.sqrt(longest / lines) * np.eye(lines, dtype=np.float64)
    return half


def _enclosing(columns: FloatArray) -> FloatArray:
    """Return the moment matrix of D-optimal weights on the columns: `x' M^-1 x` is at most about their dimension.

    Weights are multiplied by the columns' lengths in the shape found so far. Columns that cannot touch the ellipsoid
    ([1]_, theorem 1) are left out of further turns.
    """
    lines, rows = columns.shape
    active, weights = columns, np.full(rows, 1.0 / rows)
    moments: FloatArray = (active * weights) @ active.T
    for _ in range(_ELLIPSOID_TURNS):
        lengths = np.einsum("ki,ki->i", active, np.linalg.solve(moments, active))
        excess = max(float(lengths.max()) / lines - 1.0, 0.0)
        if excess <= _CLOSE_COLUMNS - 1.0:
            break
        weights = weights * lengths
        touching = lengths >= lines * (1.0 + excess / 2.0 - math.sqrt(excess * (4.0 + excess - 4.0 / lines)) / 2.0)
        if touching.sum() < 0.8 * touching.size:
            active, weights = active[:, touching], weights[touching]
        weights /= weights.sum()
        moments = (active * weights) @ active.T
    return moments


_LABEL_TURNS = 60
_CLOSE_SUMS = 1e-9


def label_chances(lines: NDArray[np.int64], measured: tuple[int, ...], scale: float) -> FloatArray:
    """Return each row's probability of a positive label, given lines that were measured with Gaussian noise.

    They minimise `sum_i log(1 + exp(l . s_i)) - l . measured + scale^2 |l|^2 / 2`: the dual of maximum entropy with
    noisy constraints, which is strictly convex. So extreme noise cannot ask for impossible labels.
    """
    unit = max(scale, 1.0)  # in units of the noise
    columns = lines / unit
    wanted = np.array([total / unit for total in measured], dtype=np.float64)
    slopes = np.zeros(len(wanted))
    value, chances = _objective(columns, wanted, slopes)
    for _ in range(_LABEL_TURNS):
        gradient = columns @ chances - wanted + slopes
        curvature = (columns * (chances * (1.0 - chances))) @ columns.T + np.eye(len(wanted))
        step = np.linalg.solve(curvature, gradient)
        decrease = float(gradient @ step)
        if decrease < _CLOSE_SUMS:
            break
        part = 1.0
        while part > 1e-12:
            following, likely = _objective(columns, wanted, slopes - part * step)
            if following <= value - 1e-4 * part * decrease:
                break
            part /= 2.0
        else:
            break
        slopes, value, chances = slopes - part * step, following, likely
    return chances


def whole_labels(chances: FloatArray) -> NDArray[np.bool_]:
    """Return labels with these frequencies: among rows of similar probability, positives come at even distances.

    >>> whole_labels(np.array([0.5, 0.5, 0.5, 0.5, 0.0, 1.0]))
    array([ True, False,  True, False, False,  True])
    """
    order = np.argsort(chances, kind="stable")
    sums = np.floor(np.cumsum(chances[order]) + 0.5)
    labels = np.empty(chances.size, dtype=np.bool_)
    labels[order] = np.diff(sums, prepend=0.0) > 0.0
    return labels


def _objective(columns: FloatArray, wanted: FloatArray, slopes: FloatArray) -> tuple[float, FloatArray]:
    from scipy.special import expit

    logits = slopes @ columns
    value = float(np.logaddexp(0.0, logits).sum() - slopes @ wanted + 0.5 * slopes @ slopes)
    return value, expit(logits)


METHOD = "profile"

_ANGLES = np.linspace(0.0, 2.0 * np.pi, 256, endpoint=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEstimates:
    """Values of all finalists, in the order given, with their intervals and the covariance of their errors."""

    values: tuple[float, ...]
    samples: tuple[Interval, ...]
    populations: tuple[Interval, ...]
    covariance: FloatArray
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ShapedFinal:
    """Forms of the finalists, the strategy that measures them, and their scores. All of it is public."""

    metric: ContestMetric
    scores: tuple[FloatArray, ...]
    forms: tuple[LinearForm, ...]
    strategy: Strategy
    rounding: FloatArray

    @classmethod
    def of(cls, metric: ContestMetric, scores: Sequence[FloatArray]) -> ShapedFinal:
        """Return the strategy for a final: it measures every finalist's form, and the number of positives.

        Not every metric needs the latter, but the likeliest labels do: without it, differences of Brier scores of rare
        outcomes looked surer than they were.
        """
        forms = tuple(linear_coefficients(metric, each) for each in scores)
        lines = [form.coefficients for form in forms]
        wanted = np.vstack([*lines, np.ones_like(lines[0])])
        strategy = shaped_strategy(wanted)
        return cls(
            metric=metric,
            scores=tuple(scores),
            forms=forms,
            strategy=strategy,
            rounding=strategy.rounding(wanted),
        )

    @property
    def rows(self) -> int:
        """Number of rows of the final."""
        return int(self.strategy.lines.shape[1])

    def estimates(self, measured: tuple[int, ...], scale: float, level: float) -> FinalEstimates:
        """Estimate every finalist's metric from measured lines."""
        noise = scale**2 * self.strategy.back @ self.strategy.back.T
        places = self._places(self.strategy.back @ np.array(measured, dtype=np.float64), noise)
        jacobian = np.vstack([place.jacobian(number, len(noise)) for number, place in enumerate(places)])
        sampling = self._sampling(measured, scale)
        variances = [
            max(variance, place.row_variance) for variance, place in zip(np.diag(sampling), places, strict=True)
        ]
        return FinalEstimates(
            values=tuple(place.value for place in places),
            samples=tuple(place.interval(0.0, level) for place in places),
            populations=tuple(
                place.interval(float(variance), level) for place, variance in zip(places, variances, strict=True)
            ),
            covariance=jacobian @ noise @ jacobian.T + sampling,
            facts=self._facts(places[0], noise, scale),
        )

    def _places(self, totals: FloatArray, noise: FloatArray) -> list[_Place]:
        last = len(totals) - 1
        return [
            _Place(
                form=form,
                total=float(totals[number]),
                positives=float(totals[last]),
                rows=self.rows,
                noise=noise[np.ix_([number, last], [number, last])],
                rounding=float(self.rounding[number]),
            )
            for number, form in enumerate(self.forms)
        ]

    def _sampling(self, measured: tuple[int, ...], scale: float) -> FloatArray:
        """Estimate the covariance of all values over samples of rows, from the likeliest labels."""
        chances = label_chances(self.strategy.lines, measured, scale)
        labels = MaskedLabels(whole_labels(chances), Fraction(0))
        influence = np.vstack([score_entry(self.metric, scores, labels).influence for scores in self.scores])
        covariance: FloatArray = influence @ influence.T / self.rows**2
        return covariance

    def _facts(self, place: _Place, noise: FloatArray, scale: float) -> dict[str, Any]:
        return {
            "scale": scale,
            "lines": len(self.strategy.lines),
            "positives": min(max(place.positives, 0.0), float(self.rows)),
            "positives_standard_error": math.sqrt(float(noise[-1, -1])),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Place:
    """Measured total and number of positives of one form, with the covariance of their noise."""

    form: LinearForm
    total: float
    positives: float
    rows: int
    noise: FloatArray
    rounding: float

    @property
    def value(self) -> float:
        return self.form.value_of(self.total, self.positives, self.rows)

    def jacobian(self, number: int, width: int) -> FloatArray:
        """Return the derivatives of the value in all forms' totals, of which the last is the number of positives."""
        by_total, by_positives = self.form.derivatives(self.total, self.positives, self.rows)
        row = np.zeros(width)
        row[number] = by_total
        row[-1] = by_positives
        return row

    @property
    def row_variance(self) -> float:
        """Return the variance that one row stands for: the least that is assumed for sampling."""
        low, high = metric_range(self.form.metric)
        middle = self.form.sampling_variance((low + high) / 2.0, self.positives, self.rows)
        return float((4.0 * middle / (high - low)) ** 2)

    def interval(self, sampling: float, level: float) -> Interval:
        """Return the values within so many standard errors of noise and, on the total, of sampling."""
        by_total, _ = self.form.derivatives(self.total, self.positives, self.rows)
        spread = self.noise.copy()
        spread[0, 0] += sampling / by_total**2
        reach = normal_quantile(level) * _root(spread)
        circle = reach @ np.vstack((np.cos(_ANGLES), np.sin(_ANGLES)))
        ends = (self.total - self.rounding, self.total + self.rounding)
        points = [(end + dx, self.positives + dy) for end in ends for dx, dy in circle.T.tolist()]
        found = [self.form.value_of(total, positives, self.rows) for total, positives in points]
        lower, upper = min(*found, self.value), max(*found, self.value)
        return Interval(lower=lower, upper=upper, level=level, method=METHOD)


def _root(covariance: FloatArray) -> FloatArray:
    """Return a matrix whose product with its transpose is the covariance, which may be singular."""
    shares, directions = np.linalg.eigh(covariance)
    root: FloatArray = directions * np.sqrt(np.maximum(shares, 0.0))
    return root
