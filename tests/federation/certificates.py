"""Federations for tests: an authority that issues certificates as NVIDIA FLARE does, or as an attacker would."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from confide.federation.crypto.identity import Identity, PrivateKey, SiteKey

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@cache
def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """One of a few keys; making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def fresh_key(kind: str = "ec") -> PrivateKey:
    if kind == "rsa":
        return rsa_key()
    return ed25519.Ed25519PrivateKey.generate() if kind == "ed25519" else ec.generate_private_key(ec.SECP256R1())


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def issued(
    name: str,
    key: PrivateKey,
    issuer: str,
    issuer_key: PrivateKey,
    *,
    since: datetime = NOW - DAY,
    until: datetime = NOW + 360 * DAY,
    extensions: tuple[tuple[x509.ExtensionType, bool], ...] = (),
    role: str | None = None,
    digest: hashes.HashAlgorithm | None = None,
) -> str:
    """A certificate in PEM."""
    subject = [x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]
    if role is not None:
        subject.append(x509.NameAttribute(x509.NameOID.UNSTRUCTURED_NAME, role))
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    edwards = isinstance(issuer_key, ed25519.Ed25519PrivateKey)
    return pem(builder.sign(issuer_key, None if edwards else digest or hashes.SHA256()))  # type: ignore[arg-type]


AUTHORITY = ((x509.BasicConstraints(ca=True, path_length=None), True),)


@dataclass(frozen=True)
class Authority:
    """A root that issues certificates to sites."""

    name: str
    key: PrivateKey
    root: str

    @classmethod
    def fresh(cls, name: str = "confide", kind: str = "ec") -> Authority:
        key = fresh_key(kind)
        return cls(name, key, issued(name, key, name, key, extensions=AUTHORITY))

    def site(self, name: str, kind: str = "ec", **terms: object) -> Identity:
        """A site with a certificate of this root's, and a key of its own."""
        key = fresh_key(kind)
        certificate = issued(name, key, self.name, self.key, **terms)  # type: ignore[arg-type]
        return Identity(name=name, certificate=certificate, root=self.root, key=key, own=SiteKey.fresh())
