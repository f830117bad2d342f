"""Sources of random bits, uniform integers, and a uniform number that is revealed bit by bit.

Proof: bits.proof.md.
"""

from __future__ import annotations

import secrets
from typing import Protocol

from flint import arb

from confide.errors import ConfideError


class BitSource(Protocol):
    """Source of random bits."""

    def __call__(self, count: int, /) -> int:
        """Draw `count` independent fair bits, as an integer from 0 to 2^count - 1."""
        ...


SYSTEM_BITS: BitSource = secrets.randbits


def uniform_below(end: int, bits: BitSource) -> int:
    """Draw an integer from 0 to `end - 1`, each with the same probability."""
    length = (end - 1).bit_length()
    for _ in range(2**20):
        drawn = bits(length) if length else 0
        if drawn < end:
            return drawn
    raise ConfideError(
        "no integer is drawn after a million trials: the source of random bits gives the same bit for ever"
    )


class LazyUniform:
    """A number uniform on [0, 1], of which only as many binary digits are drawn as somebody needs.

    Once `k` digits are drawn and read as the integer `n`, the number is known to lie in
    `[n, n + 1] / 2^k`; given that, it is uniform there, whatever was computed from the digits.
    """

    __slots__ = ("_bits", "_digits", "_known")

    def __init__(self, bits: BitSource = SYSTEM_BITS) -> None:
        self._bits = bits
        self._digits = 0
        self._known = 0

    def reveal(self, count: int) -> None:
        """Draw digits until at least `count` of them are known."""
        missing = count - self._known
        if missing > 0:
            self._digits = (self._digits << missing) | self._bits(missing)
            self._known = count

    def ball(self) -> arb:
        """Return the interval that is known so far. Its ends are exact at any working precision."""
        exponent = -self._known - 1
        return arb((2 * self._digits + 1, exponent), (1, exponent))
