"""Kit that a coordinator sends to a site: unpacked, checked, and replaced without loss.

FLARE reads a key, its certificate and settings from separate files of one folder, `kit/startup`. So the folder is
replaced as a whole, by renaming:

1. `.kit-new/startup` is written and brought to the disk.
2. `kit/startup` becomes `.kit-old`.
3. `.kit-new/startup` becomes `kit/startup`.
4. `.kit-new` and `.kit-old` are deleted.

After a crash between steps 2 and 3 there is no `kit/startup`, and `.kit-old` shows that step 1 was completed. Whoever
opens the site next does step 3. After any other crash `kit/startup` is whole, and the next one to open the site deletes
the rest. A first kit takes one renaming, of `.kit-new` to `kit`.

One process at a time changes a kit: it holds a lock on the site's folder.

A kit is a ZIP of three files: the site's certificate, the root's certificate, and where the server is. None is secret.
The private key of the certificate was made at the site and stays there. The site trusts nothing else from a kit: the
settings of its engine are written anew from the few values that were checked.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confide.atomic_files import flush, replacement
from confide.errors import FederationError, ParameterError
from confide.federation.crypto.certificates import Revocations, SiteRequest, fresh_tls_key, private_pem, take_in
from confide.federation.crypto.identity import (
    Identity,
    Peer,
    SiteKey,
    certificate_key,
    certificate_name,
    read_private_key,
    readable_fingerprint,
    root_fingerprint,
)
from confide.federation.flare.federation import (
    SCHEME,
    Federation,
    checked_name,
    checked_port,
    checked_server,
    checked_sites,
)
from confide.federation.flare.hardening import harden_site
from confide.federation.site.config import SiteFolder
from confide.federation.site_files import flush_tree, make_owned, own_tree, write_json, write_whole

KEY = "client.key"
"""Private key for TLS, in a kit's startup folder."""

_NEW, _OLD = ".kit-new", ".kit-old"
_LEFTOVERS = (".kit-*", ".site.key-*", ".request.key-*", ".*.request-*")
"""Names under which a killed process leaves unfinished kits, keys and requests in a site's folder."""


def startup_of(folder: SiteFolder) -> Path:
    """Return the folder of a site's certificate, the key to it, the root's certificate and the engine's settings."""
    return folder.kit / "startup"


@contextmanager
def changing(folder: SiteFolder) -> Iterator[None]:
    """Hold a site's folder to change its kit or its keys; repair it before, and leave no copy of a key behind."""
    with _locked(folder.path):
        _repair(folder)
        try:
            yield
        finally:
            _repair(folder)


def repair(folder: SiteFolder) -> None:
    """Complete or undo what a killed process left half-done in a site's folder."""
    if _needs_repair(folder):
        with _locked(folder.path):
            _repair(folder)


def new_kit(folder: SiteFolder) -> Path:
    """Make the folder for a new kit, to be filled and then given to `take_place`."""
    made = make_owned(folder.path / _NEW)
    make_owned(made / "startup")
    return made


def take_place(folder: SiteFolder) -> None:
    """Put the new kit in its place: all of it for a first kit, and only `startup` if the site has one."""
    new, old, startup = folder.path / _NEW, folder.path / _OLD, startup_of(folder)
    flush_tree(new)
    if folder.kit.exists():
        startup.rename(old)
        flush(folder.path)
        (new / "startup").rename(startup)
        flush(folder.kit)
    else:
        new.rename(folder.kit)
    flush(folder.path)


def leftovers(folder: SiteFolder) -> list[Path]:
    """Return what a killed process left in a site's folder."""
    return [path for pattern in _LEFTOVERS for path in folder.path.glob(pattern)]


def _needs_repair(folder: SiteFolder) -> bool:
    return bool(leftovers(folder)) or _is_taken_in(folder)


