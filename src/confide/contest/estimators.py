"""Score an entry against masked labels: its value, two intervals, and the influence of each row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.contest.masked import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.contest.ratios import RatioForm, ratio_form
from confide.counts import FloatArray
from confide.intervals.interval import Interval, normal_quantile

METHOD = "Fieller"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EntryScore:
    """Score of an entry.

    `value` estimates the metric on the true labels, cut to the metric's range. `sample` holds that metric: it accounts
    for masking. `population` holds the metric of the population that the rows come from: it accounts for masking and
    sampling, as does `standard_error`. `influence` has mean 0 and one number for each row: the variance of the value is
    about `sum(influence^2) / N^2`, and that of the difference of two entries on the same rows
    `sum((influence - other)^2) / N^2`.
    """

    value: float
    sample: Interval
    population: Interval
    standard_error: float
    influence: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the influence of rows."""
        return {
            "value": self.value,
            "sample": self.sample.to_dict(),
            "population": self.population.to_dict(),
            "standard_error": self.standard_error,
        }


def score_entry(metric: ContestMetric, scores: FloatArray, labels: MaskedLabels, *, level: float = 0.95) -> EntryScore:
    """Score an entry against masked labels. It is post-processing: it costs nothing and can be repeated.

    Both intervals invert the test of `numerator - theta * denominator = 0` (Fieller 1954), so they hold their level
    where the denominator is not known well, and span the whole range where nothing is known.

    >>> from fractions import Fraction
    >>> masked = MaskedLabels(np.array([False, True, False, True] * 50), Fraction(1, 10))
    >>> score = score_entry(ContestMetric.checked("auc"), np.linspace(0, 1, 200) ** 2, masked)
    >>> round(score.value, 3), score.value in score.population
    (0.506, True)
    """
    return _score(ratio_form(metric, scores, labels), labels.noise_variance, level)


def _score(form: RatioForm, noise_variance: float, level: float) -> EntryScore:
    quantile = normal_quantile(level)
    value, rows = form.value, form.projection[0].size
    influence = form.projection[0] - value * form.projection[1]
    influence -= influence.mean()
    influence *= rows / form.safe_denominator
    low, high = _fieller(form, _squares(*form.projection), quantile)
    reach = quantile * (form.range[1] - form.range[0]) * form.row_weight / form.safe_denominator
    population = max(min(low, value - reach), form.range[0]), min(max(high, value + reach), form.range[1])
    sample = _fieller(form, noise_variance * _squares(*form.gradient), quantile)
    return EntryScore(
        value=value,
        sample=Interval(lower=sample[0], upper=sample[1], level=level, method=METHOD),
        population=Interval(lower=population[0], upper=population[1], level=level, method=METHOD),
        standard_error=math.sqrt(float(influence @ influence)) / rows,
        influence=form.in_rows(influence),
    )


def _squares(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return the coefficients of `sum_i (above_i - theta below_i)^2` in 1, -2 theta and theta^2."""
    return np.array([above @ above, above @ below, below @ below])


def _fieller(form: RatioForm, variance: FloatArray, quantile: float) -> tuple[float, float]:
    """Return the ends of all theta in the metric's range with `(value - theta)^2 denominator^2 <= c^2 variance(theta)`.

    The value is cut to the range, which holds the truth: so the set is never empty and covers no less often. It is an
    interval if the denominator differs significantly from 0, and else the complement of one, or everything. The ends
    then are those of the smallest interval in the range that holds the set.
    """
    low, high = form.range
    if not form.denominator > 0.0:
        return low, high
    constant, middle, square = (float(part) for part in quantile**2 * variance)
    leading = form.denominator**2 - square
    half = form.value * form.denominator**2 - middle
    last = (form.value * form.denominator) ** 2 - constant
    root = math.sqrt(max(half * half - leading * last, 0.0))
    if leading > 0.0:
        lower, upper = (half - root) / leading, (half + root) / leading
    elif leading < 0.0:
        first, second = sorted(((half - root) / leading, (half + root) / leading))
        lower, upper = (low if first >= low else second), (high if second <= high else first)
    else:
        lower, upper = low, high
    return min(max(lower, low), form.value), max(min(upper, high), form.value)
