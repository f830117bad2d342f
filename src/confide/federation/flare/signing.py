"""Certificates of a federation: created for the server and the coordinator, and signed for sites.

A kit holds nothing secret. What must be compared by telephone is the fingerprint of a site's own key, once: a later
request that the same key signed is known to be the site's. Only a newer request than the last one is signed.

Everything that can fail is computed before the first file is written. Each file is written whole, and in an order in
which the same command can be repeated after a crash.

Everything is made in a folder that only its owner can enter. It holds the private keys of the root, of the server and
of the coordinator. Sites make their keys themselves, and send requests (`signing`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.errors import FederationError, NotComparedError, ParameterError, UsageError
from confide.federation.crypto.certificates import Revocations, SiteRequest
from confide.federation.crypto.identity import begin_of, certificate_key, fingerprint, readable_fingerprint
from confide.federation.flare.authority import (
    CLOCK_DIFFERENCE,
    ROOT,
    ROOT_DAYS,
    ROOT_KEY,
    VALID_DAYS,
    Authority,
    SiteRecord,
    checked_days,
    site_record,
)
from confide.federation.flare.federation import (
    LOOPBACK,
    SCHEME,
    Federation,
    NoLogger,
    checked_name,
    checked_port,
    checked_server,
    checked_sites,
    making,
    quiet,
)
from confide.federation.flare.hardening import harden_server
from confide.federation.flare.kits import pack_site_kit
from confide.federation.site_files import flush_tree, make_owned, own_tree, write_json, write_whole
from confide.ports import free_port

_SERVER, _COORDINATOR = "server.crt", "client.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A site that was signed for: its kit, its fingerprint, and whether the coordinator knew its own key."""

    site: str
    kit: Path
    fingerprint: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """A federation whose certificates were renewed, and the sites that got new kits."""

    federation: Federation
    sites: tuple[str, ...]


def add_site(federation: Federation, name: str) -> Federation:
    """Add a site's name to a federation; the site then sends a request."""
    require_apart([*federation.sites, name], federation.server)
    larger = replace(federation, sites=checked_sites([*federation.sites, name]))
    write_whole(larger.settings, larger.to_toml())
    return larger


def read_request(path: Path) -> SiteRequest:
    """Read a site's request."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; give the request that the site sent") from None
    except (OSError, UnicodeDecodeError):
        raise FederationError(f"{path} cannot be read as text; ask the site to send it again") from None
    return SiteRequest.parse(text, str(path))


def sign_request(federation: Federation, request: SiteRequest, *, compared: bool, days: int = VALID_DAYS) -> Signed:
    """Issue a certificate for a site's request, and make the site's kit.

    A request by an own key that was not signed for before needs `compared`: the fingerprint was compared with what the
    site's people read out. A request must be newer than the one that was signed last. The very same request can be
    signed again, and gives the same certificate while that is valid and was issued for as many `days`.
    """
    checked_days(days)
    if request.site not in federation.sites:
        raise ParameterError(
            f"the request is of a site {request.site!r}, which this federation does not have; its sites are "
            f"{', '.join(federation.sites)}. Add it with `confide federation add-site`"
        )
    key, now = request.public_key, datetime.now(UTC)
    before = site_record(federation, request.site)
    revoked = before is not None and _is_revoked(federation, request.site, before)
    if before is not None and revoked and certificate_key(before.certificate) == key:
        raise FederationError(
            f"the certificate of site {request.site!r} for this key was revoked. Let the site make a new request with "
            "`confide site request`, and sign that"
        )
    again = before is not None and before.request_digest == request.digest
    if not again:
        _require_newer(request, before, now)
    known = before is not None and before.own_key == request.own_key and not revoked
    if not known and not compared:
        raise _not_compared(request, before)
    authority = Authority.load(federation.authority)
    if before is not None and again and before.lasts(days, at=now):
        record = before
    else:
        record = SiteRecord(
            certificate=authority.issue_site(request.site, key, days),
            own_key=request.own_key,
            request_time=request.made_at,
            request_digest=request.digest,
        )
    kit = _hand_out(federation, request.site, record, authority)
    return Signed(site=request.site, kit=kit, fingerprint=request.fingerprint(), known=known)


def renew_all(
    federation: Federation,
    *,
    days: int = VALID_DAYS,
    server: str | None = None,
    port: int | None = None,
    listen: int | None = None,
) -> Renewed:
    """Renew the certificates of the server, the coordinator and all sites that were signed for.

    Keys stay as they are. With `server` or `port`, the server's new address goes into everybody's settings. With
    `listen`, the server listens at another port behind a balancer; the same one as `port` ends that. An error
    before the first file is written changes nothing. The new address is in `federation.toml` last: until then the
    server does not start with settings that differ from it, and the same renewal can be repeated.
    """
    checked_days(days)
    moved = replace(
        federation,
        server=federation.server if server is None else checked_server(server),
        port=federation.port if port is None else checked_port(port),
        listen=federation.listen if listen is None else checked_port(listen),
    )
    if moved.listen == moved.port:
        moved = replace(moved, listen=None)
    require_apart(moved.sites, moved.server)
    authority = Authority.load(federation.authority).lasting(days)
    settings = _moved_settings(moved)
    certificates = {
        moved.server_kit / "startup" / _SERVER: moved.server,
        moved.coordinator_kit / "startup" / _COORDINATOR: None,
    }
    renewed = {path: _renewed(path, authority, days, host=host) for path, host in certificates.items()}
    records = _renewed_records(moved, authority, days)

    for path, plain in settings.items():
        write_json(path, plain)
    authority.write_root(federation.authority)
    for path, certificate in renewed.items():
        write_whole(path, certificate)
        write_whole(path.parent / "rootCA.pem", authority.root_pem)
    for site, record in records.items():
        _hand_out(moved, site, record, authority)
    write_whole(moved.settings, moved.to_toml())
    return Renewed(federation=moved, sites=tuple(records))


def revoke_site(federation: Federation, site: str) -> Revocations:
    """Revoke all certificates of a site that were signed until now; return the new list, which goes with questions."""
    if site_record(federation, site) is None:
        raise ParameterError(f"nothing was signed for site {site!r}, so there is no certificate to revoke")
    authority, before = Authority.load(federation.authority), federation.revocations()
    until = datetime.now(UTC) - CLOCK_DIFFERENCE  # a certificate begins so long before it is made
    revoked = Revocations.signed(before.number + 1, {**before.before, site: until}, authority.key)
    write_whole(federation.revoked, revoked.to_text())
    return revoked


def _is_revoked(federation: Federation, site: str, record: SiteRecord) -> bool:
    until = federation.revocations().before.get(site)
    return until is not None and begin_of(record.certificate) <= until


def require_apart(sites: list[str] | tuple[str, ...], server: str) -> None:
    """Refuse a site that has the server's name."""
    if server.lower() in (site.lower() for site in sites):
        raise ParameterError(f"no site may have the server's name, {server!r}; give it another one")


