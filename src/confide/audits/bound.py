"""Lower confidence bound on the epsilon that a mechanism loses, from draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from confide.counts import FloatArray
from confide.errors import ParameterError


def loss_below(
    hits: ArrayLike, draws: int, other_hits: ArrayLike, other_draws: int, *, delta: float = 0.0, error: float
) -> FloatArray:
    """Return a bound that exceeds the true epsilon with a probability of at most `error`: `log((p - delta)/q)`.

    An event happened `hits` times in `draws` releases of one dataset and `other_hits` times in `other_draws` of its
    neighbour. If `P <= exp(epsilon) Q + delta` then epsilon is at least `log((P - delta)/Q)`; p is a lower and q an
    upper limit of Clopper and Pearson, each wrong with a probability of at most `error / 2`. The event must have been
    chosen before these draws were seen. The bound is 0 where nothing is shown.

    >>> float(loss_below(500, 1000, 100, 1000, error=1e-4).round(2))
    1.13
    """
    least = proportion_below(hits, draws, error / 2.0) - delta
    most = proportion_above(other_hits, other_draws, error / 2.0)
    shown: FloatArray = np.log(np.maximum(least, most) / most)
    return shown


def proportion_below(hits: ArrayLike, draws: int, error: float) -> FloatArray:
    """Return the one-sided lower limit of Clopper and Pearson (1934): 0 without a hit.

    >>> float(proportion_below(10, 10, 0.05).round(4))  # the tenth root of 0.05
    0.7411
    """
    from scipy.special import betaincinv

    found = _checked(hits, draws)
    limit: FloatArray = np.where(found > 0, betaincinv(np.maximum(found, 1), draws - found + 1, error), 0.0)
    return limit


def proportion_above(hits: ArrayLike, draws: int, error: float) -> FloatArray:
    """Return the one-sided upper limit of Clopper and Pearson: 1 if every draw is a hit.

    >>> float(proportion_above(0, 10, 0.05).round(4))
    0.2589
    """
    return 1.0 - proportion_below(draws - _checked(hits, draws), draws, error)


def checked_error(error: float) -> float:
    """Return the probability of a wrong bound. Refuse a value that is none."""
    if not 0.0 < error <= 0.5:
        raise ParameterError(f"error must lie above 0 and at most 0.5, for example 1e-4; got {error!r}")
    return float(error)


def _checked(hits: ArrayLike, draws: int) -> FloatArray:
    found = np.asarray(hits, dtype=np.float64)
    if draws < 1 or (found < 0).any() or (found > draws).any():
        raise ParameterError("hits must lie between 0 and draws, and there must be a draw")
    return found
