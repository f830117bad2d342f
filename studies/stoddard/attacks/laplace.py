"""Laplace noise in floats, for targets that are not private anyway: how likely it is, and what they may be given."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.guarantee import checked_epsilon

Support: TypeAlias = NDArray[np.bool_]
"""Mask of the selected features."""

_LOG_TWO = math.log(2.0)


def log_shares(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logs of the chances that standard Laplace noise is at most x, and that it is more.

    >>> [round(float(np.exp(share)), 3) for share in log_shares(np.array(1.0))]
    [0.816, 0.184]
    """
    distance = np.abs(x)
    small, large = -distance - _LOG_TWO, np.log1p(-np.exp(-distance) / 2.0)
    return np.where(x < 0.0, small, large), np.where(x < 0.0, large, small)


def log_density(x: FloatArray) -> FloatArray:
    """Return the log of the density of standard Laplace noise at x."""
    return np.asarray(-np.abs(x) - _LOG_TWO)


def between(low: float, high: float) -> float:
    """Return the chance that standard Laplace noise lies above `low` and is at most `high`, without cancellation.

    >>> round(between(-1.0, 1.0), 6)  # 1 - 1/e
    0.632121
    """
    if not low < high:
        return 0.0
    if low >= 0.0:
        low, high = -high, -low
    if high <= 0.0:
        return -math.exp(high) * math.expm1(low - high) / 2.0
    return -(math.expm1(low) + math.expm1(-high)) / 2.0


def checked_claim(epsilon: object, sensitivity: float) -> float:
    """Return a claimed epsilon as a float, refusing it or a sensitivity that is none."""
    if not (math.isfinite(sensitivity) and sensitivity > 0.0):
        raise ParameterError(f"sensitivity must be a number above 0, such as 1 for counts; got {sensitivity!r}")
    return float(checked_epsilon(epsilon))


def checked_threshold(threshold: float) -> float:
    """Return a threshold, refusing what cannot be compared with a score."""
    if not math.isfinite(threshold):
        raise ParameterError(f"threshold must be a finite number in the units of the scores; got {threshold!r}")
    return float(threshold)


def checked_scores(scores: ArrayLike) -> FloatArray:
    """Return one score for each feature as floats, which hold whole numbers up to 2^53 exactly."""
    found: NDArray[Any] = np.asarray(scores)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ParameterError("scores must be a list with one finite number for each feature; give at least one")
    return found.astype(np.float64)


def checked_support(support: ArrayLike, features: int) -> Support:
    """Return an answer as truth values, one for each feature."""
    found: NDArray[Any] = np.asarray(support)
    if found.shape != (features,) or not np.isin(found, (0, 1)).all():
        raise ParameterError("support must say true or false for each of the features that have a score")
    return found.astype(np.bool_)
