"""A share of discrete Laplace noise: m independent shares add up to it exactly.

A share is the difference of two independent negative binomial variates of shape `1/m` and ratio `p = exp(-1/scale)`,

    P(k) = Gamma(k + 1/m) / (Gamma(1/m) k!) * (1 - p)^(1/m) * p^k,    k = 0, 1, 2, ...

and m of them are a difference of two geometric variates, which has a probability proportional to `exp(-|k| / scale)`
(Goryczka & Xiong [1]_ use it so). No float decides anything here.

How: with `L = -log(1 - p)` a share is the sum of N jumps, up or down with the same chance, where N has the Poisson
distribution of mean `2L/m` and a jump is k wide with probability `p^k / (k L)`. (The generating function of a negative
binomial variate is `((1 - p) / (1 - pz))^(1/m) = exp(L/m (G(z) - 1))`, and that of a jump `G(z) = -log(1 - pz) / L`.)
N is found by inverting its distribution function, whose values are put between multiples of `2^-64` by ball
arithmetic: the first 64 digits of a uniform number decide unless they are those of such a value, and then more are
drawn until they do. A jump is `1 + floor(log V / log(1 - (1 - p)^U))` wide for uniform numbers U and V [2]_, whose
digits are drawn until the balls around them leave one whole number only.

The sum is taken modulo 2^64, as secret sums are: a remainder of the sum over all sites is the same whether each
site takes it or the sum does, so it tells no more than the sum. (Values cut off at each site would.)

The time taken depends on the noise: keep the duration of a draw from those who must not learn the values.

Proof: shares.proof.md.

References
----------
.. [1] S. Goryczka and L. Xiong, "A comprehensive comparison of multiparty secure additions with differential privacy",
   IEEE Transactions on Dependable and Secure Computing 14 (2017), 463-477.
.. [2] A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables", Applied Statistics 30
   (1981), 249-253, algorithm LK.

"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count, islice

from flint import arb, fmpq

from confide.errors import ConfideError, ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource, LazyUniform
from confide.privacy.noise.heavy_tailed import GUARD
from confide.privacy.noise.integers import checked_scale, checked_values
from confide.privacy.noise.reals import precisions, working_precision

MOST_HONEST = 1000
"""Of more shares than this no noise is made."""

DIGITS = 64
"""So many digits of a uniform number are drawn to find the number of jumps, and more if they do not decide."""

_LAST = 4096  # digits of one number, after which an honest source is not the reason that nothing is certain

_STUCK = f"no share is certain after {_LAST:,} random bits: the source of random bits gives the same bit for ever"


def laplace_share(values: Sequence[int], scale: Fraction, honest: int, *, bits: BitSource = SYSTEM_BITS) -> list[int]:
    """Add to each value an independent share, of which `honest` make discrete Laplace noise of the scale.

    Sums are taken modulo 2^64, between `-2^63` and `2^63 - 1`.

    >>> from fractions import Fraction
    >>> len(laplace_share([100, 200, 300], Fraction(2), 4))
    3
    """
    integers, law = checked_values(values), _Law(checked_scale(scale), checked_honest(honest))
    return [within_64_bits(value + law.draw(bits)) for value in integers]


def within_64_bits(value: int) -> int:
    """Return the number between `-2^63` and `2^63 - 1` that differs from a whole number by a multiple of 2^64.

    >>> within_64_bits(2**63), within_64_bits(-5)
    (-9223372036854775808, -5)
    """
    return (value + 2**63) % 2**64 - 2**63


def checked_honest(honest: int) -> int:
    """Return how many shares make the whole noise, refusing what is no such number."""
    if isinstance(honest, bool) or not isinstance(honest, int) or not 1 <= honest <= MOST_HONEST:
        raise ParameterError(
            f"honest must be a whole number from 1 to {MOST_HONEST:,}: so many sites' shares make the whole noise; "
            f"got {honest!r}"
        )
    return honest


class _Law:
    """Distribution of a share: the number of jumps and their width."""

    __slots__ = ("_exponent", "_floors", "_logarithms", "_part")

    def __init__(self, scale: Fraction, honest: int) -> None:
        self._exponent = fmpq(-scale.denominator, scale.numerator)
        self._part = fmpq(2, honest)
        self._logarithms: dict[int, arb] = {}
        self._floors = self._checked_floors()

    def draw(self, bits: BitSource) -> int:
        """Draw one share."""
        share = 0
        for _ in range(self._jumps(bits)):
            width = self._width(bits)
            share += width if bits(1) else -width
        return share

    def _jumps(self, bits: BitSource) -> int:
        """Draw N: of the probabilities `P(N > n)`, n = 0, 1, ..., so many lie above a uniform number."""
        drawn = bits(DIGITS)
        jumps = bisect_left(self._floors, -drawn, key=operator.neg)
        if self._floor(jumps) == drawn:
            rest = LazyUniform(bits)
            while self._floor(jumps) == drawn and self._is_below(drawn, rest, jumps):
                jumps += 1
        return jumps

    def _is_below(self, drawn: int, rest: LazyUniform, jumps: int) -> bool:
        """Return whether a uniform number, its first digits drawn and the others `rest`, is below `P(N > jumps)`."""
        for digits in precisions(last=_LAST):
            rest.reveal(digits)
            with working_precision(DIGITS + digits + GUARD):
                tail = next(islice(self._tails(), jumps, None)) * arb((1, DIGITS)) - drawn
                known = rest.ball()
                if known < tail or known > tail:
                    return bool(known < tail)
        raise ConfideError(_STUCK)

    def _width(self, bits: BitSource) -> int:
        """Draw how wide a jump is."""
        mixed, height = LazyUniform(bits), LazyUniform(bits)
        for digits in precisions(last=_LAST):
            mixed.reveal(digits)
            height.reveal(digits)
            with working_precision(digits + GUARD):
                ratio = -(-self._logarithm(digits) * mixed.ball()).expm1()
                width = (height.ball().log() / ratio.log()).floor().unique_fmpz()
            if width is not None:
                return 1 + int(width)
        raise ConfideError(_STUCK)

    def _logarithm(self, digits: int) -> arb:
        """Enclose `L = -log(1 - p)` at the working precision, which so many digits drawn need."""
        if digits not in self._logarithms:
            self._logarithms[digits] = -(-arb(self._exponent).exp()).log1p()
        return self._logarithms[digits]

    def _tails(self) -> Iterator[arb]:
        """Enclose `P(N > n)` for n = 0, 1, ... at the working precision."""
        mean = -(-arb(self._exponent).exp()).log1p() * self._part
        term, tail = (-mean).exp(), -(-mean).expm1()
        for n in count(1):
            yield tail
            term = term * mean / n
            tail = tail - term

    def _floor(self, n: int) -> int:
        """Return the whole part of `2^64 P(N > n)`."""
        return self._floors[min(n, len(self._floors) - 1)]

    def _checked_floors(self) -> list[int]:
        """Return the whole parts of `2^64 P(N > n)`, n = 0, 1, ..., which fall, up to the first that is 0."""
        for precision in precisions(2 * DIGITS + GUARD):
            with working_precision(precision):
                floors = self._known_floors()
            if floors is not None:
                return floors
        raise ConfideError("a probability cannot be told from a multiple of 2^-64")

    def _known_floors(self) -> list[int] | None:
        floors = []
        for tail in self._tails():
            scaled = tail * arb((1, DIGITS))
            if scaled < 1:  # and not below 0, although the ball may reach there
                break
            floor = scaled.floor().unique_fmpz()
            if floor is None:
                return None
            floors.append(int(floor))
        return [*floors, 0]
