"""Maximum-likelihood logistic regression of grouped rows."""

from __future__ import annotations

import math

import numpy as np

from confide.counts import FloatArray

_MOST_STEPS = 200
_FLAT = 1e-6  # relative step below which the likelihood is flat to rounding
_SMALLEST_STEP = 1e-13


def logistic_fit(
    design: FloatArray,
    positives: FloatArray,
    rows: FloatArray,
    *,
    offset: FloatArray | None = None,
    largest: float = math.inf,
) -> FloatArray:
    """Maximise the likelihood by Newton's method with step halving, and return the coefficients.

    Each line of `design` stands for `rows` rows, `positives` of them positive; the numbers may be fractions. The first
    column of the design is constant. `offset` is added to the linear predictor. The fit starts at the constant that
    makes the mean log-odds right. Without an overlap of the classes the likelihood has no maximum: the fit then stops
    when a coefficient exceeds `largest`.

    >>> logistic_fit(np.ones((1, 1)), np.array([3.0]), np.array([4.0])).round(6)  # log(3)
    array([1.098612])
    """
    shift = np.zeros(len(rows)) if offset is None else offset
    coefficients = np.zeros(design.shape[1])
    odds = positives.sum() / (rows - positives).sum()
    coefficients[0] = np.log(odds) - np.average(shift, weights=rows)

    def likelihood(candidate: FloatArray) -> float:
        linear = design @ candidate + shift
        return float(np.dot(positives, linear) - np.dot(rows, np.logaddexp(0.0, linear)))

    best = likelihood(coefficients)
    for _ in range(_MOST_STEPS):
        rate = rates(design @ coefficients + shift)
        gradient = design.T @ (positives - rows * rate)
        curvature = design.T @ (design * (rows * rate * (1.0 - rate))[:, None])
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = np.abs(step).max() / (1.0 + np.abs(coefficients).max())
        # So near the maximum that the likelihood is flat to rounding, Newton's step needs no check.
        if size > _FLAT:
            scale, reached = 1.0, likelihood(coefficients + step)
            while reached < best and scale > 1e-15:
                scale /= 2.0
                reached = likelihood(coefficients + scale * step)
            step, best = scale * step, reached
        coefficients = coefficients + step
        if size < _SMALLEST_STEP or np.abs(coefficients).max() > largest:
            break
    return coefficients


def rates(log_odds: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds, without overflow.

    >>> rates(np.array([0.0, -1000.0, 1000.0]))
    array([0.5, 0. , 1. ])
    """
    probabilities: FloatArray = 0.5 * (1.0 + np.tanh(log_odds / 2.0))
    return probabilities