def _repair(folder: SiteFolder) -> None:
    _complete(folder)
    for path in leftovers(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    if _is_taken_in(folder):
        with suppress(OSError):
            folder.new_key.unlink()


def _complete(folder: SiteFolder) -> None:
    """Put the new startup folder in its place if the old one has left it."""
    new, old, startup = folder.path / _NEW / "startup", folder.path / _OLD, startup_of(folder)
    if startup.exists() or not old.is_dir():
        return
    try:
        (new if new.is_dir() else old).rename(startup)
        flush(folder.kit)
    except OSError as error:
        raise FederationError(
            f"{startup} cannot be put back ({error.strerror}); make {folder.path} writable, and run this again"
        ) from None


def _is_taken_in(folder: SiteFolder) -> bool:
    """Return whether the kit has the key of the last request already."""
    try:
        return folder.new_key.read_bytes() == (startup_of(folder) / KEY).read_bytes()
    except OSError:
        return False


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait for other processes that change the kit. Some network file systems cannot lock folders: go on there."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise FederationError(f"{folder} cannot be opened ({error.strerror}); give the folder of a site") from None
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


SETTINGS = "fed_client.json"
_CERTIFICATE, _ROOT = "client.crt", "rootCA.pem"
_FILES = (SETTINGS, _CERTIFICATE, _ROOT)
_PROJECT = "confide"
_MOST_BYTES = 100_000
_NO_KIT = "is not a site's kit; ask the coordinator for the ZIP that `confide federation sign` made for you"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Federation that a site belongs to, and the address of its server, as the site's kit has them."""

    federation: str
    server: str
    port: int


def make_request(folder: SiteFolder, name: str | None = None) -> tuple[SiteRequest, Path]:
    """Make a site's keys and its request for a certificate; return the request and its file.

    A folder that is a site already keeps its own key and its name, and gets a new key for TLS. That key replaces the
    present one when the new certificate comes.
    """
    known = site_identity(folder).name if folder.kit.exists() else None
    if known is None and name is None:
        raise ParameterError("give `name`, the site's name in the federation")
    if None not in (known, name) and known != name:
        raise ParameterError(f"{folder.path} is the site {known!r}; leave `name` out, or give another folder")
    site = checked_sites([known or name])[0]
    make_owned(folder.path)
    key = fresh_tls_key()
    with changing(folder):
        request = SiteRequest.made(site, key, SiteKey.kept(folder.key), at=datetime.now(UTC))
        folder.request(site).unlink(missing_ok=True)  # a killed command leaves no request for another key
        write_whole(folder.new_key, private_pem(key))
        write_whole(folder.request(site), request.to_text())
    return request, folder.request(site)


def pack_site_kit(target: Path, federation: Federation, site: str, *, certificate: str, root: str) -> None:
    """Write a site's kit to one file."""
    server = {
        "federation": federation.name,
        "project": _PROJECT,
        "scheme": SCHEME,
        "host": federation.server,
        "port": federation.port,
        "identity": federation.server,
    }
    with replacement(target, owner_only=True) as unfinished, zipfile.ZipFile(unfinished, "w") as kit:
        kit.writestr(f"startup/{SETTINGS}", json.dumps(_settings(site, server), indent=1))
        kit.writestr(f"startup/{_CERTIFICATE}", certificate)
        kit.writestr(f"startup/{_ROOT}", root)


def unpack_site_kit(zip_path: str | Path, folder: SiteFolder) -> str:
    """Take a kit into the folder that made the request for it, and return the site's name.

    Refuse a file that is not a kit or holds anything else, a certificate for another request, certificates that do not
    belong together or are not valid now, a server without mutual TLS, and a folder that has a kit already.
    """
    if folder.kit.exists():
        raise ParameterError(
            f"{folder.path} is a site already; renew its certificate with `confide site renew`, or give another folder"
        )
    if not folder.new_key.is_file():
        raise ParameterError(
            f"{folder.path} has made no request for a certificate; make one with `confide site request` first"
        )
    files = _read(Path(zip_path))
    with changing(folder):
        return _take_in(files, folder, folder.new_key)


def renew_site(zip_path: str | Path, folder: SiteFolder, *, compared: bool = False) -> str:
    """Replace a site's certificate, its root's and the server's address by those of a new kit; return the site's name.

    Ledger, register, policy and the site's own key stay. A kit of another root needs `compared`: the root's
    fingerprint was compared with what the coordinator reads out.
    """
    files = _read(Path(zip_path))
    with changing(folder):
        before = _identity(startup_of(folder), folder.key)
        _require_own_name(_text(files[_CERTIFICATE]), before.name)
        root = _text(files[_ROOT])
        if root_fingerprint(root) != before.root_fingerprint() and not compared:
            raise FederationError(
                f"this kit is from another root than this site's, with the fingerprint "
                f"{readable_fingerprint(root_fingerprint(root))}. Telephone the coordinator: if `confide federation "
                "status` prints the same there, repeat this with `compared`"
            )
        key = _fitting(_text(files[_CERTIFICATE]), (folder.new_key, startup_of(folder) / KEY))
        return _take_in(files, folder, key, name=before.name)


def _require_own_name(certificate: str, name: str) -> None:
    """Refuse the kit of another site before anything else is said about it."""
    other = certificate_name(certificate)
    if other is not None and other != name:
        raise FederationError(
            f"this kit is for site {other!r}, and the site here is {name!r}; ask the coordinator for {name}.zip"
        )


def _fitting(certificate: str, keys: Sequence[Path]) -> Path:
    """Return the file of the key that a certificate is for; the last one if none fits, which is refused later."""
    wanted = certificate_key(certificate)
    for key in keys:
        with suppress(FederationError):
            if read_private_key(key).public_key() == wanted:
                return key
    return keys[-1]


def _take_in(files: Mapping[str, bytes], folder: SiteFolder, key: Path, *, name: str | None = None) -> str:
    """Make the site's kit of a kit's files and a private key, in place of the present one if there is one."""
    server = _server(files[SETTINGS])
    made = new_kit(folder)
    startup = made / "startup"
    for file in (_CERTIFICATE, _ROOT):
        (startup / file).write_bytes(files[file])
    shutil.copyfile(key, startup / KEY)
    own_tree(made)
    owner = _owner(_identity(startup, folder.key))
    if name is not None:
        _require_own_name(_text(files[_CERTIFICATE]), name)
    write_json(startup / SETTINGS, _settings(owner, server))
    if not folder.kit.exists():
        harden_site(made)
    take_place(folder)
    if key == folder.new_key:
        folder.new_key.unlink(missing_ok=True)
    if not folder.new_key.exists():
        folder.request(owner).unlink(missing_ok=True)
    return owner


def kit_federation(zip_path: str | Path) -> str:
    """Return the name of the federation that a kit is for; nothing is unpacked."""
    return str(_server(_read(Path(zip_path))[SETTINGS])["federation"])


def site_identity(folder: SiteFolder) -> Identity:
    """Return a site's name, its certificate with the key to it, and its own key."""
    repair(folder)
    identity = _identity(startup_of(folder), folder.key)
    return replace(identity, revoked=Revocations.load(folder.revoked, identity.root).before)


def take_revocations(folder: SiteFolder, text: str) -> None:
    """Store a list of revoked certificates at a site, if the site's root signed it and the site has no later one."""
    root = site_identity(folder).root
    if Revocations.parse(text, root).follows(Revocations.load(folder.revoked, root)):
        with changing(folder):  # several runs may bring lists at once
            take_in(folder.revoked, text, root)


def site_home(folder: SiteFolder) -> Home:
    """Return the federation and the server that a site connects to."""
    repair(folder)
    path = startup_of(folder) / SETTINGS
    try:
        found = _server(path.read_bytes())
    except OSError as error:
        raise FederationError(f"{path} cannot be read ({error.strerror}); put it back from a backup") from None
    return Home(federation=found["federation"], server=found["host"], port=found["port"])


def _identity(startup: Path, own: Path) -> Identity:
    return Identity.load(startup / _CERTIFICATE, startup / KEY, startup / _ROOT, own)


def _read(path: Path) -> dict[str, bytes]:
    """Return the three files of a kit; refuse one that holds anything else, such as a private key."""
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


def _text(content: bytes) -> str:
    return content.decode("ascii", "replace")


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
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
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
            "ssl_private_key": KEY,
            "ssl_cert": _CERTIFICATE,
            "ssl_root_cert": _ROOT,
            "fqsn": name,
            "is_leaf": True,
            "connection_security": "mtls",
        },
    }
