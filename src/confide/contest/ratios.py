"""Metrics as ratios of unbiased estimates from masked labels.

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.contest.forms import PAIRS, TiedBlocks, checked_scores, metric_range, pair_blocks, row_terms
from confide.contest.masked import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.counts import FloatArray


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
