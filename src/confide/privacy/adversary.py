"""Upper bound on any adversary's success under a guarantee; participants compute it without the extra `private`."""

from __future__ import annotations

import math


def success_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest probability of guessing which of two neighbours a release came from, if a fair coin chose.

    With p, q the chances to guess "positive" in either world, `p <= e^epsilon q + delta` and `1 - q <= e^epsilon (1 -
    p) + delta`; their sum bounds the success `(p + 1 - q)/2` by `(e^epsilon + delta)/(1 + e^epsilon)`.

    >>> round(success_bound(1.0), 4)
    0.7311
    """
    return min((1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon)), 1.0)
