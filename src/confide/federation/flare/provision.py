"""Creation of a federation: a root, and certificates for the server and the coordinator.

Everything is made in a folder that only its owner can enter. It holds the private keys of the root, of the server and
of the coordinator. Sites make their keys themselves, and send requests (`signing`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confide.errors import FederationError
from confide.federation.flare.authority import ROOT, ROOT_DAYS, ROOT_KEY
from confide.federation.flare.federation import (
    LOOPBACK,
    SCHEME,
    Federation,
    checked_name,
    checked_port,
    checked_server,
    checked_sites,
)
from confide.federation.flare.files import flush_tree, make_owned, own_tree, write_json
from confide.federation.flare.hardening import harden_server
from confide.federation.flare.new_folder import making
from confide.federation.flare.quiet import NoLogger, quiet
from confide.federation.flare.signing import require_apart
from confide.federation.site_files import write_whole
from confide.ports import free_port

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
            "installed whole"
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
