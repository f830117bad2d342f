"""Labels that agree with measured lines and are otherwise as undecided as possible.

Measured lines tell too little to estimate how much a metric varies from sample to sample. Probabilities of maximum
entropy fill the gap: each row's is `1 / (1 + exp(-l . s_i))`, where `s_i` is its public column of the strategy and l is
chosen so that the expected lines are those measured, as far as the noise allows. All of it follows from the release
and from public scores, and costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.counts import FloatArray

_TURNS = 60
_CLOSE = 1e-9


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
    for _ in range(_TURNS):
        gradient = columns @ chances - wanted + slopes
        curvature = (columns * (chances * (1.0 - chances))) @ columns.T + np.eye(len(wanted))
        step = np.linalg.solve(curvature, gradient)
        decrease = float(gradient @ step)
        if decrease < _CLOSE:
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
