"""Normal distribution from Python's own library: SciPy's functions take a quarter of a second to load."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_STANDARD = NormalDist()
_ROOT_TWO = math.sqrt(2.0)


def normal_quantile_of(share: float) -> float:
    """Return the standard normal quantile of a share between 0 and 1.

    >>> round(normal_quantile_of(0.975), 6)
    1.959964
    """
    if share <= 0.0 or share >= 1.0:
        return math.inf if share >= 1.0 else -math.inf
    return _STANDARD.inv_cdf(share)


def normal_shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of a standard normal distribution below each value; for some thousands of them."""
    shares = [0.5 * math.erfc(-value / _ROOT_TWO) for value in values.ravel().tolist()]
    return np.array(shares).reshape(values.shape)
