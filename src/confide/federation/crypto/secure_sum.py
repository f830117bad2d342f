"""Secure sums over sites: nobody sees the parts (Bonawitz et al. 2017; `recovery` adds what dropouts need).

Every two sites derive a secret stream that only they know (X25519, HKDF-SHA256, ChaCha20). The one whose name is
smaller adds it to its numbers and the other subtracts it, modulo 2^64 for counts and 2^128 for wide values. In
the sum over all sites the streams cancel; without even one of the answers, what is left is noise.

What is promised. Let the coordinator and any number of sites be dishonest: they pool what they know, and send
whatever they like. The other sites follow the protocol and keep their keys. Then what the dishonest see depends
on an honest site's numbers only through the sum over *all honest sites on its list*, and not even on that
unless all of these accepted the same list and answered. This rests on X25519 with HKDF as a key agreement, on
ChaCha20 as a stream that cannot be told from random, and on signatures that cannot be forged.

What is not promised.

- The sum is shown. What it gives away (a cell that only one patient in the country can be in) must be dealt
  with before masking: by the minimum number of rows, or by noise.
- If all sites on the list but one are dishonest, that one's numbers are the sum less theirs. If all but two are, the
  sum of these two is all that they learn. With two sites each would know the other's numbers: so there are
  never fewer than three, and sites that fear more colluders must ask for more.
- Two sums over different lists differ by some sites' numbers. A site must not answer the same question for
  another list (see `register`); the masks do not know what was asked before.
- A dishonest site can spoil the sum by adding any numbers. Nobody can detect it.
- The holder of the root certificate's private key decides who is a site, and could mint three of them. Somebody who
  kept copies of the kits can sign as the sites. Either could pose as all of a site's peers. Sites prevent both by
  pinning the fingerprints of each other's own keys, which no kit holds (`Agreement.verified`). A site that pinned
  nothing trusts the holder of the root's key and everybody who had the kits.
- When a site does not answer, there is no sum, unless the sites agreed on recovery (`recovery`, which promises this
  against fewer colluders): run again with fresh keys. A key masks one answer, ever.

Reference: Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from confide.counts import read_only
from confide.errors import FederationError, ParameterError
from confide.federation.crypto.agreement import Agreement, KeyPair, checked_site, decoded, texts, written
from confide.federation.crypto.identity import Identity, check_signed

COUNT_LIMIT = 2**62
WIDE_LIMIT = 2**126
"""Sums stay below these in size, so that their signs survive the modulus."""

MOST_BYTES = 2**28
"""Most bytes of an answer that came from elsewhere: 33 million counts."""

_WORD, _WIDE = 8, 16
_MODULUS = 2**128

UInt64Array = NDArray[np.uint64]
Int64Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedVector:
    """A site's masked numbers: `cells` words of 8 bytes and `wide` words of 16, lowest byte first.

    They are signed with the site's own key. The last wide word is a masked zero, by which the coordinator sees
    whether the masks cancelled.
    """

    site: str
    agreement: str
    cells: int
    wide: int
    payload: bytes
    signature: bytes

    def words(self) -> tuple[UInt64Array, list[int]]:
        """Return the masked numbers."""
        return _words(self.payload, self.cells, self.wide)

    def statement(self) -> bytes:
        """Return the bytes that the site signs."""
        return answer_statement(self.site, self.agreement, self.cells, self.wide, sha256(self.payload).digest())

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {
            "site": self.site,
            "agreement": self.agreement,
            "shape": f"{self.cells}+{self.wide}",
            "payload": base64.b64encode(self.payload).decode("ascii"),
            "signature": base64.b64encode(self.signature).decode("ascii"),
        }

    @classmethod
    def from_dict(cls, plain: object) -> MaskedVector:
        """Read an answer that came from elsewhere; nothing in it is trusted before `unmasked_sum`."""
        given = texts(plain, "answer", ("site", "agreement", "shape", "payload", "signature"))
        site = checked_site(given["site"])
        payload = decoded(given["payload"], MOST_BYTES, f"the answer of site {site!r}")
        numbers = given["shape"].split("+")
        cells, wide = (int(n) if n.isdecimal() and len(n) < 10 else -1 for n in (*numbers, "", "")[:2])
        digest = re.fullmatch("[0-9a-f]{64}", given["agreement"])
        if len(numbers) != 2 or min(cells, wide) < 1 or len(payload) != cells * _WORD + wide * _WIDE or not digest:
            raise FederationError(f"the answer of site {site!r} is malformed; install the same version everywhere")
        signature = decoded(given["signature"], 2_000, f"the signature of site {site!r}")
        return cls(
            site=site, agreement=given["agreement"], cells=cells, wide=wide, payload=payload, signature=signature
        )


class Masks:
    """A site's masks for one answer in one agreement.

    Making them spends the keys, so that neither these masks nor others from the same keys are used twice. With a `seed`
    the site adds a mask that nobody shares (`self_masks`).
    """

    def __init__(self, agreement: Agreement, keys: KeyPair, identity: Identity, *, seed: bytes = b"") -> None:
        own = [offer for offer in agreement.offers if offer.site == identity.name]
        made = (keys.public, identity.own.public, identity.certificate)
        if not own or (own[0].public_key, own[0].own_key, own[0].certificate) != made:
            raise FederationError(
                f"the offer of this site ({identity.name}) is not on the list as it was made; nothing is sent"
            )
        private = keys.spend()
        secrets = {}
        for offer in agreement.offers:
            if offer is own[0]:
                continue
            try:
                secrets[offer.site] = private.exchange(X25519PublicKey.from_public_bytes(offer.public_key))
            except ValueError:
                raise FederationError(
                    f"site {offer.site!r} offers a key that gives secrets away; leave that site out, and run again"
                ) from None
        self._unspent = [secrets]
        self._seed = seed
        self._agreement = agreement
        self._identity = identity

    def mask(self, counts: NDArray[np.integer], wide: Sequence[int] = ()) -> MaskedVector:
        """Mask whole numbers of either sign, once; the result cannot be told from random numbers.

        All sites must give equally many numbers, none so large that the sum over all could pass the limits.
        """
        sites = len(self._agreement.sites)
        given, values = _checked_counts(counts, sites), [*_checked_wide(wide, sites), 0]
        try:
            secrets = self._unspent.pop()
        except IndexError:
            raise FederationError("these masks have been used; begin a new run, with fresh keys") from None
        masked = given.astype(np.int64).view(np.uint64)
        for peer, secret in secrets.items():
            words, wides = pair_masks(secret, self._agreement, self._identity.name, peer, masked.size, len(values))
            if self._identity.name < peer:
                masked, values = masked + words, [a + b for a, b in zip(values, wides, strict=True)]
            else:
                masked, values = masked - words, [a - b for a, b in zip(values, wides, strict=True)]
        if self._seed:
            words, wides = self_masks(self._seed, self._agreement, self._identity.name, masked.size, len(values))
            masked, values = masked + words, [a + b for a, b in zip(values, wides, strict=True)]
        payload = masked.astype("<u8").tobytes() + b"".join((v % _MODULUS).to_bytes(_WIDE, "little") for v in values)
        name, digest = self._identity.name, self._agreement.digest()
        hashed = sha256(payload).digest()
        signature = self._identity.own.sign(answer_statement(name, digest, masked.size, len(values), hashed))
        return MaskedVector(
            site=name, agreement=digest, cells=masked.size, wide=len(values), payload=payload, signature=signature
        )


def pair_masks(
    secret: bytes, agreement: Agreement, one: str, other: str, cells: int, wide: int
) -> tuple[UInt64Array, list[int]]:
    """Return the numbers that two sites share, from their X25519 secret and everything that was agreed.

    The key is used for this one stream, so the nonce and the counter begin at zero.
    """
    pair = [name.encode() for name in sorted((one, other))]
    return _stream(secret, agreement, [b"mask", *pair], cells, wide)


def self_masks(seed: bytes, agreement: Agreement, site: str, cells: int, wide: int) -> tuple[UInt64Array, list[int]]:
    """Return the numbers that a site adds to its answer beside those that it shares with others."""
    return _stream(seed, agreement, [b"self-mask", site.encode()], cells, wide)


def _stream(
    secret: bytes, agreement: Agreement, label: list[bytes], cells: int, wide: int
) -> tuple[UInt64Array, list[int]]:
    shape = cells.to_bytes(8, "little") + wide.to_bytes(8, "little")
    key = HKDF(
        algorithm=hashes.SHA256(),
        length=32,
        salt=written(b"salt", agreement.session.encode(), agreement.question.encode()),
        info=written(*label, bytes.fromhex(agreement.digest()), shape),
    ).derive(secret)
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return _words(stream.update(bytes(cells * _WORD + wide * _WIDE)), cells, wide)


def unmasked_sum(vectors: Iterable[MaskedVector], agreement: Agreement) -> tuple[Int64Array, tuple[int, ...]]:
    """Return the sum of all sites' counts and wide values, if each site on the list answered once and no other did.

    Refuse answers under another list, of another shape or not signed with the own key of the site's offer, and sums
    in which the masks did not cancel; that such a sum goes unnoticed by chance has probability 2^-128.
    """
    answers = tuple(sorted(vectors, key=lambda vector: vector.site))
    if tuple(vector.site for vector in answers) != agreement.sites:
        raise FederationError(
            f"a sum needs one answer of each of the sites {', '.join(map(repr, agreement.sites))}; run again with "
            "those that answer"
        )
    check_answers(answers, agreement)
    return checked_total([vector.words() for vector in answers])


def check_answers(answers: Sequence[MaskedVector], agreement: Agreement) -> None:
    """Refuse answers under another list, of different shapes or not signed with the own key of the site's offer."""
    digest = agreement.digest()
    for vector in answers:
        own_key = agreement.offer_of(vector.site).own_key
        check_signed(own_key, vector.signature, vector.statement(), site=vector.site, what="the answer")
        if vector.agreement != digest:
            raise FederationError(f"site {vector.site!r} answered for another list of sites or another run; run again")
        if (vector.cells, vector.wide) != (answers[0].cells, answers[0].wide):
            raise FederationError(
                f"sites {answers[0].site!r} and {vector.site!r} answered with different numbers of values; install the "
                "same version of confide everywhere"
            )


