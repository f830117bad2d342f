"""Shares of secrets: Shamir's scheme, sealed boxes for other sites, and encryption of stored shares.

A secret is the value at 0 of a polynomial of degree `threshold - 1` over the integers modulo the prime 2^521 - 1, whose
other coefficients are drawn from the operating system's generator. Share i is its value at i. For any fewer points and
any secret there is exactly one polynomial for each choice of the remaining values: so they are uniform whatever the
secret is.

Reference: Shamir 1979, "How to share a secret", CACM.

A site splits two secrets, the private key of its masks and the seed of its self-mask (`recovery`). The shares for a
peer travel through the server in a box that this peer alone can open: ChaCha20-Poly1305 under a key that both derive
from a second pair of X25519 keys, made for this run. The second pair is needed as the first one may be
reconstructed, and boxes must stay closed then. A box also proves its sender, since nobody else knows the key.

Each key seals one box, so the nonce is zero.

A site keeps its share of a private sum, its counts with only a share of the noise, so that the same question can
be answered again at no further cost. Alone, such a share is less private than what was released, so the
ledger stores it encrypted with ChaCha20-Poly1305. A reader of the ledger without the secret learns only its length, and
can neither change it nor swap it for another answer: the context is authenticated with it.

Nonces are drawn at random; up to 2^32 texts may be sealed under one secret.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.agreement import Agreement, Offer, checked_site, decoded, texts, written
from confide.federation.crypto.identity import Identity, check_signed

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


_BOX_BYTES = 2 * SHARE_BYTES + 16
_BOX_NONCE = bytes(12)


@dataclass(frozen=True, slots=True, repr=False)
class Shares:
    """Shares of one site's two secrets, at the point of the site that holds them."""

    key: int
    seed: int

    def to_bytes(self) -> bytes:
        """Return both shares at a fixed length."""
        return self.key.to_bytes(SHARE_BYTES, "big") + self.seed.to_bytes(SHARE_BYTES, "big")

    @classmethod
    def from_bytes(cls, plain: bytes) -> Shares:
        """Read both shares."""
        shares = cls(*(int.from_bytes(half, "big") for half in (plain[:SHARE_BYTES], plain[SHARE_BYTES:])))
        if max(shares.key, shares.seed) >= PRIME:
            raise FederationError("a share is malformed; install the same version of confide everywhere")
        return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class SealingKey:
    """A site's signed statement that boxes for it are to be sealed to this key, in the run of its offer."""

    site: str
    key: bytes
    signature: bytes

    @classmethod
    def signed(cls, identity: Identity, key: X25519PrivateKey, offer: Offer) -> SealingKey:
        """Sign the public half of a key with the site's own key."""
        public = key.public_key().public_bytes_raw()
        return cls(site=identity.name, key=public, signature=identity.own.sign(_key_statement(offer, public)))

    def verified(self, offer: Offer) -> SealingKey:
        """Return this key after it was compared with an offer that was itself verified."""
        if self.site != offer.site:
            raise FederationError(f"the sealing key of site {offer.site!r} is another's; run again")
        check_signed(
            offer.own_key, self.signature, _key_statement(offer, self.key), site=self.site, what="the sealing key"
        )
        return self

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        signature = base64.b64encode(self.signature).decode("ascii")
        return {"site": self.site, "key": base64.b64encode(self.key).decode("ascii"), "signature": signature}

    @classmethod
    def from_dict(cls, plain: object) -> SealingKey:
        """Read a key that came from elsewhere; nothing in it is trusted before `verified`."""
        given = texts(plain, "offer of a sealing key", ("site", "key", "signature"))
        site = checked_site(given["site"])
        key = decoded(given["key"], 32, f"the sealing key of site {site!r}")
        if len(key) != 32:
            raise FederationError(f"the sealing key of site {site!r} is malformed; install the same version everywhere")
        return cls(site=site, key=key, signature=decoded(given["signature"], 2_000, f"the signature of site {site!r}"))


