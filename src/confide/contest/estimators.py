"""Estimates from masked labels: metrics as ratios, their intervals, and calibration.

Each metric is `theta = numerator / denominator`, where both are multilinear of degree one or two in the labels, with
public coefficients. Masked labels enter as z (see `MaskedLabels`), which are independent given the labels, so putting
z in place of the labels estimates both without bias. A product of a label with itself is the label: since z takes two
values, `z^2 = z + v`, where v is the variance of z, and this takes the place of squares.

Two sources of error follow from the same sums:

- noise of masking, given the rows: the variance of `numerator - theta * denominator` is `v sum_i (g_i - theta h_i)^2`
  to first order, where g and h are the gradients in z. With the gradients at z it is never too small on average.
- sampling and masking together: rows are independent, so `sum_i (a_i - theta b_i)^2`, where a and b are the projections
  of numerator and denominator on each row (Hájek). For AUC these are those of a U-statistic of degree two. Average
  precision has the rank of each row in it; its projection is the derivative of the functional
  `E[Y G(S) / H(S)]` with `G(t) = E[Y 1(S >= t)]` and `H(t) = P(S >= t)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.forms import PAIRS, TiedBlocks, checked_scores, metric_range, pair_blocks, row_terms
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.intervals.interval import Interval, normal_quantile


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RatioForm:
    """Numerator and denominator of a metric, with the gradients and projections of both.

    The k-th gradient and projection belong to row `order[k]`, or to row k where `order` is None. `least` is the
    smallest denominator that labels of both classes allow. `row_weight` is the most that one row can count in the
    denominator. `range` holds every possible value.
    """

    numerator: float
    denominator: float
    gradient: tuple[FloatArray, FloatArray]
    projection: tuple[FloatArray, FloatArray]
    least: float
    row_weight: float
    range: tuple[float, float]
    order: NDArray[np.intp] | None = None

    @property
    def value(self) -> float:
        """Return the estimate, cut to the metric's range."""
        low, high = self.range
        return min(max(self.numerator / self.safe_denominator, low), high)

    @property
    def safe_denominator(self) -> float:
        """Return the denominator, or the smallest possible one if noise brought it below."""
        return max(self.denominator, self.least)

    def in_rows(self, values: FloatArray) -> FloatArray:
        """Bring numbers from the order of gradients and projections to the order of rows."""
        if self.order is None:
            return values
        rows = np.empty_like(values)
        rows[self.order] = values
        return rows


def ratio_form(metric: ContestMetric, scores: FloatArray, labels: MaskedLabels) -> RatioForm:
    """Return a metric of scores against masked labels."""
    values = checked_scores(metric, scores, len(labels))
    if metric.name in PAIRS:
        return _pair_form(metric, pair_blocks(metric, values), labels)
    if metric.name == "average_precision":
        return _precision_form(metric, TiedBlocks.of(values), labels)
    return _row_form(metric, values, labels)


def metric_values(metric: ContestMetric, scores: FloatArray, several: Sequence[MaskedLabels]) -> FloatArray:
    """Return the values of one entry against several maskings of the same rows, sorting the scores once."""
    if metric.name not in PAIRS:
        return np.array([ratio_form(metric, scores, labels).value for labels in several])
    blocks = pair_blocks(metric, checked_scores(metric, scores, len(several[0])))
    coefficients = blocks.in_rows(blocks.coefficients).astype(np.float64)
    rows, values = coefficients.size, []
    for labels in several:
        total = float(labels.debiased.sum())
        pairs = total * (rows - total) + rows * labels.noise_variance
        values.append(0.5 * (pairs + float(coefficients @ labels.debiased)) / max(pairs, rows - 1.0, 1.0))
    return np.clip(values, *metric_range(metric))


def _row_form(metric: ContestMetric, scores: FloatArray, labels: MaskedLabels) -> RatioForm:
    """Return a ratio of sums over rows."""
    terms = row_terms(metric, scores)
    z = labels.debiased
    above = terms.constant + terms.slope * z
    below = np.broadcast_to(terms.weight + terms.weight_slope * z, z.shape)
    certain = float(np.sum(np.broadcast_to(terms.weight, z.shape)))
    return RatioForm(
        numerator=float(above.sum()),
        denominator=float(below.sum()),
        gradient=(terms.slope, np.broadcast_to(terms.weight_slope, z.shape)),
        projection=(above, below),
        least=max(certain if terms.weight_slope >= 0.0 else 0.0, 1.0),
        row_weight=terms.row_weight,
        range=metric_range(metric),
    )


