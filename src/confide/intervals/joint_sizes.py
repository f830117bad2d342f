"""Plausible class sizes, given noisy ones and an integer that followed a released AUC.

The integer tells of the smaller class: `max(n m, n1 (N - n1))` where the number N of rows is public, else
`max(q, n1)` with q the smaller of n and m. Sizes are weighed by the likelihood of all that was released, with a flat
prior, on points around the noisy size, and represented by quantiles of equal probability.

A flat prior covers at the level on average over sizes. A small class is often taken for a larger one, with less noise
than it has: 95 % intervals covered 88 % where epsilon times its size was 5. So where the sizes that a flat prior leaves
may be small, smaller ones count more. They cover 93-95 % there then, at AUC 0.55, where it is hardest. With one to
three rows in the smaller class they cover 89-95 %. The price is width where epsilon times the size is 15 to 70.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from confide.counts import FloatArray
from confide.intervals.private import PLAUSIBLE, ClassSizes

_PLACES = np.linspace(-12.0, 12.0, 961)
"""Points around a noisy size, in units of its noise's scale."""

_SMALL, _LARGE = 2.5, 3.1
"""Smaller sizes count more, fully and not at all, where the median of the smaller class is so many scales of noise."""

_TILT = 6.0
"""Power of the prior, fully tilted, in `1/2 + size / scale`."""

_FEW = math.isqrt(PLAUSIBLE) + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Integers that followed released AUCs, one for each: value, least size n1 told apart, and loss of one step.

    Where nothing followed, the rate is 0. `tilt` is how much more smaller sizes count, with the scale of the noise of
    class sizes.
    """

    value: FloatArray
    least: FloatArray
    rate: FloatArray
    tilt: FloatArray | None = None
    scale: float = 1.0

    def log_likelihood(self, smaller: FloatArray, rows: float | None) -> FloatArray:
        """Return the logarithm of the likelihood, times the prior, of sizes of the smaller class; releases are rows."""
        known = np.maximum(smaller, self.least[:, None])
        if rows is not None:
            known = known * (rows - known)
        missed: FloatArray = -np.abs(self.value[:, None] - known) * self.rate[:, None]
        if self.tilt is not None:
            missed -= self.tilt[:, None] * np.log1p(2.0 * np.maximum(smaller, 0.0) / self.scale)
        return missed

    def tilted(self, sizes: ClassSizes, scale: float) -> Following:
        """Return the same with a prior that suits the sizes which a flat one leaves."""
        smaller = np.median(np.minimum(sizes.positives, sizes.negatives), axis=1) / scale
        tilt = _TILT * np.clip((_LARGE - smaller) / (_LARGE - _SMALL), 0.0, 1.0)
        return replace(self, tilt=tilt, scale=scale)


def joint_sizes(noisy_positives: FloatArray, scale: float, *, rows: int, after: Following) -> ClassSizes:
    """Sizes in equal steps of probability, where the number of rows is public."""
    return _twice(lambda with_prior: _sizes(noisy_positives, scale, rows, with_prior), after, scale)


def joint_pairs(noisy_positives: FloatArray, noisy_negatives: FloatArray, scale: float, after: Following) -> ClassSizes:
    """Pairs of sizes: quantiles of the negatives, and for each of them quantiles of the positives."""
    return _twice(lambda with_prior: _pairs(noisy_positives, noisy_negatives, scale, with_prior), after, scale)


def _twice(plausible: Callable[[Following], ClassSizes], after: Following, scale: float) -> ClassSizes:
    """Find the plausible sizes with a flat prior, and then with the one that these call for."""
    return plausible(after.tilted(plausible(after), scale))


def _sizes(noisy_positives: FloatArray, scale: float, rows: int, after: Following) -> ClassSizes:
    sizes, weight = _around(noisy_positives, scale, float(rows))
    inside = np.clip(sizes, 0.0, rows)
    log = after.log_likelihood(np.minimum(inside, rows - inside), float(rows))
    positives = np.clip(np.rint(_quantiles(sizes, weight * _relative(log), weight, PLAUSIBLE)), 0.0, rows)
    return ClassSizes(positives=positives, negatives=rows - positives)


def _pairs(noisy_positives: FloatArray, noisy_negatives: FloatArray, scale: float, after: Following) -> ClassSizes:
    (ours, weight), (theirs, other) = (_around(noisy, scale, math.inf) for noisy in (noisy_positives, noisy_negatives))
    log = _relative(after.log_likelihood(np.concatenate((ours, theirs), axis=1), None))
    likely, likely_other = log[:, : ours.shape[1]], log[:, ours.shape[1] :]

    # Positives that are not more than the negatives are the smaller class; beyond, the negatives are.
    step = scale * (_PLACES[1] - _PLACES[0])
    up_to = np.clip(np.floor((theirs - ours[:, :1]) / step).astype(int) + 1, 0, ours.shape[1])
    as_smaller = np.take_along_axis(_cumulated(weight * likely), up_to, axis=1)
    beyond = weight.sum(axis=1, keepdims=True) - np.take_along_axis(_cumulated(weight), up_to, axis=1)
    negatives = _quantiles(theirs, other * (as_smaller + beyond * likely_other), other, _FEW)

    columns = []
    for k in range(_FEW):
        given = negatives[:, k : k + 1]
        relative = _relative(after.log_likelihood(np.minimum(ours, given), None))
        columns.append(_quantiles(ours, weight * relative, weight, _FEW))
    positives = np.stack(columns, axis=2).reshape(noisy_positives.size, -1)  # as in `plausible_pairs`
    return ClassSizes(
        positives=np.maximum(np.rint(positives), 0.0),
        negatives=np.maximum(np.rint(np.tile(negatives, (1, _FEW))), 0.0),
    )


def _around(noisy: FloatArray, scale: float, most: float) -> tuple[FloatArray, FloatArray]:
    """Return points around each noisy size and the likelihood of each.

    Laplace noise has no memory: a noisy size below all sizes tells as much as one at their end.
    """
    centre = np.clip(noisy, -0.5, most + 0.5)
    sizes = centre[:, None] + scale * _PLACES
    weight: FloatArray = np.where((sizes >= -0.5) & (sizes <= most + 0.5), np.exp(-np.abs(_PLACES)), 0.0)
    return sizes, weight


def _relative(log: FloatArray) -> FloatArray:
    relative: FloatArray = np.exp(log - log.max(axis=1, keepdims=True))
    return relative


def _cumulated(weight: FloatArray) -> FloatArray:
    """Return sums of the first 0, 1, ... weights."""
    return np.concatenate((np.zeros((weight.shape[0], 1)), np.cumsum(weight, axis=1)), axis=1)


def _quantiles(sizes: FloatArray, weight: FloatArray, otherwise: FloatArray, steps: int) -> FloatArray:
    """Quantiles in equal steps of weight; of other weights where all are 0."""
    weight = np.where(weight.sum(axis=1, keepdims=True) > 1e-300, weight, otherwise)
    below = np.cumsum(weight, axis=1) - weight / 2.0
    below /= weight.sum(axis=1, keepdims=True)
    shares = (np.arange(steps) + 0.5) / steps
    return np.array([np.interp(shares, chance, row) for chance, row in zip(below, sizes, strict=True)])
