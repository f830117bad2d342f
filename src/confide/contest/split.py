"""Split of a contest's rows into those of the board and those of the final, by a keyed hash of the id.

The rule reads the id and nothing else, so that a changed label changes no part: what the board and the final cost does
not add up (parallel composition under label-only neighbours). Participants see all ids and do not know the key, so they
cannot tell which rows the board is computed from.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from confide.errors import ParameterError
from confide.privacy.guarantee import exact_fraction
from confide.privacy.prepared import Part

PUBLIC, FINAL = "public", "final"

PURPOSE = "contest split"
"""Purpose of the key, for the ledger that derives it."""

_ALL = 2**64
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Rule that puts a share of the rows into the public part: those whose keyed hash is below `share 2^64`.

    >>> Split(share=Fraction(1, 2), key=bytes(32)).public(["a", "b", "c", "d"])
    array([False,  True, False, False])
    """

    share: Fraction
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        share = exact_fraction(self.share, "`public`")
        if not 0 < share <= 1:
            raise ParameterError(f"`public` must lie above 0 and not above 1, for example 0.5; got {share}")
        object.__setattr__(self, "share", share)
        if len(self.key) != _KEY_BYTES:
            raise ParameterError(f"the key of a split must have {_KEY_BYTES} bytes")

    def public(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows are in the public part."""
        edge = int(self.share * _ALL)
        return np.fromiter((self._hash(one) < edge for one in ids), dtype=np.bool_, count=len(ids))

    def _hash(self, one: str) -> int:
        return int.from_bytes(hmac.digest(self.key, one.encode("utf-8"), "sha256")[:8], "big")

    @property
    def key_digest(self) -> str:
        """Return the SHA-256 of the key, which identifies the rule and does not reveal it."""
        return sha256(self.key).hexdigest()

    def part(self, name: str) -> Part:
        """Return a part as the ledger knows it."""
        if name not in (PUBLIC, FINAL):
            raise ParameterError(f"a contest has the parts {PUBLIC} and {FINAL}; got {name!r}")
        return Part(f"{self.share} public by a keyed hash of the id with key {self.key_digest}", name)


def ids_digest(ids: Sequence[str]) -> str:
    """Return the SHA-256 of a list of ids, each with its length, so that no two lists are written alike."""
    state = sha256()
    for one in ids:
        written = one.encode("utf-8")
        state.update(len(written).to_bytes(8, "big") + written)
    return state.hexdigest()
