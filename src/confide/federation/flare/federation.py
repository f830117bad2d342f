"""Federation as its coordinator has it: its folder and its settings.

Everything is made in the folder that the coordinator named. As long as it is not finished, it has a folder
`unfinished`, and no `federation.toml`, which is written last. So no command takes it for a federation, and the next
`confide federation init` of that folder deletes what is there, keys included, and begins anew. Nothing is ever written
beside the folder.
"""

from __future__ import annotations

import fcntl
import io
import json
import logging
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.atomic_files import flush
from confide.errors import FederationError, ParameterError, UsageError
from confide.federation.crypto.certificates import REVOKED, Revocations
from confide.federation.site_files import make_owned, parsed, read_text, toml_value


class NoLogger:
    """Silent logger for FLARE's provisioner, which prints if it has none."""

    def debug(self, message: str) -> None:
        """Do nothing."""

    info = warning = error = debug


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress all output and warnings inside the block; for short calls, in one thread."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def no_engine_log() -> Iterator[None]:
    """Keep the log messages of FLARE's threads from the caller's handlers."""
    logger = logging.getLogger("nvflare")
    silent, passed_on = logging.NullHandler(), logger.propagate
    logger.addHandler(silent)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = passed_on
        logger.removeHandler(silent)


LOOPBACK = "localhost"
"""A server of this name listens on the loopback interface alone."""

SCHEME = "http"
"""FLARE's scheme of connections. With certificates it means a web socket inside TLS. FLARE's scheme of plain sockets
inside TLS is not used: one silent caller would block all others."""

FILE = "federation.toml"

ANEW = "run `confide federation renew --server HOST --port N`, and send the new kits to the sites"
"""Next step for a coordinator whose server moves."""

_SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_HOST = re.compile(r"([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._-]{0,58}[A-Za-z0-9])?")
_TAKEN = ("server", "client", "all", "coordinator", "root")
_LONGEST_HOST = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """A federation as its coordinator has it on disk; made by `provision`, read by `load`.

    `coordinator` is the name in the coordinator's certificate, which sites may list in their policies. `listen` is the
    port at which the server listens, if a balancer passes connections on from `port`; otherwise it is None.
    """

    folder: Path
    name: str
    server: str
    port: int
    sites: tuple[str, ...]
    coordinator: str
    listen: int | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Federation:
        """Read a federation's folder."""
        place = Path(folder).absolute()
        source = place / FILE
        if not source.is_file():
            raise UsageError(f"{folder} is not a federation's folder; make one with `confide federation init`")
        plain = parsed(read_text(source, "federation's settings"), str(source))
        try:
            return cls(
                folder=place,
                name=checked_name(plain["name"]),
                server=checked_server(plain["server"]),
                port=checked_port(plain["port"]),
                sites=checked_sites(plain["sites"]),
                coordinator=str(plain["coordinator"]),
                listen=checked_port(plain["listen"]) if "listen" in plain else None,
            )
        except (KeyError, TypeError, ParameterError):
            raise FederationError(
                f"{source} is not as `confide federation init` wrote it; put it back, or make the federation again"
            ) from None

    @property
    def settings(self) -> Path:
        """File that this object is read from."""
        return self.folder / FILE

    @property
    def server_kit(self) -> Path:
        """Workspace of the server."""
        return self.folder / "server"

    @property
    def coordinator_kit(self) -> Path:
        """Certificate and settings with which the coordinator asks questions."""
        return self.folder / "coordinator"

    @property
    def authority(self) -> Path:
        """Folder of the root's private key: its holder can mint a certificate in any site's name."""
        return self.folder / "authority"

    @property
    def server_settings(self) -> Path:
        """Settings with which the server starts."""
        return self.server_kit / "startup" / "fed_server.json"

    @property
    def coordinator_settings(self) -> Path:
        """Settings with which the coordinator connects."""
        return self.coordinator_kit / "startup" / "fed_admin.json"

    @property
    def listening_port(self) -> int:
        """Port at which the server listens on its own machine."""
        return self.port if self.listen is None else self.listen

    @property
    def root(self) -> str:
        """Root certificate, in PEM."""
        path = self.server_kit / "startup" / "rootCA.pem"
        try:
            return path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise FederationError(f"there is no root certificate at {path}; make the federation again") from None

    @property
    def revoked(self) -> Path:
        """Last list of revoked certificates; it lies where the server's run reads it."""
        return self.server_kit / "startup" / REVOKED

    def revocations(self) -> Revocations:
        """Return the last list of revoked certificates."""
        return Revocations.load(self.revoked, self.root)

    def site_kit(self, name: str) -> Path:
        """Return the file that is sent to a site after its request was signed."""
        return self.folder / "kits" / f"{self._member(name)}.zip"

    def site_record(self, name: str) -> Path:
        """Return the file that has a site's certificate and the public half of its own key."""
        return self.folder / "sites" / f"{self._member(name)}.json"

    def _member(self, name: str) -> str:
        if name not in self.sites:
            raise ParameterError(f"no site {name!r} in this federation; its sites are {', '.join(self.sites)}")
        return name

    @property
    def address(self) -> str:
        """Address at which sites reach the server."""
        return f"{self.server}:{self.port}"

    def check_kit(self, settings: Path) -> None:
        """Refuse settings of the server or the coordinator for another address: the sites' kits have it, too."""
        try:
            plain = json.loads(settings.read_text(encoding="utf-8"))
            admin = plain.get("admin")
            there = f"{admin['host']}:{admin['port']}" if admin else plain["servers"][0]["service"]["target"]
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise FederationError(f"{settings} cannot be read; put it back, or make the federation again") from None
        here = self.address if admin else f"{self.server}:{self.listening_port}"
        if there != here:
            raise FederationError(
                f"{self.settings} says {here}, but all kits were made for {there}; put that back there. For "
                f"another server or port {ANEW}"
            )

    def to_toml(self) -> str:
        """Return the text that `load` reads."""
        kept = ("name", "server", "port", "sites", "coordinator", *(() if self.listen is None else ("listen",)))
        return "".join(f"{key} = {toml_value(getattr(self, key))}\n" for key in kept)


