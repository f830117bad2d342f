"""Independent flips with an exact probability, for randomised response.

A flip has a rational probability whose denominator is `2^64`. Each takes 64 bits of its own, so that no digit is ever
missing, and the time of a draw depends on the number of flips alone.

Proof: flips.proof.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.noise.bits import SYSTEM_BITS, BitSource
from confide.privacy.noise.reals import as_fraction

PLACES = 64
"""Number of bits for each flip; probabilities are multiples of `2^-PLACES`."""

_BLOCK = 2**16  # flips that are drawn at once


def flips(count: int, probability: Fraction, *, bits: BitSource = SYSTEM_BITS) -> NDArray[np.bool_]:
    """Draw `count` independent flips, each true with exactly the given probability.

    >>> from fractions import Fraction
    >>> flips(3, Fraction(1, 4)).shape
    (3,)
    """
    below = np.uint64(checked_parts(probability))
    blocks = [_uniform(min(_BLOCK, count - start), bits) < below for start in range(0, count, _BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.bool_)


def checked_parts(probability: Fraction) -> int:
    """Return the probability in parts of `2^-PLACES`, refusing one that is no whole number of parts, 0, 1 or beyond."""
    parts = as_fraction(probability, "the probability of a flip") * 2**PLACES
    if parts.denominator != 1 or not 0 < parts < 2**PLACES:
        raise ParameterError(
            f"the probability of a flip must be a multiple of 2^-{PLACES} strictly between 0 and 1; round it up"
        )
    return int(parts)


def _uniform(count: int, bits: BitSource) -> NDArray[np.uint64]:
    """Draw integers that are uniform from 0 to 2^PLACES - 1."""
    drawn = bits(PLACES * count).to_bytes(PLACES // 8 * count, "little")
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False)
