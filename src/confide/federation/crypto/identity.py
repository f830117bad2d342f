"""Identity of a site: its keys, their fingerprints, and the signatures that prove who sent a reply.

A certificate proves what the holder of the root's key says, and it changes when it is renewed. This key is the site's
own for good. It is Ed25519 (RFC 8032). Its fingerprint, which sites tell each other and the coordinator by telephone or
on paper, is the SHA-256 of the 32 bytes of its public half, in hex.

A key alone does not prove whose it is: without a pinned fingerprint, anybody who can sign with a site's certificate can
present another key.

A site has `client.crt`, `client.key` and `rootCA.pem` for NVIDIA FLARE: the root issues every certificate directly,
and a site's name is the common name in its own. Certificates of the server look like those of sites; only a user's say
what they are, by a role. So a certificate proves that the root's holder calls someone by that name, and no more.
Whoever holds the root's private key can mint a certificate for any name. So a site also has a key of its own
(`SiteKey`), which other sites can pin; see `agreement`.

There are no intermediate authorities. A certificate that must no longer be trusted is on a list that the root signed
(`certificates`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.constant_time import bytes_eq
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from confide.errors import FederationError, OwnFilesError, ParameterError
from confide.federation.site_files import plain_fingerprint
from confide.records.key_file import SecretFile


def readable_fingerprint(plain: str) -> str:
    """Return a fingerprint in groups of four digits, to be read out.

    >>> readable_fingerprint("0f3c77aa12")
    '0f3c 77aa 12'
    """
    return " ".join(plain[start : start + 4] for start in range(0, len(plain), 4))


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
        _key_file(path).create(lambda: cls.fresh()._pem())
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> SiteKey:
        """Read the key from its file in PEM, which nobody but its owner may read."""
        content = _key_file(path).read()
        if content is None:
            raise OwnFilesError(f"the site's own key is missing at {path}; put it back from a backup, or {_ANEW}")
        try:
            key = load_pem_private_key(content, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise OwnFilesError(
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


def _key_file(path: Path) -> SecretFile:
    return SecretFile(path=path, what="the site's own key", error=OwnFilesError)


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


PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

MOST_PEM = 20_000
"""Most characters of a certificate that came from elsewhere; FLARE's have 1,200."""

_Extension = TypeVar("_Extension", bound=x509.ExtensionType)

