"""A coordinator's administration: its federation, sites, server and certificates.

`federation_certificates` signs for sites and renews certificates.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import FederationError, UsageError

if TYPE_CHECKING:
    from confide.federation.crypto.certificates import Revocations
    from confide.federation.flare.authority import CertificateDates
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.processes import Running
    from confide.federation.flare.signing import Renewed, Signed
    from confide.federation.site.config import SiteFolder


_PACKAGES = ("nvflare", "cryptography")


def require_engine() -> None:
    """Refuse to begin if the federation's packages are not installed."""
    if any(find_spec(package) is None for package in _PACKAGES):
        raise UsageError("validation across sites needs NVIDIA FLARE: pip install 'confide[federation]'")


def require_new_folder(folder: Path) -> None:
    """Refuse a folder that is not empty, or that could not be made."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; give a new or empty folder")
    if not folder.parent.is_dir():
        raise UsageError(f"the folder of {folder} does not exist; create it first")


def open_federation(folder: str | Path) -> Federation:
    """Read a coordinator's folder."""
    require_engine()
    from confide.federation.flare.federation import Federation

    if not Path(folder).is_dir():
        raise UsageError(f"there is no folder {folder}; make a federation with `confide federation init`")
    return Federation.load(folder)


def open_site(folder: str | Path) -> SiteFolder:
    """Find a site's folder."""
    require_engine()
    from confide.federation.site.config import SiteFolder

    place = SiteFolder(Path(folder))
    if not place.config.is_file():
        raise UsageError(f"{folder} is not a site's folder; make one with `confide site init`")
    return place


SCHEMA = "confide.federation/1"

_THIS_MACHINE = ("localhost", "127.0.0.1")
_LOGIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedServer:
    """A federation's server that was started.

    `as_root` is True if it has all rights of the machine, `known_host` False if no machine of its name is known here.
    """

    federation: Federation
    running: Running
    as_root: bool
    known_host: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationStatus:
    """A federation, whether its server runs, and the connected sites.

    `connected` is None if it is not known; `problem` then says why, unless the server does not run. `certificates` has
    the ends of the certificates of the root, the server, the coordinator and each site that was signed for, and
    `fingerprints` those of these sites' own keys.
    """

    federation: Federation
    running: bool
    connected: tuple[str, ...] | None = None
    problem: str | None = None
    certificates: Mapping[str, CertificateDates] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        connected = None if self.connected is None else list(self.connected)
        return {
            **federation_document(self.federation),
            "running": self.running,
            "connected": connected,
            "problem": self.problem,
            "certificates": {name: dates.to_dict() for name, dates in self.certificates.items()},
            "fingerprints": dict(self.fingerprints),
        }


def init_federation(
    folder: str | Path,
    *,
    name: str,
    sites: Sequence[str],
    server: str = "localhost",
    port: int | None = None,
    listen: int | None = None,
) -> Federation:
    """Make a federation in a new folder: a root, and certificates for the server and the coordinator.

    What an interrupted call left in the folder is deleted first.

    Parameters
    ----------
    name, sites
        The names of the federation and of its sites.
    server, port
        Where sites reach the server. A server named localhost can be reached from this machine alone.
    listen
        Port at which the server listens, if a balancer passes connections on from `port`.
    """
    require_engine()
    from confide.federation.flare.federation import is_unfinished
    from confide.federation.flare.signing import provision

    if not is_unfinished(Path(folder)):
        require_new_folder(Path(folder))
    if len(set(sites)) < len(sites):
        raise UsageError("a site is named twice; name each site once")

    return provision(folder, name=name, sites=sites, server=server, port=port, listen=listen)


def add_site(folder: str | Path, site: str) -> Federation:
    """Let one more site into a federation. It then sends a request; the others need nothing new."""
    federation = open_federation(folder)
    from confide.federation.flare import signing

    return signing.add_site(federation, site)


def start_server(folder: str | Path, *, attached: bool = False) -> StartedServer:
    """Start a federation's server; return when sites can reach it.

    An `attached` server ends with this process, also if this process is killed.
    """
    federation = open_federation(folder)
    from confide.federation.flare import processes
    from confide.federation.flare.processes import runs_as_root

    running = processes.start_server(federation, attached=attached)
    return StartedServer(
        federation=federation,
        running=running,
        as_root=runs_as_root(federation.folder),
        known_host=_is_known(federation.server, federation.port),
    )


def stop_server(folder: str | Path) -> bool:
    """Stop a federation's server on this machine; return whether it was running."""
    federation = open_federation(folder)
    from confide.federation.flare.processes import find_running

    running = find_running(federation)
    if running is not None:
        running.stop()
    return running is not None


def federation_status(folder: str | Path) -> FederationStatus:
    """Ask a federation's server which sites are connected."""
    federation = open_federation(folder)
    from confide.federation.flare.processes import find_running
    from confide.federation.flare.session import open_session

    here = find_running(federation) is not None
    found = FederationStatus(federation=federation, running=here, **_certificates(federation))
    if not here and federation.server in _THIS_MACHINE:
        return found
    try:
        with open_session(federation, timeout=_LOGIN_SECONDS) as session:
            connected = tuple(sorted(session.connected_sites()))
    except FederationError as error:
        return replace(found, problem=str(error))
    return replace(found, running=True, connected=connected)


def _certificates(federation: Federation) -> dict[str, Any]:
    from confide.federation.flare.authority import federation_certificates, site_fingerprints

    return {
        "certificates": federation_certificates(federation),
        "fingerprints": site_fingerprints(federation),
    }


def federation_document(federation: Federation) -> dict[str, Any]:
    """Return a federation as plain data in the published schema; `root` is the fingerprint of the root's key."""
    from confide.federation.crypto.identity import root_fingerprint

    return {
        "schema": SCHEMA,
        "name": federation.name,
        "server": federation.server,
        "port": federation.port,
        "coordinator": federation.coordinator,
        "root": root_fingerprint(federation.root),
        "sites": [{"name": site, "kit": str(federation.site_kit(site))} for site in federation.sites],
    }


def _is_known(server: str, port: int) -> bool:
    try:
        socket.getaddrinfo(server, port)
    except OSError:
        return False
    return True


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
