"""Honest sites in tests: who they are, what they offer, what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from confide.federation.crypto.agreement import Agreement, KeyPair, Offer
from confide.federation.crypto.identity import Identity
from confide.federation.crypto.secure_sum import MaskedVector, Masks
from tests.federation.certificates import NOW, Authority

ROOT = Authority.fresh()
NAMES = ("east", "north", "south", "west")
SITES = {name: ROOT.site(name) for name in (*NAMES, "alps", "coast", "islands", "valley")}
SESSION, QUESTION = "0123456789abcdef" * 2, sha256(b"question").hexdigest()

UInt64Array = NDArray[np.uint64]


def derived_keys(name: str) -> KeyPair:
    """The same keys each time."""
    return KeyPair(X25519PrivateKey.from_private_bytes(sha256(name.encode()).digest()))


def offered(identity: Identity, keys: KeyPair, **terms: str) -> Offer:
    return Offer.signed(identity, keys, **{"session": SESSION, "question": QUESTION, **terms})


def agreed(offers: Iterable[Offer], **terms: Any) -> Agreement:
    given = {"session": SESSION, "question": QUESTION, "asked": tuple(SITES), "root": ROOT.root, "at": NOW, **terms}
    return Agreement.verified(offers, **given)


@dataclass(frozen=True)
class Round:
    """Honest sites that have offered."""

    keys: Mapping[str, KeyPair]
    offers: Mapping[str, Offer]

    @classmethod
    def of(cls, names: Sequence[str], make: Callable[[str], KeyPair] = lambda _: KeyPair.fresh()) -> Round:
        keys = {name: make(name) for name in names}
        return cls(keys, {name: offered(SITES[name], keys[name]) for name in names})

    def masks(self, name: str, offers: Iterable[Offer] | None = None, **terms: Any) -> Masks:
        """What a site does with a list of offers."""
        listed = self.offers.values() if offers is None else offers
        return Masks(agreed(listed, **terms), self.keys[name], SITES[name])

    def answers(self, values: Mapping[str, Any], wide: Mapping[str, Sequence[int]] | None = None) -> list[MaskedVector]:
        return [self.masks(name).mask(np.asarray(values[name]), (wide or {}).get(name, ())) for name in self.keys]


def tables(names: Sequence[str], cells: int, seed: int = 7) -> dict[str, NDArray[np.int64]]:
    """Counts as sites have them: many zeros, small numbers."""
    generator = np.random.default_rng(seed)
    return {name: generator.poisson(0.7, cells) for name in names}