def checked_name(name: object) -> str:
    """Return the name of a federation; refuse one that certificates cannot hold."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(
            f"a federation's name is 1 to 60 letters, digits, spaces or any of . _ -, a letter or digit at both ends; "
            f"got {name!r}"
        )
    return name


def checked_server(server: object) -> str:
    """Return the name of a host; refuse anything else."""
    if not isinstance(server, str) or len(server) > _LONGEST_HOST or not _HOST.fullmatch(server):
        raise ParameterError(
            f"server must be the name or address by which sites reach this machine, for example {LOOPBACK} or "
            f"validation.hospital.org, of at most {_LONGEST_HOST} letters; got {server!r}"
        )
    return server


def checked_port(port: object) -> int:
    """Return a port; refuse what is none."""
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        raise ParameterError(f"a port must be a whole number from 1 to 65535; got {port!r}")
    return port


def checked_sites(sites: Sequence[Any]) -> tuple[str, ...]:
    """Return names of sites; refuse names that FLARE or a file system could mix up."""
    for site in sites:
        if not isinstance(site, str) or not _SITE.fullmatch(site) or site.lower() in _TAKEN:
            raise ParameterError(
                f"a site's name is 1 to 60 letters, digits, - or _, a letter or digit first, and none of "
                f"{', '.join(_TAKEN)}; got {site!r}"
            )
    if not sites:
        raise ParameterError("a federation has at least one site; name it in `sites`")
    if len({site.lower() for site in sites}) < len(sites):
        raise ParameterError("every site must be named once, whether in capitals or not")
    return tuple(sites)


def organisation(site: str) -> str:
    """Return the organisation that FLARE requires beside each name."""
    return re.sub("[^A-Za-z0-9_]", "_", site)


UNFINISHED = "unfinished"
"""Folder in the folder of a federation that is being made, or whose making was interrupted."""

_PARTS = ("authority", "server", "coordinator", f".{FILE}-*", UNFINISHED)
"""All that is made in a new federation's folder before its settings. The last one shows that the others may go."""


def is_unfinished(folder: Path) -> bool:
    """Return whether the making of a federation in this folder was interrupted."""
    return (folder / UNFINISHED).is_dir() and not (folder / FILE).exists()


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a folder to work in while a federation is made in `folder`, which must be new, empty or unfinished.

    The block writes `federation.toml` last. After an error everything is removed.
    """
    existed = folder.exists()
    if not is_unfinished(folder):
        _require_empty(folder)
    _make_folder(folder)
    with _alone_in(folder):
        _clear(folder)
        _require_empty(folder)
        try:
            make_owned(folder / UNFINISHED)
            yield folder / UNFINISHED / "work"
            (folder / UNFINISHED).rmdir()
        except BaseException:
            _clear(folder)
            if not existed:
                with suppress(OSError):
                    folder.rmdir()
            raise
        flush(folder)
        flush(folder.parent)


def _clear(folder: Path) -> None:
    """Delete what an interrupted call made, and nothing else."""
    if not is_unfinished(folder):
        return
    for part in _PARTS:
        for path in folder.glob(part):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _require_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{folder} exists already; give a new or empty folder")


def _make_folder(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_owned(folder)
    except OSError as error:
        raise ParameterError(f"{folder} cannot be made or owned ({error.strerror}); give another folder") from None


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder; the lock ends with the process. Some network file systems cannot lock folders: go on there."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(
                f"another process is making a federation in {folder}; wait for it, or give another folder"
            ) from None
        except OSError:
            pass
        yield
    finally:
        os.close(handle)
