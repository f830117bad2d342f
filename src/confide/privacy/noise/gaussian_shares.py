"""A share of Gaussian noise: discrete Gaussian noise of a rational variance, drawn with integers alone.

    P(k) proportional to exp(-k^2 / (2 variance))

How: by rejection from discrete Laplace noise of a whole scale t near the deviation (Canonne, Kamath & Steinke [1]_,
algorithms 1 to 3). Every coin has a probability `exp(-a/b)` with whole numbers a and b, and is flipped by comparing
uniform integers. There is no float, and no rounding.

Sums of shares are *not* discrete Gaussian noise, though nearly so; `mechanisms.gaussian_shares` says what they promise.
The sum of value and share is taken modulo 2^64, as for shares of Laplace noise (see `noise.shares`): values that are
cut off at each site would tell more than their sum does. That is why OpenDP's sampler, which cuts, is not used here.

The time taken depends on the noise: keep the duration of a draw from those who must not learn the values.

Proof: gaussian_shares.proof.md.

References
----------
.. [1] C. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.

"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from confide.errors import ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, uniform_below
from confide.privacy.noise.integers import checked_values
from confide.privacy.noise.reals import as_fraction
from confide.privacy.noise.shares import within_64_bits

LARGEST_VARIANCE = 2**80
"""Noise of this variance passes 2^50 with a probability below `exp(-2^19)`."""


def gaussian_share(values: Sequence[int], variance: Fraction, *, bits: BitSource = SYSTEM_BITS) -> list[int]:
    """Add to each value independent discrete Gaussian noise of the variance parameter.

    Sums are taken modulo 2^64, between `-2^63` and `2^63 - 1`.

    >>> from fractions import Fraction
    >>> len(gaussian_share([100, 200, 300], Fraction(9, 2)))
    3
    """
    integers, allowed = checked_values(values), checked_variance(variance)
    return [within_64_bits(value + _gaussian(allowed.numerator, allowed.denominator, bits)) for value in integers]


def checked_variance(variance: Fraction) -> Fraction:
    """Return a variance as an exact number, refusing one that is no noise or that 64 bits have no room for."""
    allowed = as_fraction(variance, "variance")
    if allowed <= 0:
        raise ParameterError("variance must be greater than 0: without noise nothing is private")
    if allowed > LARGEST_VARIANCE:
        raise ParameterError("variance must be at most 2^80, so that 64 bits leave room for noise; raise epsilon")
    return allowed


def _gaussian(p: int, q: int, bits: BitSource) -> int:
    """Draw discrete Gaussian noise of the variance `p/q`: Laplace noise y is kept with the probability that is left."""
    t = isqrt(p // q) + 1
    while True:
        y = _laplace(t, bits)
        if _coin((abs(y) * q * t - p) ** 2, 2 * p * q * t * t, bits):
            return y


def _laplace(t: int, bits: BitSource) -> int:
    """Draw discrete Laplace noise of a whole scale: `P(k)` proportional to `exp(-|k| / t)`."""
    while True:
        rest = uniform_below(t, bits)
        if not _small_coin(rest, t, bits):
            continue
        size = rest
        while _small_coin(1, 1, bits):
            size += t
        negative = bits(1)
        if size or not negative:  # 0 has no sign
            return -size if negative else size


def _coin(a: int, b: int, bits: BitSource) -> bool:
    """Flip a coin that shows heads with probability `exp(-a/b)`."""
    whole, rest = divmod(a, b)
    return all(_small_coin(1, 1, bits) for _ in range(whole)) and _small_coin(rest, b, bits)


def _small_coin(a: int, b: int, bits: BitSource) -> bool:
    """Flip a coin that shows heads with probability `exp(-a/b)`, `a <= b`: the first trial k that fails is odd."""
    k = 1
    while uniform_below(b * k, bits) < a:
        k += 1
    return k % 2 == 1
