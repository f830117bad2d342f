"""Certificates that a coordinator has or signed: when each ends."""

from __future__ import annotations

from pathlib import Path

from confide.errors import FederationError
from confide.federation.certificate_dates import CertificateDates
from confide.federation.crypto.identity import end_of
from confide.federation.crypto.site_key import fingerprint
from confide.federation.flare.authority import SiteRecord, site_record
from confide.federation.flare.federation import Federation

ROOT, SERVER, COORDINATOR = "root", "server", "coordinator"
"""Names of certificates that are no site's; no site can have the last two, nor the first here."""


def federation_certificates(federation: Federation) -> dict[str, CertificateDates]:
    """Return the ends of all certificates of a federation, by owner."""
    startup = {
        ROOT: federation.server_kit / "startup" / "rootCA.pem",
        SERVER: federation.server_kit / "startup" / "server.crt",
        COORDINATOR: federation.coordinator_kit / "startup" / "client.crt",
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
