"""Authority of a federation: the root's key, the certificates that it signed, and when each ends.

The root's key lies in the coordinator's `authority/`. The keys of the server and the coordinator lie in their kits;
those of sites never come here. Of each site the coordinator stores what is public: the certificate, the public half of
the site's own key, and which request was signed last. So a certificate can be renewed without a new request, and an old
request is not signed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.identity import end_of, fingerprint, read_private_key
from confide.federation.flare.federation import Federation, organisation
from confide.federation.site_files import write_json, write_whole

WARN_DAYS = 30
"""Days before its end from which a certificate is warned about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateDates:
    """Time after which a certificate is not valid, and the time at which that was read."""

    ends: datetime
    now: datetime

    @classmethod
    def until(cls, ends: datetime) -> CertificateDates:
        """Compare an end with the time now."""
        return cls(ends=ends, now=datetime.now(UTC))

    @property
    def days(self) -> int:
        """Whole days that are left; negative if the certificate has ended."""
        return (self.ends - self.now) // timedelta(days=1)

    @property
    def ends_soon(self) -> bool:
        """True if the certificate has ended, or ends within a month."""
        return self.days < WARN_DAYS

    def in_words(self) -> str:
        """Return the date, and how many days are left.

        >>> from datetime import UTC, datetime
        >>> CertificateDates(ends=datetime(2027, 1, 11, tzinfo=UTC), now=datetime(2027, 1, 1, tzinfo=UTC)).in_words()
        '2027-01-11, in 10 days'
        """
        date = f"{self.ends:%Y-%m-%d}"
        if self.days < 0:
            return f"{date}, which is over"
        return f"{date}, in {self.days} day{'' if self.days == 1 else 's'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"ends": self.ends.isoformat(timespec="seconds"), "days": self.days, "ends_soon": self.ends_soon}


ROOT_DAYS, VALID_DAYS = 3650, 360
"""Days for which the root's certificate, and by default all others, are valid."""

ROOT_KEY, ROOT = "root.key", "root.crt"

CLOCK_DIFFERENCE = timedelta(hours=1)
"""Most that the clocks of a site and of the coordinator may differ. Certificates begin so long before they are made."""

_OLDEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Root certificate of a federation, with its private key."""

    root: x509.Certificate
    key: rsa.RSAPrivateKey = field(repr=False)

    @classmethod
    def load(cls, folder: Path) -> Authority:
        """Read the root's key and certificate."""
        try:
            root = x509.load_pem_x509_certificate((folder / ROOT).read_bytes())
        except (OSError, ValueError):
            raise _locked_away(folder) from None
        key = read_private_key(folder / ROOT_KEY) if (folder / ROOT_KEY).is_file() else None
        if not isinstance(key, rsa.RSAPrivateKey) or key.public_key() != root.public_key():
            raise _locked_away(folder)
        return cls(root=root, key=key)

    def issue_site(self, site: str, key: rsa.RSAPublicKey, days: int = VALID_DAYS) -> str:
        """Return a certificate for a site's key, in PEM."""
        named = [(x509.NameOID.COMMON_NAME, site), (x509.NameOID.ORGANIZATION_NAME, organisation(site))]
        subject = x509.Name([x509.NameAttribute(kind, value) for kind, value in named])
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
        extensions: list[tuple[x509.ExtensionType, bool]] = [
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_signing(), True),
            (uses, False),
            (x509.SubjectKeyIdentifier.from_public_key(key), False),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False),
            (x509.SubjectAlternativeName([x509.DNSName(site)]), False),
        ]
        return self._signed(subject, key, extensions, checked_days(days))

    def renew(self, certificate: str, days: int = VALID_DAYS, *, host: str | None = None) -> str:
        """Return a certificate again, for the same key, with new dates and, if a server moved, the name `host`."""
        old = _certificate(certificate)
        key = old.public_key()
        if not isinstance(key, rsa.RSAPublicKey):
            raise FederationError(
                "a certificate has a key of another kind than RSA. If it is a site's, let the site make a new request, "
                "and sign it; if not, make the federation again"
            )
        subject, extensions = old.subject, [(one.value, one.critical) for one in old.extensions]
        if host is not None and _common_name(old) != host:
            subject = x509.Name([_renamed(one, host) for one in subject])
            names = x509.SubjectAlternativeName([x509.DNSName(host)])
            extensions = [
                (names if isinstance(value, x509.SubjectAlternativeName) else value, critical)
                for value, critical in extensions
            ]
        return self._signed(subject, key, extensions, checked_days(days))

    def lasting(self, days: int) -> Authority:
        """Return this authority, with a renewed root if the root ends before certificates of so many days would."""
        if self.root.not_valid_after_utc >= datetime.now(UTC) + timedelta(days=days):
            return self
        extensions = [(one.value, one.critical) for one in self.root.extensions]
        pem = self._signed(self.root.subject, self.key.public_key(), extensions, ROOT_DAYS)
        return Authority(root=x509.load_pem_x509_certificate(pem.encode("ascii")), key=self.key)

    @property
    def root_pem(self) -> str:
        """Root certificate, in PEM."""
        return self.root.public_bytes(Encoding.PEM).decode("ascii")

    def write_root(self, folder: Path) -> None:
        """Write the root's certificate beside its key."""
        write_whole(folder / ROOT, self.root_pem)

    def _signed(
        self,
        subject: x509.Name,
        key: rsa.RSAPublicKey,
        extensions: Iterable[tuple[x509.ExtensionType, bool]],
        days: int,
    ) -> str:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.root.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_DIFFERENCE)
            .not_valid_after(now + timedelta(days=days))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode("ascii")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRecord:
    """What a coordinator stores of a site that it signed for.

    `certificate` is in PEM. `own_key` is the public half of the site's own key. `request_time` and `request_digest` are
    those of the request that was signed last.
    """

    certificate: str
    own_key: bytes
    request_time: datetime
    request_digest: str

    @classmethod
    def load(cls, path: Path) -> SiteRecord | None:
        """Read a site's record; None if nothing was signed for it yet. Without a time, any request is newer."""
        if not path.exists():
            return None
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            time = datetime.fromisoformat(plain["request_time"]) if "request_time" in plain else _OLDEST
            if time.tzinfo is None:
                raise ValueError("no time zone")
            return cls(
                certificate=str(plain["certificate"]),
                own_key=bytes.fromhex(plain["own_key"]),
                request_time=time,
                request_digest=str(plain.get("request_digest", "")),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise FederationError(
                f"{path} cannot be read; put it back from a backup. Without one, delete it, compare the site's "
                "fingerprint by telephone, and sign a new request of the site"
            ) from None

    def write(self, path: Path) -> None:
        """Write a site's record."""
        plain = {
            "certificate": self.certificate,
            "own_key": self.own_key.hex(),
            "request_time": self.request_time.isoformat(),
            "request_digest": self.request_digest,
        }
        write_json(path, plain)

    def lasts(self, days: int, *, at: datetime) -> bool:
        """Return whether the certificate was issued for so many days, and is valid at a time."""
        found = _certificate(self.certificate)
        issued_for = found.not_valid_after_utc - found.not_valid_before_utc - CLOCK_DIFFERENCE
        return issued_for == timedelta(days=days) and found.not_valid_before_utc <= at <= found.not_valid_after_utc


def site_record(federation: Federation, site: str) -> SiteRecord | None:
    """Return the record of a site; None if nothing was signed for it yet."""
    return SiteRecord.load(federation.site_record(site))


def checked_days(days: object) -> int:
    """Return the days of a certificate; refuse more than its root has."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= ROOT_DAYS:
        raise ParameterError(f"`days` must be a whole number from 1 to {ROOT_DAYS}; got {days!r}")
    return days


def _certificate(pem: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem.encode("ascii"))
    except ValueError:
        raise FederationError(
            "a certificate is damaged. If it is a site's, let the site make a new request, and sign it; if not, put it "
            "back from a backup"
        ) from None


def _common_name(certificate: x509.Certificate) -> str | None:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else None


def _renamed(attribute: x509.NameAttribute[str | bytes], host: str) -> x509.NameAttribute[str | bytes]:
    same = attribute.oid != x509.NameOID.COMMON_NAME
    return attribute if same else x509.NameAttribute(x509.NameOID.COMMON_NAME, host)


def _signing() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _locked_away(folder: Path) -> FederationError:
    return FederationError(
        f"{folder} does not hold the root's key and certificate, which sign for sites; put them back from where they "
        "are locked away"
    )


OF_ROOT, OF_SERVER, OF_COORDINATOR = "root", "server", "coordinator"
"""Names of certificates that are no site's; no site can have the last two, nor the first here."""


def federation_certificates(federation: Federation) -> dict[str, CertificateDates]:
    """Return the ends of all certificates of a federation, by owner."""
    startup = {
        OF_ROOT: federation.server_kit / "startup" / "rootCA.pem",
        OF_SERVER: federation.server_kit / "startup" / "server.crt",
        OF_COORDINATOR: federation.coordinator_kit / "startup" / "client.crt",
    }
    found = {name: _dates(path) for name, path in startup.items() if path.exists()}
    return found | {site: _ends(record.certificate) for site, record in _records(federation).items()}


def site_fingerprints(federation: Federation) -> dict[str, str]:
    """Return the fingerprints of the own keys of all sites that were signed for."""
    return {site: fingerprint(record.own_key) for site, record in _records(federation).items()}


def _records(federation: Federation) -> dict[str, SiteRecord]:
    found = {site: site_record(federation, site) for site in federation.sites}
    return {site: record for site, record in found.items() if record is not None}


def _dates(path: Path) -> CertificateDates:
    try:
        return _ends(path.read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        raise FederationError(f"{path} cannot be read; put it back from a backup") from None


def _ends(certificate: str) -> CertificateDates:
    return CertificateDates.until(end_of(certificate))
