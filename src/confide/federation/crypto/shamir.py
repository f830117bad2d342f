"""Secret sharing by Shamir: any `threshold` of the shares give the secret, and fewer say nothing about it.

A secret is the value at 0 of a polynomial of degree `threshold - 1` over the integers modulo the prime 2^521 - 1, whose
other coefficients are drawn from the operating system's generator. Share i is its value at i. For any fewer points and
any secret there is exactly one polynomial for each choice of the remaining values: so they are uniform whatever the
secret is.

Reference: Shamir 1979, "How to share a secret", CACM.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from confide.errors import FederationError, ParameterError

PRIME = 2**521 - 1
SHARE_BYTES = 66
"""Bytes of a share as it is written."""


def split(secret: bytes, *, shares: int, threshold: int) -> tuple[int, ...]:
    """Return the shares of a secret of at most 64 bytes, for the points 1, 2, ...

    >>> parts = split(b"key", shares=3, threshold=2)
    >>> combined({1: parts[0], 3: parts[2]}, 3)
    b'key'
    """
    if not 0 < len(secret) <= 64 or not 1 <= threshold <= shares < PRIME:
        raise ParameterError("a secret has 1 to 64 bytes, and its threshold lies between 1 and the number of shares")
    drawn = (secrets.randbelow(PRIME) for _ in range(threshold - 1))
    coefficients = [int.from_bytes(secret, "big"), *drawn]
    return tuple(_value(coefficients, point) for point in range(1, shares + 1))


def combined(shares: Mapping[int, int], length: int) -> bytes:
    """Return the secret of `length` bytes from as many shares as the threshold, by their points.

    Shares that do not belong together give another secret, or an error; whoever needs certainty must check it.
    """
    points = tuple(shares)
    if not points or not all(0 < point < PRIME for point in points):
        raise ParameterError("a secret needs shares at positive points; give as many as its threshold")
    total = 0
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % PRIME, below * (other - point) % PRIME
        total += shares[point] * above * pow(below, -1, PRIME)
    secret = total % PRIME
    if secret >> (8 * length):
        raise FederationError("the shares of a secret do not belong together; run again")
    return secret.to_bytes(length, "big")


def _value(coefficients: list[int], point: int) -> int:
    """Return the value of a polynomial, by Horner's rule."""
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * point + coefficient) % PRIME
    return value
