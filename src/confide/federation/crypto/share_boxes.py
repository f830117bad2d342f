"""Sealed shares: what a site gives to each of its peers, so that enough of them can take its masks off a sum.

A site splits two secrets, the private key of its masks and the seed of its self-mask (`recovery`). The shares for a
peer travel through the server in a box that this peer alone can open: ChaCha20-Poly1305 under a key that both derive
from a second pair of X25519 keys, made for this run. The second pair is needed as the first one may be
reconstructed, and boxes must stay closed then. A box also proves its sender, since nobody else knows the key.

Each key seals one box, so the nonce is zero.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from confide.errors import FederationError
from confide.federation.crypto.agreement import Agreement, Offer, checked_site, decoded, texts, written
from confide.federation.crypto.identity import Identity
from confide.federation.crypto.shamir import PRIME, SHARE_BYTES
from confide.federation.crypto.site_key import check_signed

_BOX_BYTES = 2 * SHARE_BYTES + 16
_NONCE = bytes(12)


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
                _NONCE, shares[peer].to_bytes(), None
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
        plain = ChaCha20Poly1305(_box_key(private, keys[sender], agreement, sender, me)).decrypt(_NONCE, sealed, None)
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
