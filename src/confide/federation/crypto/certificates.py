"""Requests for certificates, and the list of certificates that must not be accepted any more.

The site makes two keys. The key for TLS goes into a certificate request (PKCS #10), which it signs. The site's own key
(`identity`) signs the whole request. So one fingerprint, that of the own key, stands for everything in the request: a
coordinator who compares it with what the site reads out by telephone knows that nobody exchanged a key on the way.

The fingerprint is the same for all requests of a site. The signed time tells them apart, so that an old request cannot
be sent again after the site changed its key for TLS.

The list has a time for each name: certificates in that name which began then or earlier are not trusted, whatever key
they are for and whether or not anybody kept them. A site that is signed for again, with a new key, has a later one.

Lists are numbered. A peer that has one takes only a later one, which holds everything of its own: so whoever carries
lists cannot bring an older one back.
"""

from __future__ import annotations

import base64
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.agreement import checked_site, decoded, written
from confide.federation.crypto.identity import (
    Peer,
    PrivateKey,
    SiteKey,
    certificate_key,
    check_signed,
    fingerprint,
    sign_with,
)
from confide.federation.site_files import write_whole

SCHEMA = "confide.site-request/2"
MOST_CHARACTERS_OF_REQUEST = 20_000

_KEY_BITS = 2048
_PURPOSE_OF_REQUEST = b"request of a site for a certificate"
_NO_REQUEST = "is not a site's request; ask the site for the file that `confide site request` made"
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
            plain = json.loads(text) if len(text) <= MOST_CHARACTERS_OF_REQUEST else {}
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
    return written(_PURPOSE_OF_REQUEST, site.encode(), csr.encode(), own_key, time.encode())


def _time(text: object) -> datetime:
    """Read a time with a time zone."""
    time = datetime.fromisoformat(str(text))
    if time.tzinfo is None:
        raise ValueError("no time zone")
    return time.astimezone(UTC)


REVOKED = "revoked.json"
"""File of a list."""

MOST_CHARACTERS_OF_LIST = 100_000
"""Most characters of a list that came from elsewhere: more than a thousand names."""

_PURPOSE_OF_LIST = b"list of revoked certificates"
_LONGEST_SIGNATURE = 2_000
_AGAIN = "ask the coordinator for the list of `confide federation revoke`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocations:
    """A list of revoked certificates; number 0 is no list at all.

    `before` has a name's time: certificates in that name which began then or earlier are revoked.
    """

    number: int = 0
    before: Mapping[str, datetime] = field(default_factory=dict)
    signature: bytes = field(default=b"", repr=False)

    @classmethod
    def signed(cls, number: int, before: Mapping[str, datetime], key: PrivateKey) -> Revocations:
        """Sign a list with the root's key."""
        whole = {name: time.astimezone(UTC).replace(microsecond=0) for name, time in sorted(before.items())}
        return cls(number=number, before=whole, signature=sign_with(key, _statement(number, whole)))

    @classmethod
    def parse(cls, text: str, root: str) -> Revocations:
        """Read a list that came from elsewhere; refuse one that the root did not sign."""
        try:
            plain = json.loads(text if len(text) <= MOST_CHARACTERS_OF_LIST else "")
            number = plain["number"]
            before = {checked_site(name): datetime.fromisoformat(time) for name, time in plain["revoked"].items()}
            if type(number) is not int or number < 1 or any(time.tzinfo is None for time in before.values()):
                raise ValueError("no number, or no time zone")
            signature = decoded(plain["signature"], _LONGEST_SIGNATURE, "the signature of a list")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise FederationError(f"the list of revoked certificates cannot be read; {_AGAIN}") from None
        try:
            Peer(name="root", key=certificate_key(root)).check(signature, _statement(number, before), "the list")
        except FederationError:
            raise FederationError(
                f"the list of revoked certificates is not signed by this federation's root; {_AGAIN}"
            ) from None
        return cls(number=number, before=before, signature=signature)

    @classmethod
    def load(cls, path: Path, root: str) -> Revocations:
        """Read the list in a file; none is there before the first certificate is revoked."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError):
            raise FederationError(f"{path} cannot be read; put it back from a backup") from None
        try:
            return cls.parse(text, root)
        except FederationError as error:
            raise FederationError(f"{path}: {error}") from None

    def to_text(self) -> str:
        """Return the list as a file holds it."""
        revoked = {name: time.isoformat() for name, time in self.before.items()}
        return json.dumps(
            {"number": self.number, "revoked": revoked, "signature": b64encode(self.signature).decode("ascii")}
        )

    def follows(self, known: Revocations) -> bool:
        """Return whether this list replaces one that is known; refuse a later one that takes something back."""
        if self.number <= known.number:
            return False
        for name, time in known.before.items():
            if name not in self.before or self.before[name] < time:
                raise FederationError(
                    f"the list of revoked certificates has number {self.number}, and lacks what an earlier one has "
                    f"about site {name!r}; {_AGAIN}"
                )
        return True


def take_in(path: Path, text: str, root: str) -> bool:
    """Store a list if it is later than the one in a file; return whether it was stored."""
    new = Revocations.parse(text, root)
    later = new.follows(Revocations.load(path, root))
    if later:
        write_whole(path, new.to_text())
    return later


def _statement(number: int, before: Mapping[str, datetime]) -> bytes:
    listed = [part.encode() for name in sorted(before) for part in (name, before[name].astimezone(UTC).isoformat())]
    return written(_PURPOSE_OF_LIST, str(number).encode(), *listed)