def _hand_out(federation: Federation, site: str, record: SiteRecord, authority: Authority) -> Path:
    """Store a site's record and write its kit. After a crash in between, the same request makes the same kit."""
    kit = federation.site_kit(site)
    make_owned(kit.parent)
    make_owned(federation.site_record(site).parent)
    record.write(federation.site_record(site))
    pack_site_kit(kit, federation, site, certificate=record.certificate, root=authority.root_pem)
    return kit


def _renewed(path: Path, authority: Authority, days: int, *, host: str | None) -> str:
    """Return the certificate in a file, renewed."""
    try:
        certificate = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        raise FederationError(f"{path} cannot be read; put it back from a backup") from None
    try:
        return authority.renew(certificate, days, host=host)
    except FederationError as error:
        raise FederationError(f"{path}: {error}") from None


def _renewed_records(federation: Federation, authority: Authority, days: int) -> dict[str, SiteRecord]:
    """Return the records of all sites that were signed for, with renewed certificates; revoked ones are left out."""
    renewed = {}
    for site in federation.sites:
        record = site_record(federation, site)
        if record is not None and not _is_revoked(federation, site, record):
            try:
                renewed[site] = replace(record, certificate=authority.renew(record.certificate, days))
            except FederationError as error:
                raise FederationError(f"the certificate of site {site!r} was not renewed: {error}") from None
    return renewed


def _moved_settings(federation: Federation) -> dict[Path, Any]:
    """Return the settings of the server and of the coordinator, with the server's address in them."""
    moved = {}
    for settings in (federation.server_settings, federation.coordinator_settings):
        try:
            plain = json.loads(settings.read_text(encoding="utf-8"))
            if "admin" in plain:
                plain["admin"].update(host=federation.server, port=federation.port, server_identity=federation.server)
            else:
                server = plain["servers"][0]
                server["service"]["target"] = f"{federation.server}:{federation.listening_port}"
                server.update(admin_server=federation.server, admin_port=federation.listening_port)
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise FederationError(f"{settings} cannot be read; put it back from a backup") from None
        moved[settings] = plain
    return moved


def _require_newer(request: SiteRequest, before: SiteRecord | None, now: datetime) -> None:
    """Refuse a request that is not newer than the last one that was signed, or that is from the future."""
    made, who = _readable(request.made_at), f"the request of site {request.site!r}"
    if request.made_at > now + CLOCK_DIFFERENCE:
        raise FederationError(
            f"{who} was made at {made}, which is still to come. Compare the clocks here "
            "and at the site; let the site make a new request with `confide site request`"
        )
    if before is not None and request.made_at <= before.request_time:
        raise FederationError(
            f"{who} was made at {made}, and one made at {_readable(before.request_time)} was signed already. Whoever "
            "sent the older one may have the site's old key. Let the site make a new request with `confide site "
            "request`, and see that its clock is right"
        )


