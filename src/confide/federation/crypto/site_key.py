"""Key that a site makes for itself and signs with; other sites know it by its fingerprint.

A certificate proves what the holder of the root's key says, and it changes when it is renewed. This key is the site's
own for good. It is Ed25519 (RFC 8032). Its fingerprint, which sites tell each other and the coordinator by telephone or
on paper, is the SHA-256 of the 32 bytes of its public half, in hex.

A key alone does not prove whose it is: without a pinned fingerprint, anybody who can sign with a site's certificate can
present another key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.constant_time import bytes_eq
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from confide.errors import FederationError
from confide.federation.fingerprints import plain_fingerprint
from confide.federation.site_files import read_secret
from confide.files import create_file

_ANEW = "set the site up anew with `confide site request` and tell the other sites its new fingerprint"


@dataclass(frozen=True, slots=True)
class SiteKey:
    """A private key; only its public half and what it signed are ever sent."""

    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def fresh(cls) -> SiteKey:
        """Draw a key from the operating system's generator."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def kept(cls, path: Path) -> SiteKey:
        """Read the key from a file that only its owner may read; make the file with a fresh key if there is none.

        The file appears whole or not at all, and the first of several processes wins.
        """
        try:
            if not path.exists():
                create_file(path, lambda unfinished: unfinished.write_bytes(cls.fresh()._pem()))
        except FileExistsError:
            pass
        except OSError as error:
            raise FederationError(
                f"the site's own key {path} cannot be made ({error.strerror}); make its folder writable"
            ) from None
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> SiteKey:
        """Read the key from its file in PEM, which nobody but its owner may read."""
        if not path.exists():
            raise FederationError(f"there is no key of the site's own at {path}; put it back from a backup, or {_ANEW}")
        try:
            key = load_pem_private_key(read_secret(path, "site's own key"), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise FederationError(
                f"{path} holds no Ed25519 key without a password; put it back from a backup, or {_ANEW}"
            )
        return cls(key)

    @property
    def public(self) -> bytes:
        """Public half, 32 bytes."""
        return self._private.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Sign with Ed25519."""
        return self._private.sign(message)

    def _pem(self) -> bytes:
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def fingerprint(public: bytes) -> str:
    """Return the fingerprint of a public key, which other sites pin.

    >>> fingerprint(bytes(32))[:16]
    '66687aadf862bd77'
    """
    return sha256(public).hexdigest()


def has_fingerprint(public: bytes, pinned: str) -> bool:
    """Compare a fingerprint as people write it: in capitals or not, with colons or spaces or without."""
    return bytes_eq(fingerprint(public).encode(), plain_fingerprint(pinned).encode())


def check_signed(public: bytes, signature: bytes, message: bytes, *, site: str, what: str) -> None:
    """Refuse a message that was not signed with a site's own key; `what` names the message in the error."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (ValueError, InvalidSignature):
        raise not_signed(site, what, "its own key") from None


def not_signed(site: str, what: str, by: str) -> FederationError:
    """Return the error for a message whose signature is not the site's."""
    return FederationError(
        f"{what} of site {site!r} is not signed by {by}: it was altered on its way, or sent by another. "
        "Run again; if it happens again, find out who answers in its name"
    )