def _pair_form(metric: ContestMetric, blocks: TiedBlocks, labels: MaskedLabels) -> RatioForm:
    """Return AUC: half of `n m + sum_i r_i z_i`, divided by `n m = Z (N - Z) + N v`, with Z the sum of all z.

    A pair (i, j) counts `z_i (1 - z_j) (1 + sgn(s_i - s_j)) / 2`. Summed over the partners of row i in both roles, the
    products of z cancel: `a_i = (b_i + z_i r_i - E_i) / 2` with `E_i = sum_j z_j sgn(s_i - s_j)`, and
    `b_i = sum_j z_i (1 - z_j) + z_j (1 - z_i) = z_i (N - 2 Z) + Z + 2 v`.
    """
    rows, variance = len(labels), labels.noise_variance
    ordered, total = labels.debiased[blocks.order], float(labels.debiased.sum())
    coefficients = blocks.coefficients.astype(np.float64)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    signed = sums[blocks.start] + sums[blocks.end] - total
    products = coefficients * ordered
    pairs = total * (rows - total) + rows * variance
    below = ordered * (rows - 2.0 * total) + (total + 2.0 * variance)
    slope = 2.0 * ordered + (rows - 1.0 - 2.0 * total)
    positives = min(max(total, 1.0), max(rows - 1.0, 1.0))
    return RatioForm(
        numerator=0.5 * (pairs + float(products.sum())),
        denominator=pairs,
        gradient=(0.5 * (slope + coefficients), slope),
        projection=(0.5 * (below + products - signed), below),
        least=max(rows - 1.0, 1.0),
        row_weight=max(positives, rows - positives),
        range=metric_range(metric),
        order=blocks.order,
    )


def _precision_form(metric: ContestMetric, blocks: TiedBlocks, labels: MaskedLabels) -> RatioForm:
    """Return average precision: `sum_i (z_i C_i - v) / k_i` divided by the sum of z.

    `k_i` is the number of rows with at least the score of row i, and `C_i` the sum of their z. Tied rows are one step
    of the curve, as in scikit-learn. A row counts in its own precision: `z_i (1 + C_i - z_i) = z_i C_i - v`.
    """
    variance = labels.noise_variance
    z = labels.debiased[blocks.order]
    sums = np.concatenate(([0.0], np.cumsum(z)))
    at_least = sums[-1] - sums[blocks.start]
    share = 1.0 / (z.size - blocks.start)
    own = (z * at_least - variance) * share
    below = np.concatenate(([0.0], np.cumsum(z * share)))[blocks.end]
    rank_effect = np.concatenate(([0.0], np.cumsum(own * share)))[blocks.end]
    projection = own + z * below - variance * share - rank_effect
    return RatioForm(
        numerator=float(own.sum()),
        denominator=float(sums[-1]),
        gradient=((1.0 + at_least - 2.0 * z) * share + below, np.ones_like(z)),
        projection=(projection, z),
        least=1.0,
        row_weight=1.0,
        range=metric_range(metric),
        order=blocks.order,
    )


FIELLER = "Fieller"


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
        sample=Interval(lower=sample[0], upper=sample[1], level=level, method=FIELLER),
        population=Interval(lower=population[0], upper=population[1], level=level, method=FIELLER),
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


WILSON = "Wilson"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Rows with similar probabilities: their range and mean, and the observed frequency of positives among them."""

    lower: float
    upper: float
    rows: int
    predicted: float
    observed: float
    interval: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "rows": self.rows,
            "predicted": self.predicted,
            "observed": self.observed,
            "interval": self.interval.to_dict(),
        }


def calibration_bins(
    probabilities: FloatArray, labels: MaskedLabels, *, bins: int = 10, level: float = 0.95
) -> tuple[CalibrationBin, ...]:
    """Compare probabilities with observed frequencies, in bins of about as many rows each.

    Rows with equal probabilities share a bin, so there may be fewer than `bins`. The observed frequency is the mean of
    the debiased labels, cut to [0, 1]. Its interval is for the population and for each bin by itself: it accounts for
    masking and sampling.

    >>> from fractions import Fraction
    >>> masked = MaskedLabels(np.array([False, True] * 100), Fraction(1, 10))
    >>> [one.rows for one in calibration_bins(np.repeat([0.2, 0.6], 100), masked)]
    [100, 100]
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.shape != (len(labels),):
        raise ParameterError(f"`probabilities` must be one column of {len(labels)} numbers, one for each row")
    if values.size == 0 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ParameterError("`probabilities` must lie in [0, 1]")
    if bins < 1:
        raise ParameterError(f"`bins` must be at least 1; got {bins!r}")
    quantile = normal_quantile(level)
    inner = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="higher")) if bins > 1 else np.empty(0)
    positions = np.searchsorted(inner, values, side="right")
    found = []
    for position in np.unique(positions):
        chosen = positions == position
        mean = float(labels.debiased[chosen].mean())
        rows = int(chosen.sum())
        low, high = _wilson(mean, rows, labels.noise_variance, quantile)
        found.append(
            CalibrationBin(
                lower=float(values[chosen].min()),
                upper=float(values[chosen].max()),
                rows=rows,
                predicted=float(values[chosen].mean()),
                observed=min(max(mean, 0.0), 1.0),
                interval=Interval(lower=low, upper=high, level=level, method=WILSON),
            )
        )
    return tuple(found)


def _wilson(mean: float, rows: int, noise_variance: float, quantile: float) -> tuple[float, float]:
    """Return the frequencies p in [0, 1] with `(mean - p)^2 <= c^2 (p (1 - p) + v) / rows`, the mean cut to [0, 1].

    Frequencies that differ within a bin make the variance smaller, never larger.
    """
    centre, square = min(max(mean, 0.0), 1.0), quantile**2 / rows
    middle = (centre + square / 2.0) / (1.0 + square)
    reach = math.sqrt(square * (centre * (1.0 - centre) + square / 4.0 + noise_variance * (1.0 + square)))
    reach /= 1.0 + square
    return max(middle - reach, 0.0), min(middle + reach, 1.0)