def _readable(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _not_compared(request: SiteRequest, before: SiteRecord | None) -> NotComparedError:
    now, known = request.fingerprint(), None if before is None else fingerprint(before.own_key)
    was = "" if known is None else f", and not {readable_fingerprint(known)} as before"
    return NotComparedError(
        f"the fingerprint of site {request.site!r} is {readable_fingerprint(now)}{was}. Telephone the site: "
        "`confide site request` printed the same there, if nobody changed the request on its way. If it is the same, "
        "sign with `compared`",
        site=request.site,
        fingerprint=now,
        known=known,
    )


__all__ = ["DEFAULT_PORT", "Federation", "provision"]

DEFAULT_PORT = 8002
"""FLARE's default port. On the loopback interface a free port is used, so that one machine can have several servers."""

_PROJECT = "confide"
_STATE = "cert.json"


def provision(
    folder: str | Path,
    *,
    name: str,
    sites: Sequence[str],
    server: str = LOOPBACK,
    port: int | None = None,
    listen: int | None = None,
) -> Federation:
    """Make a federation in a new folder.

    Parameters
    ----------
    name
        Name of the federation; it becomes part of the coordinator's name.
    sites
        Names of the sites, as in their certificates.
    server, port
        Address at which sites reach the server. Only this machine can reach a server named localhost.
    listen
        Port at which the server listens, if another one than `port`: a balancer passes connections on.
    """
    place = Path(folder).absolute()
    chosen = None if port is None else checked_port(port)
    federation = Federation(
        folder=place,
        name=checked_name(name),
        server=checked_server(server),
        port=chosen or (free_port() if server == LOOPBACK else DEFAULT_PORT),
        sites=checked_sites(list(sites)),
        coordinator=f"coordinator@{_slug(name)}.confide",
        listen=None if listen is None else checked_port(listen),
    )
    require_apart(federation.sites, server)
    with making(place) as work:
        _make(federation, work)
    return federation


def _make(federation: Federation, work: Path) -> None:
    """Lay out a federation's folder. FLARE's state, which holds the root's key, is in `work`."""
    kits = _provisioned(federation, work)
    (kits / federation.server).rename(federation.server_kit)
    (kits / federation.coordinator).rename(federation.coordinator_kit)
    _keep_root(work / _PROJECT / "state" / _STATE, make_owned(federation.authority))
    shutil.rmtree(work)
    for kit in (federation.server_kit, federation.coordinator_kit):
        own_tree(kit)
    harden_server(federation.server_kit)
    _write_listening_port(federation)
    flush_tree(federation.folder)
    write_whole(federation.settings, federation.to_toml())


def _provisioned(federation: Federation, work: Path) -> Path:
    """Let FLARE make certificates and settings; return the folder of kits."""
    from nvflare.lighter.constants import CtxKey
    from nvflare.lighter.entity import Project
    from nvflare.lighter.impl.cert import CertBuilder
    from nvflare.lighter.impl.static_file import StaticFileBuilder
    from nvflare.lighter.impl.workspace import WorkspaceBuilder
    from nvflare.lighter.provisioner import Provisioner

    make_owned(work)
    project = Project(name=_PROJECT, description=federation.name, props={"api_version": 3})
    ports = {"fed_learn_port": federation.port, "admin_port": federation.port}
    project.set_server(federation.server, "coordinator", ports)
    project.add_admin(federation.coordinator, "coordinator", {"role": "project_admin"})
    builders = [WorkspaceBuilder(), StaticFileBuilder(config_folder="config", scheme=SCHEME)]
    builders.append(CertBuilder(root_valid_days=ROOT_DAYS))
    with quiet():
        context = Provisioner(str(work), builders).provision(project, logger=NoLogger())
    if context.get(CtxKey.BUILD_ERROR):
        raise FederationError(
            "FLARE could not make the certificates; see that the folder can be written to, and that nvflare 2.9 is "
            "completely installed"
        )
    return Path(context.get_result_location())


def _keep_root(state: Path, authority: Path) -> None:
    """Keep the root's key and certificate of FLARE's state."""
    found: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
    write_whole(authority / ROOT_KEY, found["root_pri_key"])
    write_whole(authority / ROOT, found["root_cert"])


def _write_listening_port(federation: Federation) -> None:
    """Let the server listen at its own port."""
    plain = json.loads(federation.server_settings.read_text(encoding="utf-8"))
    server = plain["servers"][0]
    server["service"]["target"] = f"{federation.server}:{federation.listening_port}"
    server["admin_port"] = federation.listening_port
    write_json(federation.server_settings, plain)


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "federation"
