"""Request of a site for a certificate: its name, its public keys and the time. No private key leaves the site.

The site makes two keys. The key for TLS goes into a certificate request (PKCS #10), which it signs. The site's own key
(`site_key`) signs the whole request. So one fingerprint, that of the own key, stands for everything in the request: a
coordinator who compares it with what the site reads out by telephone knows that nobody exchanged a key on the way.

The fingerprint is the same for all requests of a site. The signed time tells them apart, so that an old request cannot
be sent again after the site changed its key for TLS.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.agreement import written
from confide.federation.crypto.site_key import SiteKey, check_signed, fingerprint

SCHEMA = "confide.site-request/2"
MOST_CHARACTERS = 20_000

_KEY_BITS = 2048
_PURPOSE = b"request of a site for a certificate"
_NO_REQUEST = "is no request of a site; ask the site for the file that `confide site request` made"
_DAMAGED = (ValueError, TypeError, KeyError, RecursionError, UnsupportedAlgorithm, x509.InvalidVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRequest:
    """Name of a site, its certificate request in PEM, the public half of its own key, the time, and the signature.

    The own key signs all the others. `made_at` is the time at which the site made the request, by its own clock.
    """

    site: str
    csr: str
    own_key: bytes
    made_at: datetime
    signature: bytes

    @classmethod
    def made(cls, site: str, key: rsa.RSAPrivateKey, own: SiteKey, *, at: datetime) -> SiteRequest:
        """Make and sign a request for a certificate of this key."""
        if at.tzinfo is None:
            raise ParameterError("at must be a time with a time zone; give datetime.now(UTC)")
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, site)])
        signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
        csr = signed.public_bytes(Encoding.PEM).decode("ascii")
        signature = own.sign(_message(site, csr, own.public, at))
        return cls(site=site, csr=csr, own_key=own.public, made_at=at, signature=signature)

    @classmethod
    def parse(cls, text: str, source: str) -> SiteRequest:
        """Read a request that came from elsewhere; refuse one that is damaged, or not signed by its own two keys."""
        try:
            plain = json.loads(text) if len(text) <= MOST_CHARACTERS else {}
            if plain["schema"] != SCHEMA:
                raise ValueError("another schema")
            request = cls(
                site=str(plain["site"]),
                csr=str(plain["csr"]),
                own_key=bytes.fromhex(plain["own_key"]),
                made_at=_time(plain["made_at"]),
                signature=base64.b64decode(plain["signature"], validate=True),
            )
            request._check()
        except _DAMAGED:
            raise FederationError(f"{source} {_NO_REQUEST}") from None
        return request

    def _check(self) -> None:
        check_signed(self.own_key, self.signature, self._signed, site=self.site, what="the request")
        found = x509.load_pem_x509_csr(self.csr.encode("ascii"))
        names = found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        if not found.is_signature_valid or [name.value for name in names] != [self.site]:
            raise ValueError("not signed by its key, or in another name")

    @property
    def public_key(self) -> rsa.RSAPublicKey:
        """Public key for the certificate. FLARE logs sites in by RSA signatures, so other kinds are refused."""
        try:
            key = x509.load_pem_x509_csr(self.csr.encode("ascii")).public_key()
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _KEY_BITS:
            return key
        raise FederationError(
            f"the request of site {self.site!r} is not for an RSA key of {_KEY_BITS} bits or more; ask the site for a "
            "new one, made with `confide site request`"
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all that the own key signed, in hex: only the very same request has the same."""
        return sha256(self._signed).hexdigest()

    @property
    def _signed(self) -> bytes:
        return _message(self.site, self.csr, self.own_key, self.made_at)

    def fingerprint(self) -> str:
        """Return the fingerprint of the site's own key, which stands for the whole request."""
        return fingerprint(self.own_key)

    def to_text(self) -> str:
        """Return the text that `parse` reads."""
        plain: dict[str, Any] = {
            "schema": SCHEMA,
            "site": self.site,
            "csr": self.csr,
            "own_key": self.own_key.hex(),
            "made_at": self.made_at.astimezone(UTC).isoformat(),
            "signature": base64.b64encode(self.signature).decode("ascii"),
        }
        return json.dumps(plain, indent=1) + "\n"


def fresh_tls_key() -> rsa.RSAPrivateKey:
    """Draw a key for TLS. FLARE logs sites in by RSA signatures, so it is RSA."""
    return rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)


def private_pem(key: rsa.RSAPrivateKey) -> str:
    """Return a private key in PEM, without a password, as FLARE reads it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode("ascii")


def _message(site: str, csr: str, own_key: bytes, made_at: datetime) -> bytes:
    time = made_at.astimezone(UTC).isoformat()
    return written(_PURPOSE, site.encode(), csr.encode(), own_key, time.encode())


def _time(text: object) -> datetime:
    """Read a time with a time zone."""
    time = datetime.fromisoformat(str(text))
    if time.tzinfo is None:
        raise ValueError("no time zone")
    return time.astimezone(UTC)
