"""Creation of a federation: certificates for the server, the coordinator and every site, and a kit for each site.

Everything is made in a folder that only its owner can enter. Of the private keys, the coordinator keeps the root's, the
server's and its own, and the sites' inside their kits until these are handed over and deleted. The keys by which sites
know each other are not made here but by each site itself (`confide.federation.crypto.site_key`).
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from confide.errors import FederationError, ParameterError
from confide.federation.flare.federation import (
    LOOPBACK,
    SCHEME,
    Federation,
    checked_name,
    checked_port,
    checked_server,
    checked_sites,
    organisation,
)
from confide.federation.flare.files import make_owned, own_tree, write_json
from confide.federation.flare.hardening import harden_server
from confide.federation.flare.kits import pack_site_kit, unpack_site_kit
from confide.federation.flare.quiet import NoLogger, quiet
from confide.federation.site_files import write_whole

__all__ = ["DEFAULT_PORT", "Federation", "add_site", "provision", "unpack_site_kit"]

DEFAULT_PORT = 8002
"""FLARE's default port. On the loopback interface a free port is used, so that one machine can have several servers."""

_PROJECT = "confide"
_STATE = "cert.json"


def provision(
    folder: str | Path, *, name: str, sites: Sequence[str], server: str = LOOPBACK, port: int | None = None
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
    """
    place = Path(folder).absolute()
    chosen = None if port is None else checked_port(port)
    federation = Federation(
        folder=place,
        name=checked_name(name),
        server=checked_server(server),
        port=chosen or (_free_port() if server == LOOPBACK else DEFAULT_PORT),
        sites=_apart(checked_sites(list(sites)), server),
        coordinator=f"coordinator@{_slug(name)}.confide",
    )
    _require_new(place)
    made = _temporary(place)
    try:
        _make(federation, made)
        if place.exists():
            place.rmdir()
        made.rename(place)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return federation


def add_site(federation: Federation, name: str) -> Federation:
    """Issue a certificate to one more site and make its kit; the others need nothing new."""
    sites = _apart(checked_sites([*federation.sites, name]), federation.server)
    larger = replace(federation, sites=sites)
    work = _temporary(federation.authority)
    try:
        state = make_owned(work / _PROJECT / "state")
        shutil.copy(federation.authority / _STATE, state / _STATE)
        kits = _provisioned(federation, work, (name,))
        pack_site_kit(kits / name / "startup", larger.site_kit(name), larger.name)
    except OSError as error:
        raise FederationError(
            f"no site can be added to {federation.folder} ({error.strerror}): its authority/ holds the root's key, and "
            "must be there and readable"
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    write_whole(larger.settings, larger.to_toml())
    return larger


def _make(federation: Federation, made: Path) -> None:
    """Lay out a federation's folder."""
    kits = _provisioned(federation, made / "work", federation.sites)
    here = replace(federation, folder=made)
    make_owned(made / "kits")
    for site in federation.sites:
        pack_site_kit(kits / site / "startup", here.site_kit(site), here.name)
    (kits / federation.server).rename(here.server_kit)
    (kits / federation.coordinator).rename(here.coordinator_kit)
    _keep_root(made / "work" / _PROJECT / "state" / _STATE, make_owned(here.authority) / _STATE)
    shutil.rmtree(made / "work")
    for kit in (here.server_kit, here.coordinator_kit):
        own_tree(kit)
    harden_server(here.server_kit)
    write_whole(here.settings, here.to_toml())


def _provisioned(federation: Federation, work: Path, sites: Sequence[str]) -> Path:
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
    for site in sites:
        project.add_client(site, organisation(site), {})
    project.add_admin(federation.coordinator, "coordinator", {"role": "project_admin"})
    builders = [WorkspaceBuilder(), StaticFileBuilder(config_folder="config", scheme=SCHEME), CertBuilder()]
    with quiet():
        context = Provisioner(str(work), builders).provision(project, logger=NoLogger())
    if context.get(CtxKey.BUILD_ERROR):
        raise FederationError(
            "FLARE could not make the certificates; see that the folder can be written to, and that nvflare 2.9 is "
            "installed whole"
        )
    return Path(context.get_result_location())


def _keep_root(state: Path, kept: Path) -> None:
    """Keep the root's key and certificate of FLARE's state, and nobody else's keys."""
    found: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
    write_json(kept, {name: found[name] for name in ("root_cert", "root_pri_key")})


def _apart(sites: tuple[str, ...], server: str) -> tuple[str, ...]:
    if server.lower() in (site.lower() for site in sites):
        raise ParameterError(f"no site may have the server's name, {server!r}; give it another one")
    return sites


def _require_new(place: Path) -> None:
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise ParameterError(f"{place} exists already; give a new or empty folder")


def _temporary(beside: Path) -> Path:
    """Return a new folder next to another, on the same disk."""
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=beside.parent, prefix=f".{beside.name}-"))
    except OSError as error:
        raise ParameterError(f"{beside.parent} cannot be written to ({error.strerror}); give another folder") from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "federation"
