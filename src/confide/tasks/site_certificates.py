"""A site's certificate: make keys and a request for it, and renew it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import UsageError
from confide.tasks.federation_folders import open_site, require_engine

if TYPE_CHECKING:
    from confide.federation.certificate_dates import CertificateDates
    from confide.federation.site.site_folder import SiteFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """A site's request for a certificate: its file, the site's name, and the fingerprint to be compared.

    `federation` is the one that the site belongs to already, if the request is for a new key of a site.
    """

    site: str
    file: Path
    fingerprint: str
    federation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedSite:
    """A site whose certificate was renewed; `needs_restart` is True if its engine runs with the old one."""

    site: str
    dates: CertificateDates
    needs_restart: bool


def request_site(folder: str | Path, *, name: str | None = None) -> NewRequest:
    """Make a site's keys in its folder, and the request that the coordinator signs. Private keys stay in the folder.

    In the folder of a site that is set up, this makes a new key for TLS. Leave `name` out there: with a name, the call
    is taken for the set-up of another site, and refused.
    """
    require_engine()
    from confide.federation.flare.kits import make_request, site_home
    from confide.federation.site.site_folder import SiteFolder

    place = SiteFolder(Path(folder).absolute())
    if not place.path.parent.is_dir():
        raise UsageError(f"the folder of {folder} does not exist; create it first")
    if place.path.exists() and not _can_request(place):
        raise UsageError(f"{folder} exists already; give a new or empty folder")
    federation = site_home(place).federation if place.config.exists() else None
    if federation is not None and name is not None:
        raise UsageError(
            f"{folder} is already a site of federation {federation}. Choose another folder for another site. For a new "
            f"key for TLS of this one, leave `name` out: confide site request {folder}"
        )
    request, file = make_request(place, name)
    return NewRequest(site=request.site, file=file, fingerprint=request.fingerprint(), federation=federation)


def renew_site(folder: str | Path, kit: str | Path, *, compared: bool = False) -> RenewedSite:
    """Take a new kit into a site's folder. Ledger, register, policy and the site's own key stay.

    `compared` confirms that the fingerprint of another root was compared by telephone.
    """
    if Path(folder).is_file() and Path(kit).is_dir():
        raise UsageError(f"the folder comes first, then the kit: confide site renew {kit} {folder}")
    place = open_site(folder)
    from confide.federation.certificate_dates import CertificateDates
    from confide.federation.flare import kits
    from confide.federation.flare.processes import find_running

    site = kits.renew_site(kit, place, compared=compared)
    ends = kits.site_identity(place).ends
    return RenewedSite(site=site, dates=CertificateDates.until(ends), needs_restart=find_running(place) is not None)


def _can_request(place: SiteFolder) -> bool:
    """Return whether a folder is a site's, made keys before, or is empty but for what a killed command left."""
    from confide.federation.flare.kit_folders import leftovers

    if not place.path.is_dir():
        return False
    known = place.kit.exists() or place.new_key.exists() or place.key.exists()
    return known or set(place.path.iterdir()) <= set(leftovers(place))
