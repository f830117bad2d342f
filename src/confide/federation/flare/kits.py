"""Kit that a coordinator hands to a site, and how the site unpacks it.

A kit is a ZIP of four files: the site's certificate and private key, the root's certificate, and where the server is.
The site trusts nothing else from it: the settings of its engine are written anew from the few values that were checked.
Since the coordinator made that private key, the site makes another for itself when it unpacks a kit (`site_key`).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.identity import Identity, Peer
from confide.federation.crypto.site_key import SiteKey
from confide.federation.flare.federation import SCHEME, checked_name, checked_port, checked_server, checked_sites
from confide.federation.flare.files import OWNER_FILE, make_owned, own_tree, write_json
from confide.federation.flare.hardening import harden_site
from confide.federation.site.site_folder import SiteFolder

SETTINGS = "fed_client.json"
_FILES = (SETTINGS, "client.crt", "client.key", "rootCA.pem")
_MOST_BYTES = 100_000
_NO_KIT = "is no kit of a site; ask the coordinator for the ZIP that `confide federation init` made for you"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Federation that a site belongs to, and the address of its server, as the site's kit has them."""

    federation: str
    server: str
    port: int


def pack_site_kit(startup: Path, target: Path, federation: str) -> None:
    """Write a site's kit to one file that only its owner may read."""
    target.touch(mode=OWNER_FILE)
    settings = json.loads((startup / SETTINGS).read_text(encoding="utf-8")) | {"federation": federation}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as kit:
        kit.writestr(f"startup/{SETTINGS}", json.dumps(settings, indent=1))
        for name in _FILES[1:]:
            kit.writestr(f"startup/{name}", (startup / name).read_bytes())


def unpack_site_kit(zip_path: str | Path, folder: SiteFolder) -> str:
    """Unpack a kit into a site's folder and return the site's name.

    Refuse a file that is not a kit or holds anything else, certificates that do not belong together or are not valid
    now, a server without mutual TLS, and a folder that has a kit already. The site's own key is made here, unless the
    folder has one.
    """
    if folder.kit.exists():
        raise ParameterError(
            f"{folder.path} is a site already; give another folder, or delete it if it is no longer used"
        )
    files = _read(Path(zip_path))
    server = _server(files[SETTINGS])
    make_owned(folder.path)
    made = Path(tempfile.mkdtemp(dir=folder.path, prefix=".kit-"))
    try:
        startup = make_owned(made / "startup")
        for name in _FILES[1:]:
            (startup / name).write_bytes(files[name])
        own_tree(made)
        SiteKey.kept(folder.key)
        name = _owner(_identity(startup, folder.key))
        write_json(startup / SETTINGS, _settings(name, server))
        harden_site(made)
        made.rename(folder.kit)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return name


def kit_federation(zip_path: str | Path) -> str:
    """Return the name of the federation that a kit is for; nothing is unpacked."""
    return str(_server(_read(Path(zip_path))[SETTINGS])["federation"])


def site_identity(folder: SiteFolder) -> Identity:
    """Return a site's name, its certificate with the key to it, and its own key."""
    return _identity(folder.kit / "startup", folder.key)


def site_home(folder: SiteFolder) -> Home:
    """Return the federation and the server that a site connects to."""
    path = folder.kit / "startup" / SETTINGS
    try:
        found = _server(path.read_bytes())
    except OSError as error:
        raise FederationError(f"{path} cannot be read ({error.strerror}); put it back from a backup") from None
    return Home(federation=found["federation"], server=found["host"], port=found["port"])


def _identity(startup: Path, own: Path) -> Identity:
    return Identity.load(startup / "client.crt", startup / "client.key", startup / "rootCA.pem", own)


def _read(path: Path) -> dict[str, bytes]:
    """Return the four files of a kit; refuse one that holds anything else."""
    try:
        with zipfile.ZipFile(path) as kit:
            listed = [member for member in kit.infolist() if not member.is_dir()]
            wanted = {f"startup/{name}" for name in _FILES}
            if {member.filename for member in listed} != wanted or len(listed) != len(wanted):
                raise FederationError(f"{path} {_NO_KIT}")
            if any(member.file_size > _MOST_BYTES for member in listed):
                raise FederationError(f"{path} {_NO_KIT}")
            return {member.filename.removeprefix("startup/"): kit.read(member) for member in listed}
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}; give the kit that the coordinator sent") from None
    except OSError as error:
        raise FederationError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        raise FederationError(f"{path} {_NO_KIT}") from None


def _server(settings: bytes) -> dict[str, Any]:
    """Return the server's address and names; refuse a server that does not ask for certificates."""
    try:
        plain = json.loads(settings)
        server = plain["servers"][0]
        host, _, port = str(server["service"]["target"]).rpartition(":")
        mutual = plain["client"]["connection_security"] == "mtls"
        found: dict[str, Any] = {
            "federation": checked_name(plain["federation"]),
            "project": str(server["name"]),
            "scheme": str(server["service"]["scheme"]),
            "host": checked_server(host),
            "port": checked_port(int(port)),
            "identity": checked_server(server["identity"]),
        }
    except (ValueError, TypeError, KeyError, IndexError, ParameterError):
        raise FederationError(f"this kit does not say where its server is; it {_NO_KIT}") from None
    if not mutual or found["scheme"] != SCHEME or not found["project"].isalnum():
        raise FederationError("this kit would connect without certificates on both sides; ask for a new one")
    return found


def _owner(identity: Identity) -> str:
    """Return the name in a kit's certificate; refuse one that its root did not issue, or that is not valid now."""
    Peer.verified(identity.name, identity.certificate, identity.root, at=datetime.now(UTC))
    try:
        return checked_sites([identity.name])[0]
    except ParameterError:
        raise FederationError(
            "the certificate in this kit is in a name that no site can have; ask for a new one"
        ) from None


def _settings(name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with which FLARE starts a site: mutual TLS, and signed jobs only."""
    return {
        "format_version": 2,
        "federation": server["federation"],
        "require_signed_jobs": True,
        "servers": [
            {
                "name": server["project"],
                "service": {"target": f"{server['host']}:{server['port']}", "scheme": server["scheme"]},
                "identity": server["identity"],
            }
        ],
        "client": {
            "ssl_private_key": "client.key",
            "ssl_cert": "client.crt",
            "ssl_root_cert": "rootCA.pem",
            "fqsn": name,
            "is_leaf": True,
            "connection_security": "mtls",
        },
    }
