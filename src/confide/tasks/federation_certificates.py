"""A coordinator's certificates: sign for sites, renew everybody's, and revoke those of a site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from confide.tasks.federation_folders import open_federation

if TYPE_CHECKING:
    from confide.federation.crypto.revocation import Revocations
    from confide.federation.flare.signing import Renewed, Signed

VALID_DAYS = 360
"""Days for which certificates are valid."""


def sign_site(folder: str | Path, request: str | Path, *, compared: bool = False, days: int = VALID_DAYS) -> Signed:
    """Sign a site's request, and make the kit to send back to the site.

    Parameters
    ----------
    folder, request
        The federation's folder, and the file that `confide site request` made at the site.
    compared
        The site's fingerprint was compared by telephone. Needed for a site's first request, and for one by another key.
    days
        Days for which the certificate is valid.
    """
    federation = open_federation(folder)
    from confide.federation.flare.signing import read_request, sign_request

    return sign_request(federation, read_request(Path(request)), compared=compared, days=days)


def renew_federation(
    folder: str | Path,
    *,
    days: int = VALID_DAYS,
    server: str | None = None,
    port: int | None = None,
    listen: int | None = None,
) -> Renewed:
    """Renew the certificates of the server, the coordinator and all sites, and make new kits for the sites.

    Keys stay the same. With `server` or `port`, the server gets another address, which is in the new kits. With
    `listen`, it listens at another port of its own machine, behind a balancer.
    """
    federation = open_federation(folder)
    from confide.federation.flare.signing import renew_all

    return renew_all(federation, days=days, server=server, port=port, listen=listen)


def revoke_site(folder: str | Path, site: str) -> Revocations:
    """Revoke all certificates that were signed for a site until now; return the list of all revoked ones.

    The list is signed by the root and goes to the other sites with the next question.
    """
    federation = open_federation(folder)
    from confide.federation.flare.signing import revoke_site

    return revoke_site(federation, site)