def checked_total(parts: Sequence[tuple[UInt64Array, list[int]]]) -> tuple[Int64Array, tuple[int, ...]]:
    """Add up masked answers and what takes their masks off; refuse a sum in which masks are left."""
    counts: Int64Array = np.add.reduce([words for words, _ in parts], dtype=np.uint64).view(np.int64)
    *wide, check = (_signed(sum(column)) for column in zip(*(values for _, values in parts), strict=True))
    if check or not _below(counts, COUNT_LIMIT) or any(abs(value) >= WIDE_LIMIT for value in wide):
        raise FederationError("the masks do not cancel: a site masked with other keys than it offered; run again")
    return read_only(counts), tuple(wide)


def _words(payload: bytes, cells: int, wide: int) -> tuple[UInt64Array, list[int]]:
    words = np.frombuffer(payload, dtype="<u8", count=cells).astype(np.uint64, copy=False)
    starts = range(cells * _WORD, cells * _WORD + wide * _WIDE, _WIDE)
    return words, [int.from_bytes(payload[start : start + _WIDE], "little") for start in starts]


def answer_statement(site: str, agreement: str, cells: int, wide: int, hashed: bytes) -> bytes:
    """Return what a site signs of its answer, by the hash of its numbers: others check it without the numbers."""
    return written(b"answer", site.encode(), agreement.encode(), b"%d" % cells, b"%d" % wide, hashed)


def _checked_counts(counts: NDArray[np.integer], sites: int) -> NDArray[np.integer]:
    if (
        counts.ndim != 1
        or counts.size == 0
        or counts.dtype.kind not in "iu"
        or not _below(counts, COUNT_LIMIT // sites)
    ):
        raise ParameterError(f"counts must be a list of whole numbers below 2^62 / {sites}, at least one")
    return counts


def _checked_wide(wide: Sequence[int], sites: int) -> Sequence[int]:
    if any(isinstance(v, bool) or not isinstance(v, int) or abs(v) >= WIDE_LIMIT // sites for v in wide):
        raise ParameterError(f"wide values must be whole numbers below 2^126 / {sites}")
    return wide


def _below(numbers: NDArray[np.integer], limit: int) -> bool:
    return bool(((numbers < limit) & (numbers > -limit)).all())


def _signed(value: int) -> int:
    return (value + _MODULUS // 2) % _MODULUS - _MODULUS // 2
