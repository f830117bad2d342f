"""Counts of several sites of which only the sum is seen: each site adds its share of Gaussian noise.

Each site adds discrete Gaussian noise of one variance v. The sum of m shares is not discrete Gaussian noise of variance
`m v`, but nearly so: the logarithm of the ratio of the two laws varies by at most

    T = sum over k = 1, ..., m - 1 of log((1 + 2 q_k) / (1 - 2 q_k))

with `q_k = e^-x / (1 - e^-3x)` and `x = 2 pi^2 v k / (k + 1)`. The sum is rho-zCDP under add-remove-one with
`rho = levels / 2 (1 / sqrt(m v) + T)^2`, if T is at most 9/10. (Kairouz, Liu & Steinke [1]_ have the same form, with a
larger T.) Shares beyond those that are needed make the noise larger, never smaller.

Proof: gaussian_shares.proof.md.

References
----------
.. [1] P. Kairouz, Z. Liu and T. Steinke, "The distributed discrete Gaussian mechanism for federated learning with
   secure aggregation", ICML 2021, theorem 1.

"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpq

from confide.errors import ParameterError
from confide.privacy.mechanisms.private_counts import Cells
from confide.privacy.mechanisms.strategies import FLAT, Strategy
from confide.privacy.noise.gaussian_shares import checked_variance
from confide.privacy.noise.reals import ExactReal, as_fraction, upper_bound, working_precision
from confide.privacy.noise.shares import checked_honest
from confide.privacy.queries import GaussianShareQuery

FINENESS = 2**20
"""Variances are multiples of `1 / FINENESS`."""

MOST_WAVE = Fraction(9, 10)
"""Largest T at which the bound is proven."""

_PRECISION = 192


def shared_gaussian_counts(cells: Cells, variance: Fraction, strategy: Strategy = FLAT) -> GaussianShareQuery:
    """Query every integer of a strategy with a share of Gaussian noise.

    With the `share_variance` of rho, of m shares and of the strategy's levels, the sum over all sites is rho-zCDP under
    add-remove-one as long as m of them keep their shares to themselves. The answer of one site alone promises less:
    `shares_rho` of one share.
    """
    return GaussianShareQuery(values=tuple(strategy.measure(cells).ravel().tolist()), variance=variance)


def shares_rho(variance: Fraction, shares: int, *, levels: int = 1) -> Fraction | None:
    """Return the rho of a sum with so many secret shares, rounded up; None if the variance is too small for a bound.

    One share is discrete Gaussian noise, whose rho is `levels / (2 variance)`.

    >>> [round(float(shares_rho(Fraction(8), shares)), 6) for shares in (1, 2, 4)]
    [0.0625, 0.03125, 0.015625]
    """
    exact, number = checked_variance(variance), checked_honest(shares)
    if number == 1:
        return levels / (2 * exact)
    with working_precision(_PRECISION):
        if not _wave(exact, number) < fmpq(MOST_WAVE.numerator, MOST_WAVE.denominator):
            return None
    return upper_bound(ExactReal(lambda: (_inverse_deviation(exact, number) + _wave(exact, number)) ** 2)) * levels / 2


@lru_cache(maxsize=1024)
def share_variance(rho: Fraction, honest: int, *, levels: int = 1) -> Fraction:
    """Return the smallest variance, a multiple of `1 / FINENESS`, at which `honest` shares have at most this rho.

    >>> [round(float(share_variance(Fraction(1, 50), honest)), 4) for honest in (1, 5)]
    [25.0, 5.0]
    """
    allowed = as_fraction(rho, "rho")
    if allowed <= 0:
        raise ParameterError(f"rho must be greater than 0; got {rho!r}")
    first = max(-(-levels * FINENESS // (2 * allowed * checked_honest(honest))), 1)
    step = 0
    while not _suffices(first + step, allowed, honest, levels):
        step = max(2 * step, 1)
    low, high = first + step // 2, first + step  # the low end does not suffice, unless it is the first
    while high - low > 1:
        middle = (low + high) // 2
        if _suffices(middle, allowed, honest, levels):
            high = middle
        else:
            low = middle
    return Fraction(high, FINENESS)


def _suffices(steps: int, rho: Fraction, honest: int, levels: int) -> bool:
    lost = shares_rho(Fraction(steps, FINENESS), honest, levels=levels)
    return lost is not None and lost <= rho


def _inverse_deviation(variance: Fraction, shares: int) -> arb:
    return arb(fmpq(shares * variance.numerator, variance.denominator)).rsqrt()


def _wave(variance: Fraction, shares: int) -> arb:
    """Enclose T at the working precision; the ball is no number where a variance is too small for one."""
    whole, total = arb.pi() ** 2 * 2 * fmpq(variance.numerator, variance.denominator), arb(0)
    for k in range(1, shares):
        x = whole * fmpq(k, k + 1)
        twice = 2 * (-x).exp() / -(-3 * x).expm1()
        total += twice.log1p() - (-twice).log1p()
    return total
