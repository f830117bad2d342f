"""Plausible class sizes, given noisy ones and an integer that followed a released AUC.

The integer tells of the smaller class: `max(n m, n1 (N - n1))` where the number N of rows is public, else
`max(q, n1)` with q the smaller of n and m. Sizes are weighed by the likelihood of all that was released and by a prior,
on points around the noisy size, and represented by quantiles with weights.

The prior is chosen for coverage, not for belief. A flat one covers at the level on average over sizes, but a small
class is often taken for a larger one, with less noise than it has: intervals cover too rarely where epsilon times its
size is about 5. So sizes up to 4 / epsilon count more: with such a class every AUC is plausible, whatever was released.
Beyond, the prior grows with the square of the size, which narrows intervals where such small sizes need not be feared.
A search over priors of this form chose the constants: coverage of at least 94 % at every size, then the least width
where epsilon times the smaller class is 35 to 50.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.counts import FloatArray
from confide.intervals.private import PLAUSIBLE, ClassSizes

_PLACES = np.linspace(-12.0, 12.0, 961)
"""Points around a noisy size, in units of its noise's scale."""

_SMALL, _NARROW = 30.0, 8.0
"""Weight of a class so small that every AUC is plausible, and how fast it falls with the relative distance beyond.

A class of one scale of noise has weight 1.
"""

_LARGE = 8.0
"""Number of scales of noise from which on larger classes do not count more."""

_FEW = math.isqrt(PLAUSIBLE) + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Integers that followed released AUCs, one for each: value, least size n1 told apart, and loss of one step.

    Where nothing followed, the rate is 0. `small` is the size up to which classes count more in the prior.
    """

    value: FloatArray
    least: FloatArray
    rate: FloatArray
    small: float

    def log_weight(self, smaller: FloatArray, scale: float, rows: float | None) -> FloatArray:
        """Return the logarithm of likelihood times prior for sizes of the smaller class.

        Releases are rows of the arrays. `scale` is that of the noise of class sizes.
        """
        known = np.maximum(smaller, self.least[:, None])
        if rows is not None:
            known = known * (rows - known)
        missed: FloatArray = -np.abs(self.value[:, None] - known) * self.rate[:, None]
        return missed + self._log_prior(np.maximum(smaller, 0.0), scale)

    def _log_prior(self, smaller: FloatArray, scale: float) -> FloatArray:
        near = np.exp(-_NARROW * np.maximum(smaller / self.small - 1.0, 0.0) ** 2)
        logarithm: FloatArray = np.log(np.minimum(smaller / scale, _LARGE) ** 2 + _SMALL * near)
        return logarithm


def joint_sizes(noisy_positives: FloatArray, scale: float, *, rows: int, after: Following) -> ClassSizes:
    """Weigh sizes where the number of rows is public."""
    sizes, weight = _around(noisy_positives, scale, float(rows))
    inside = np.clip(sizes, 0.0, rows)
    log = after.log_weight(np.minimum(inside, rows - inside), scale, float(rows))
    shares, weights = _steps(PLAUSIBLE)
    positives = np.clip(np.rint(_quantiles(sizes, weight * _relative(log), weight, shares)), 0.0, rows)
    return ClassSizes(positives=positives, negatives=rows - positives, weights=weights)


def joint_pairs(noisy_positives: FloatArray, noisy_negatives: FloatArray, scale: float, after: Following) -> ClassSizes:
    """Weigh pairs of sizes: quantiles of the negatives, and for each of them quantiles of the positives."""
    (ours, weight), (theirs, other) = (_around(noisy, scale, math.inf) for noisy in (noisy_positives, noisy_negatives))
    log = _relative(after.log_weight(np.concatenate((ours, theirs), axis=1), scale, None))
    likely, likely_other = log[:, : ours.shape[1]], log[:, ours.shape[1] :]

    # Positives that are not more than the negatives are the smaller class; beyond, the negatives are.
    step = scale * (_PLACES[1] - _PLACES[0])
    up_to = np.clip(np.floor((theirs - ours[:, :1]) / step).astype(int) + 1, 0, ours.shape[1])
    as_smaller = np.take_along_axis(_cumulated(weight * likely), up_to, axis=1)
    beyond = weight.sum(axis=1, keepdims=True) - np.take_along_axis(_cumulated(weight), up_to, axis=1)
    shares, weights = _steps(_FEW)
    negatives = _quantiles(theirs, other * (as_smaller + beyond * likely_other), other, shares)

    columns = []
    for k in range(_FEW):
        given = negatives[:, k : k + 1]
        relative = _relative(after.log_weight(np.minimum(ours, given), scale, None))
        columns.append(_quantiles(ours, weight * relative, weight, shares))
    positives = np.stack(columns, axis=2).reshape(noisy_positives.size, -1)  # as in `plausible_pairs`
    return ClassSizes(
        positives=np.maximum(np.rint(positives), 0.0),
        negatives=np.maximum(np.rint(np.tile(negatives, (1, _FEW))), 0.0),
        weights=np.outer(weights, weights).ravel(),
    )


def _steps(number: int) -> tuple[FloatArray, FloatArray]:
    """Return shares of probability, closer together towards 0 and 1, and the weight of each.

    Steps are equal in the arc cosine of `1 - 2 share`, so that sizes that are hardly plausible, and matter in the tails
    of an interval, are represented too.
    """
    ends = (1.0 - np.cos(np.linspace(0.0, math.pi, number + 1))) / 2.0
    shares = (1.0 - np.cos(math.pi * (np.arange(number) + 0.5) / number)) / 2.0
    return shares, np.diff(ends)


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


def _quantiles(sizes: FloatArray, weight: FloatArray, otherwise: FloatArray, shares: FloatArray) -> FloatArray:
    """Quantiles at shares of weight; of other weights where all are 0."""
    weight = np.where(weight.sum(axis=1, keepdims=True) > 1e-300, weight, otherwise)
    below = np.cumsum(weight, axis=1) - weight / 2.0
    below /= weight.sum(axis=1, keepdims=True)
    return np.array([np.interp(shares, chance, row) for chance, row in zip(below, sizes, strict=True)])
