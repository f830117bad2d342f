"""Estimates of a shaped final: from lines that were measured with Gaussian noise to values, intervals and variances.

Noise: measured lines are independent with one public scale, so forms of the labels, and by the delta method all values
and their differences, have a known covariance. The interval of a value holds every value that the form's total and the
number of positives allow within so many standard errors (the profile likelihood).

Sampling: how a metric varies from sample to sample depends on labels in more ways than were measured. It is estimated
from the likeliest labels, which agree with the measured lines (see `likely_labels`), by the influence of each row.
Entries on the same rows are compared in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.contest.ellipsoid import Strategy, shaped_strategy
from confide.contest.estimators import score_entry
from confide.contest.forms import LinearForm, linear_coefficients, metric_range
from confide.contest.likely_labels import label_chances, whole_labels
from confide.contest.masked import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from confide.intervals.interval import Interval, normal_quantile

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
