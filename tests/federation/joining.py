"""How a site joins a federation: it makes its keys and a request, the coordinator signs, the site takes the kit in."""

from __future__ import annotations

from pathlib import Path

from confide.federation.flare.federation import Federation
from confide.federation.flare.kits import make_request, unpack_site_kit
from confide.federation.flare.signing import sign_request
from confide.federation.site.config import SiteFolder


def signed_kit(federation: Federation, name: str, place: SiteFolder, *, days: int = 360) -> Path:
    """Return the kit for a request that is made in a site's folder."""
    request, _ = make_request(place, name)
    return sign_request(federation, request, compared=True, days=days).kit


def join(federation: Federation, name: str, place: SiteFolder) -> str:
    """Let a site take its kit in; return its name."""
    return unpack_site_kit(signed_kit(federation, name, place), place)