def verified_keys(keys: Iterable[SealingKey], agreement: Agreement) -> dict[str, bytes]:
    """Return everybody's sealing key by site; there must be one for each site of an agreement, and no other."""
    given = {key.site: key for key in keys}
    if set(given) != set(agreement.sites):
        raise FederationError("sealing keys are not those of the sites on the list; run again")
    return {offer.site: given[offer.site].verified(offer).key for offer in agreement.offers}


def sealed_shares(
    shares: Mapping[str, Shares],
    private: X25519PrivateKey,
    keys: Mapping[str, bytes],
    agreement: Agreement,
    sender: str,
) -> dict[str, str]:
    """Return a box for each peer."""
    return {
        peer: base64.b64encode(
            ChaCha20Poly1305(_box_key(private, keys[peer], agreement, sender, peer)).encrypt(
                _BOX_NONCE, shares[peer].to_bytes(), None
            )
        ).decode("ascii")
        for peer in agreement.sites
        if peer != sender
    }


def opened_shares(
    box: object, private: X25519PrivateKey, keys: Mapping[str, bytes], agreement: Agreement, *, sender: str, me: str
) -> Shares:
    """Open a box that a peer sealed for this site, in this run and for this list of sites."""
    text = box if isinstance(box, str) else ""
    sealed = decoded(text, _BOX_BYTES, f"the box of site {sender!r}")
    try:
        plain = ChaCha20Poly1305(_box_key(private, keys[sender], agreement, sender, me)).decrypt(
            _BOX_NONCE, sealed, None
        )
    except (InvalidTag, ValueError):
        raise FederationError(
            f"the shares that site {sender!r} sealed for this site cannot be opened: they are for another run or "
            "another list of sites; run again, or leave that site out"
        ) from None
    return Shares.from_bytes(plain)


def _box_key(private: X25519PrivateKey, public: bytes, agreement: Agreement, sender: str, receiver: str) -> bytes:
    try:
        secret = private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise FederationError(
            "a site offers a sealing key that gives secrets away; leave it out, and run again"
        ) from None
    named = (sender.encode(), receiver.encode())
    return HKDF(
        algorithm=hashes.SHA256(),
        length=32,
        salt=written(b"salt", agreement.session.encode(), agreement.question.encode()),
        info=written(b"box", *named, bytes.fromhex(agreement.digest())),
    ).derive(secret)


def _key_statement(offer: Offer, key: bytes) -> bytes:
    named = (offer.session.encode(), offer.question.encode(), offer.site.encode())
    return written(b"sealing key", *named, offer.public_key, key)


_KEY = 32
_SEAL_NONCE_BYTES = 12
_MARK = "sealed1:"
_SEAL_PURPOSE = b"confide sealed answers 1"


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals texts and opens them again.

    >>> seal = Seal.of(bytes(range(32)))
    >>> seal.open(seal.seal(b"3,1,4", b"question 1"), b"question 1")
    b'3,1,4'
    """

    _key: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: bytes) -> Seal:
        """Derive the key from a secret of 32 random bytes or more."""
        if len(secret) < _KEY:
            raise ParameterError(f"the secret must have at least {_KEY} random bytes; draw a new one")
        return cls(HKDF(algorithm=hashes.SHA256(), length=_KEY, salt=None, info=_SEAL_PURPOSE).derive(secret))

    def seal(self, plain: bytes, context: bytes) -> str:
        """Encrypt under a fresh nonce; only the same context opens it."""
        nonce = secrets.token_bytes(_SEAL_NONCE_BYTES)
        sealed = nonce + ChaCha20Poly1305(self._key).encrypt(nonce, plain, context)
        return _MARK + base64.b64encode(sealed).decode("ascii")

    def open(self, text: str, context: bytes) -> bytes:
        """Decrypt what was sealed with this secret in this context."""
        try:
            sealed = base64.b64decode(text.removeprefix(_MARK), validate=True) if text.startswith(_MARK) else b""
            return ChaCha20Poly1305(self._key).decrypt(sealed[:_SEAL_NONCE_BYTES], sealed[_SEAL_NONCE_BYTES:], context)
        except (binascii.Error, ValueError, InvalidTag):
            raise FederationError(
                "a stored answer cannot be opened: it is damaged, or the site's secret is not the one it was sealed "
                "with. Put the secret back from a backup; with a new one the question must be paid for again"
            ) from None