_SHORTEST_RSA = 2048
_HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_UNDERSTOOD = {x509.BasicConstraints.oid, x509.KeyUsage.oid}
_DAMAGED = (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A site whose certificate was checked: its name and the certificate's public key."""

    name: str
    key: PublicKey = field(repr=False)

    @classmethod
    def verified(
        cls, name: str, certificate: str, root: str, *, at: datetime, revoked: Mapping[str, datetime] | None = None
    ) -> Peer:
        """Check that the root's holder calls the owner of this certificate by this name.

        Both certificates are PEM. The root must be allowed to issue, the certificate be signed by it directly,
        valid at the given time, no authority's and no user's, made with nothing weaker than RSA-2048 or SHA-256,
        and carry no critical extension that is unknown here. `revoked` has the times of `Revocations`.
        """
        if at.tzinfo is None:
            raise ParameterError("at must be a time with a time zone; give datetime.now(UTC)")
        leaf = _certificate(certificate, f"of site {name!r}")
        key = _verified_key(name, leaf, root, at, _check_site)
        if revoked and name in revoked and leaf.not_valid_before_utc <= revoked[name]:
            raise _refused(
                name,
                "was revoked",
                "leave the site out, or let it make a new request with `confide site request`, sign that, and let it "
                "take the new kit in",
            )
        return cls(name=name, key=key)

    def check(self, signature: bytes, message: bytes, what: str) -> None:
        """Refuse a message that was not signed with this certificate's key; `what` names the message in the error."""
        try:
            if isinstance(self.key, rsa.RSAPublicKey):
                self.key.verify(signature, message, _pss(), hashes.SHA256())
            elif isinstance(self.key, ec.EllipticCurvePublicKey):
                self.key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
            else:
                self.key.verify(signature, message)
        except InvalidSignature:
            raise not_signed(self.name, what, "it") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A site's name, its certificate with the private key to it, the federation's root, and the site's own key.

    Both certificates are PEM. `revoked` has the times of the list of revoked certificates that the site knows.
    """

    name: str
    certificate: str
    root: str
    key: PrivateKey = field(repr=False)
    own: SiteKey = field(repr=False)
    revoked: Mapping[str, datetime] = field(default_factory=dict)

    @classmethod
    def load(cls, certificate: Path, key: Path, root: Path, own: Path) -> Identity:
        """Read a site's files; the key must fit the certificate. Dates are checked where an offer is.

        `own` is the file of the key by which other sites know this one.
        """
        leaf = _certificate(_read(certificate), f"in {certificate}")
        issuer = _certificate(_read(root), f"in {root}")
        private = _private_key(_read(key), key)
        name = _common_name(leaf)
        if private.public_key() != _public_key(leaf, f"in {certificate}"):
            raise FederationError(
                f"the key {key} does not belong to the certificate beside it, which is for {name!r}. If this is a new "
                "kit, ask for the one signed for this site's last request; if not, put the pair back from a backup"
            )
        if name is None:
            raise FederationError(f"the certificate {certificate} has not one common name; provision the site again")
        return cls(name=name, certificate=_pem(leaf), root=_pem(issuer), key=private, own=SiteKey.load(own))

    def sign(self, message: bytes) -> bytes:
        """Sign with the certificate's key."""
        return sign_with(self.key, message)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the own public key in hex, which other sites pin."""
        return fingerprint(self.own.public)

    @property
    def ends(self) -> datetime:
        """Time after which the certificate is not valid."""
        return end_of(self.certificate)

    def root_fingerprint(self) -> str:
        """Return the fingerprint of the federation's root key."""
        return root_fingerprint(self.root)


def verified_user(certificate: str, root: str, *, role: str, at: datetime) -> Peer:
    """Check that the root's holder gave the owner of this certificate a role, and return who it is.

    The rules are those for a site's certificate, except that this one is a user's.
    """
    leaf = _certificate(certificate, "of a user")
    name = _common_name(leaf)
    if name is None:
        raise _refused("", "has not one common name", "provision again")

    def check(name: str, leaf: x509.Certificate) -> None:
        if [one.value for one in leaf.subject.get_attributes_for_oid(x509.NameOID.UNSTRUCTURED_NAME)] != [role]:
            raise _refused(name, f"is not of the role {role}", "ask with the coordinator's kit")
        _check_leaf(name, leaf)

    return Peer(name=name, key=_verified_key(name, leaf, root, at, check))


def end_of(certificate: str) -> datetime:
    """Return the time after which a certificate in PEM is not valid."""
    return _certificate(certificate, "that was read").not_valid_after_utc


def begin_of(certificate: str) -> datetime:
    """Return the time from which a certificate in PEM is valid."""
    return _certificate(certificate, "that was read").not_valid_before_utc


def certificate_key(certificate: str) -> PublicKey:
    """Return the public key in a certificate in PEM."""
    return _public_key(_certificate(certificate, "that was read"), "that was read")


def certificate_name(certificate: str) -> str | None:
    """Return the common name in a certificate in PEM, which nobody has verified; None if there is not exactly one."""
    return _common_name(_certificate(certificate, "that was read"))


def root_fingerprint(root: str) -> str:
    """Return the SHA-256 of a root's public key in hex: it stays the same if the root's certificate is renewed."""
    key = _certificate(root, "of the root").public_key()
    return fingerprint(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def read_private_key(path: Path) -> PrivateKey:
    """Read the private key of a kit."""
    return _private_key(_read(path), path)


def sign_with(key: PrivateKey, message: bytes) -> bytes:
    """Sign with a certificate's key: RSA-PSS or ECDSA over SHA-256, or Ed25519."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, _pss(), hashes.SHA256())
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(message, ec.ECDSA(hashes.SHA256()))
    return key.sign(message)


def _verified_key(
    name: str, leaf: x509.Certificate, root: str, at: datetime, check: Callable[[str, x509.Certificate], None]
) -> PublicKey:
    """Return the key in a certificate, if the root issued it directly, in this name, and it is valid at this time."""
    issuer = _certificate(root, "of the root")
    root_print = issuer.fingerprint(hashes.SHA256()).hex()[:16]
    with_root = f"compare the site's root certificate ({root_print}...) with this one, or provision"
    try:
        _check_root(issuer, at)
        if not _issued(leaf, issuer):
            raise _refused(name, "was not issued by this federation's root", f"{with_root} the site again")
        if _common_name(leaf) != name:
            raise _refused(name, "is in another name", "start the site with its own certificate")
        if not leaf.not_valid_before_utc <= at <= leaf.not_valid_after_utc:
            raise _refused(name, "has expired or is not valid yet", "check the clock, or renew the certificate")
        check(name, leaf)
        return _public_key(leaf, f"of site {name!r}")
    except _DAMAGED:
        raise _refused(name, "is damaged", "provision the site again") from None


def _check_root(root: x509.Certificate, at: datetime) -> None:
    constraints = _extension(root, x509.BasicConstraints)
    usage = _extension(root, x509.KeyUsage)
    if constraints is None or not constraints.ca or (usage is not None and not usage.key_cert_sign):
        raise FederationError("the root certificate may not issue others; use rootCA.pem as it was provisioned")
    if not root.not_valid_before_utc <= at <= root.not_valid_after_utc:
        raise FederationError("the root certificate has expired or is not valid yet; check the clock, or renew it")
    _public_key(root, "of the root")


def _issued(leaf: x509.Certificate, root: x509.Certificate) -> bool:
    """Return whether the root signed a certificate, with a hash that is still secure."""
    hashed = leaf.signature_hash_algorithm
    if hashed is not None and not isinstance(hashed, _HASHES):
        return False
    try:
        leaf.verify_directly_issued_by(root)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _check_site(name: str, leaf: x509.Certificate) -> None:
    _check_leaf(name, leaf)
    if leaf.subject.get_attributes_for_oid(x509.NameOID.UNSTRUCTURED_NAME):
        raise _refused(name, "is a user's, not a site's", "take the name off the list of sites")


def _check_leaf(name: str, leaf: x509.Certificate) -> None:
    constraints = _extension(leaf, x509.BasicConstraints)
    usage = _extension(leaf, x509.KeyUsage)
    if constraints is not None and constraints.ca:
        raise _refused(name, "is an authority's, which no site has", "provision the site again")
    if usage is not None and not usage.digital_signature:
        raise _refused(name, "is not for signatures", "provision the site again")
    if any(one.critical and one.oid not in _UNDERSTOOD for one in leaf.extensions):
        raise _refused(name, "has conditions that are unknown here", "provision the site again")


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _common_name(certificate: x509.Certificate) -> str | None:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 and isinstance(names[0].value, str) else None


@lru_cache(maxsize=8)  # a root is looked at once for every site on a list
def _certificate(pem: str, which: str) -> x509.Certificate:
    try:
        found = x509.load_pem_x509_certificates(pem.encode("ascii")) if len(pem) <= MOST_PEM else []
    except ValueError:
        found = []
    if len(found) != 1:
        raise FederationError(f"the certificate {which} is not one certificate in PEM; provision the site again")
    return found[0]


def _public_key(certificate: x509.Certificate, which: str) -> PublicKey:
    try:
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        key = None
    return public_key_of(key, which)


def public_key_of(key: object, which: str) -> PublicKey:
    """Return a public key; refuse one of another kind, or a weak one."""
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _SHORTEST_RSA:
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key
    raise FederationError(
        f"the certificate {which} has a key of another kind than RSA of {_SHORTEST_RSA} bits or more, a NIST curve's "
        "or Ed25519; provision again with one of these"
    )


def _private_key(pem: str, path: Path) -> PrivateKey:
    try:
        key = load_pem_private_key(pem.encode("ascii"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        return key
    raise FederationError(f"{path} holds no RSA, EC or Ed25519 key without a password; put the provisioned one back")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise FederationError(
            f"{path} cannot be read ({error.strerror}); unpack the site's startup kit again"
        ) from None
    except UnicodeDecodeError:
        raise FederationError(f"{path} is not in PEM; unpack the site's startup kit again") from None


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def _pss() -> padding.PSS:
    return padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)


def _refused(name: str, why: str, then: str) -> FederationError:
    return FederationError(f"the certificate of site {name!r} {why}; {then}")
