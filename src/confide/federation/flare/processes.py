"""Start and stop of engines, as the owner of their folder, without leftovers of earlier runs.

A process that is ending has no command line any more for a moment, while it may still hold ports and locks. So it is
not found by its command line, although it still exists; only whoever knew it before can wait for it.

FLARE never deletes them. `confide` does at each start of the engine, when no run is under way.

An engine needs to read its folder and the data, and to listen or connect on ordinary ports: nothing that takes root. So
where root starts one in a folder that belongs to another user, everything is written and run as that user, with that
user's primary group and no other.

An engine starts a process of its own for every run, in a session of its own. So whoever stops an engine looks for all
processes that work in its folder; none is left behind, whether its parent still lives or was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

import confide
from confide.errors import FederationError, PortError
from confide.federation.flare.confinement import data_files, require_confinement
from confide.federation.flare.entry import depending
from confide.federation.flare.federation import ANEW, LOOPBACK, Federation, organisation
from confide.federation.flare.guard import require_version
from confide.federation.flare.hardening import HEARTBEAT_SECONDS, harden_server, harden_site
from confide.federation.flare.kits import site_identity
from confide.federation.policy import Policy
from confide.federation.site.config import SiteFolder
from confide.federation.site_files import make_owned, write_json

STOP_SECONDS = 8.0
"""Seconds that a process may take to end."""

_ENGINES = ("confide.federation.flare.", "nvflare.private.fed.app.")
"""Modules whose processes are engines; those of FLARE itself were started by earlier versions."""

_PAUSE_SECONDS = 0.02


def working_in(kit: Path) -> list[psutil.Process]:
    """Find the processes of this user's engines whose workspace is this kit; root finds everybody's."""
    found = []
    for process in psutil.process_iter(["cmdline", "uids"]):
        words = process.info["cmdline"] or []
        uids = process.info["uids"]
        engine = str(kit) in words and any(word.startswith(_ENGINES) for word in words)
        if engine and uids is not None and os.getuid() in (0, uids.real):
            found.append(process)
    return found


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Return the processes that a process started, and those that they started, also if they are ending."""
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def end(processes: Collection[psutil.Process]) -> None:
    """Kill processes, and wait until they are gone."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(list(processes), timeout=STOP_SECONDS)


def ends_by_itself(process: psutil.Process) -> bool:
    """Wait for a process that is ending; return False at once for one that is not."""
    last = time.monotonic() + STOP_SECONDS
    while time.monotonic() < last:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            if process.cmdline():
                return False
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False
        time.sleep(_PAUSE_SECONDS)
    return False


def connections(process: psutil.Process) -> Sequence[Any]:
    """Return the TCP connections of a process; the method's name depends on the version of psutil."""
    listed = getattr(process, "net_connections", None) or process.connections
    return list(listed(kind="tcp"))


_PLACES = ("", "jobs", "transfer", "snapshots")


def delete_runs(kit: Path) -> None:
    """Delete the folders of runs, which FLARE names by UUIDs; nothing else."""
    for place in _PLACES:
        for folder in (kit / place).glob("*-*-*-*-*"):
            if _names_run(folder.name) and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)


def _names_run(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A user other than root, by number."""

    uid: int
    gid: int

    @property
    def name(self) -> str:
        """Name of the user, or its number if it has none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)


def owner_to_run_as(folder: Path) -> Owner | None:
    """Return the owner of a folder where root is about to start its engine; None where the engine runs as who calls."""
    found = folder.stat()
    if os.geteuid() != 0 or found.st_uid == 0:
        return None
    owner = Owner(uid=found.st_uid, gid=_primary_group(found.st_uid, found.st_gid))
    _require_owned(folder, owner)
    return owner


def require_readable(files: Iterable[Path], owner: Owner | None) -> None:
    """Refuse to start where the owner of a folder could not read the data that root can."""
    with acting_as(owner):
        for path in files:
            if owner is not None and path.exists() and not os.access(path, os.R_OK, effective_ids=True):
                raise FederationError(
                    f"the engine runs as {owner.name}, who may not read {path}; let that user read it, or start the "
                    "site in a folder of a user who can"
                )


def runs_as_root(folder: Path) -> bool:
    """Tell whether an engine would run with all rights: root starts it, in a folder of root's own."""
    return os.geteuid() == 0 and folder.stat().st_uid == 0


@contextmanager
def acting_as(owner: Owner | None) -> Iterator[None]:
    """Read and write files as a folder's owner, in all threads of this process; for short steps."""
    if owner is None:
        yield
        return
    group, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(owner.gid)
    os.seteuid(owner.uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _primary_group(uid: int, otherwise: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return otherwise


def _require_owned(folder: Path, owner: Owner) -> None:
    """Refuse a folder that holds files of other users, which its owner could not read or replace."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent) / name
            if path.lstat().st_uid != owner.uid:
                raise FederationError(
                    f"{folder} belongs to {owner.name}, so its engine runs as {owner.name}, but {path} belongs to "
                    f"another user; give it back with `chown -R {owner.name} {folder}`"
                )


START_SECONDS = 60.0
"""Seconds that a server may take to start."""

_SITE, _SERVER = "confide.federation.flare.site_engine", "confide.federation.flare.server_engine"
_NOTE = "engine.json"
_LOG_BYTES = 2_000_000
_children: dict[int, subprocess.Popen[bytes]] = {}
"""Engines that this process started, kept so that they are reaped when they end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running engine: its process, with the time it began, as numbers of processes are reused, and its folders."""

    pid: int
    began: float
    kit: Path
    log: Path

    def alive(self) -> bool:
        """Return whether the engine still runs."""
        return self._process() is not None

    def connected(self, port: int) -> bool:
        """Return whether the engine has an open connection to the server's port."""
        process = self._process()
        try:
            found = [] if process is None else connections(process)
        except psutil.Error:
            return False
        return any(one.status == psutil.CONN_ESTABLISHED and one.raddr and one.raddr.port == port for one in found)

    def listens(self, port: int) -> bool:
        """Return whether the engine itself listens at a port; True if that cannot be seen."""
        process = self._process()
        try:
            found = [] if process is None else connections(process)
        except psutil.AccessDenied:
            return True
        except psutil.Error:
            return False
        return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in found)

    def stop(self) -> None:
        """End the engine and all its runs, and wait until they are gone."""
        parent = self._process()
        known = {*working_in(self.kit)}
        if parent is not None:
            known |= {parent, *descendants(parent)}
            with suppress(psutil.NoSuchProcess):
                parent.terminate()
            psutil.wait_procs([parent], timeout=STOP_SECONDS)
        end(known | {*working_in(self.kit)})
        _reap(self.pid)
        _note(self.log.parent).unlink(missing_ok=True)

    def ends_by_itself(self) -> bool:
        """Wait for an engine that is ending; return False at once for one that is not."""
        process = self._process()
        return process is None or ends_by_itself(process)

    def _process(self) -> psutil.Process | None:
        _reap(self.pid)
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.began) < 1.0
            if same and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None


def start_server(federation: Federation, *, seconds: float = START_SECONDS, attached: bool = False) -> Running:
    """Start a federation's server and return when sites can reach it; `attached` as in `start_site`."""
    kit = federation.server_kit
    if not (kit / "startup" / "server.key").is_file():
        raise FederationError(
            f"there is no server's kit in {federation.folder}; make it with `confide federation init`"
        )
    federation.check_kit(federation.server_settings)
    require_version()
    owner = owner_to_run_as(federation.folder)
    with acting_as(owner), _starting(federation.folder, kit) as run:
        _require_free(federation)
        harden_server(kit)
        environment = _environment(run, owner, attached=attached)
        running = _start(owner, environment, _SERVER, kit, run, ["-s", "fed_server.json"], ["org=coordinator"])
    _await_port(federation, running, seconds)
    return running


def start_site(folder: SiteFolder, *, attached: bool = False) -> Running:
    """Start a site; it looks for the server by itself, and goes on looking.

    An `attached` engine ends with this process, also if this process is killed.
    """
    if not (folder.kit / "startup" / "client.key").is_file():
        raise FederationError(f"there is no kit in {folder.path}; take one in with `confide site init`")
    name = site_identity(folder).name
    require_version()
    require_confinement(Policy.load(folder.policy))
    owner = owner_to_run_as(folder.path)
    require_readable(data_files(folder.path), owner)
    with acting_as(owner), _starting(folder.path, folder.kit) as run:
        harden_site(folder.kit)
        settings = [f"uid={name}", f"org={organisation(name)}", f"heart_beat_interval={HEARTBEAT_SECONDS}"]
        environment = _environment(run, owner, attached=attached)
        return _start(owner, environment, _SITE, folder.kit, run, ["-s", "fed_client.json"], settings)


def find_running(folder: Path | SiteFolder | Federation) -> Running | None:
    """Return the engine that is running in a folder; None if there is none."""
    place = folder if isinstance(folder, Path) else _place(folder)
    try:
        plain = json.loads(_note(place / "run").read_text(encoding="utf-8"))
        running = Running(
            pid=int(plain["pid"]), began=float(plain["began"]), kit=Path(plain["kit"]), log=place / "run" / "engine.txt"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return running if running.alive() else None


def _place(folder: SiteFolder | Federation) -> Path:
    return folder.path.absolute() if isinstance(folder, SiteFolder) else folder.folder


def _note(run: Path) -> Path:
    return run / _NOTE


@contextmanager
def _starting(folder: Path, kit: Path) -> Iterator[Path]:
    """Hold the folder while an engine is started, so that no second one is; end what an earlier one left running."""
    run = make_owned(folder.absolute() / "run")
    with (run / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FederationError(f"{folder} is being started by another process; wait for it") from None
        running = find_running(folder)
        if running is not None and not running.ends_by_itself():
            raise FederationError(f"{folder} is running already (process {running.pid}); stop it first")
        end(working_in(kit.absolute()))
        yield run


def _start(
    owner: Owner | None,
    environment: dict[str, str],
    module: str,
    kit: Path,
    run: Path,
    options: Sequence[str],
    settings: Sequence[str],
) -> Running:
    kit, log = kit.absolute(), run / "engine.txt"
    delete_runs(kit)
    _rotate(log)
    command = [sys.executable, "-u", "-m", module, "-m", str(kit), *options]
    command += ["--set", "secure_train=true", "config_folder=config", *settings]
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter, with paths and names that were checked
            command,
            cwd=kit,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
            user=owner.uid if owner else None,
            group=owner.gid if owner else None,
        )
    except PermissionError:
        raise FederationError(
            f"{owner.name if owner else 'this user'} cannot run {sys.executable}; install confide where that user can "
            "read it, or start the engine as that user"
        ) from None
    finally:
        os.close(descriptor)
    _children[child.pid] = child
    try:
        began = psutil.Process(child.pid).create_time()
        write_json(_note(run), {"pid": child.pid, "began": began, "kit": str(kit)})
    except BaseException:  # nobody could find and stop an engine without its note
        child.kill()
        child.wait()
        raise
    return Running(pid=child.pid, began=began, kit=kit, log=log)


def _rotate(log: Path) -> None:
    """Begin a new file of an engine's output if the old one is large; keep one old file."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".1.txt"))


def _environment(run: Path, owner: Owner | None, *, attached: bool) -> dict[str, str]:
    """Make an engine's environment. Compiled functions go to its folder where the package is read-only."""
    scratch = run / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    make_owned(scratch)
    changes = {
        "TMPDIR": str(scratch),
        "PYTHONSAFEPATH": "1",
        "PYTHONWARNINGS": "ignore",
        "MALLOC_ARENA_MAX": "4",
        "CONFIDE_SHOW_ERRORS": "0",  # replies must not depend on single rows
    }
    if owner is not None:
        changes["HOME"] = str(run)
    if not os.access(Path(confide.__file__).parent, os.W_OK, effective_ids=True):
        changes["NUMBA_CACHE_DIR"] = str(make_owned(run / "compiled"))
    return depending({**os.environ, **changes}, attached=attached)


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]


def _require_free(federation: Federation) -> None:
    address = ("127.0.0.1" if federation.server == LOOPBACK else "", federation.listening_port)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except PermissionError:
            raise FederationError(
                f"this user may not listen at port {address[1]}, which is below 1024; start the server as a service "
                "with the right to (CAP_NET_BIND_SERVICE), or let it listen at another port behind a balancer "
                "(`listen`)"
            ) from None
        except OSError:
            raise PortError(
                f"port {address[1]} is used by another program; end that one. All kits have the server's port: for "
                f"another one {ANEW}"
            ) from None


def _await_port(federation: Federation, running: Running, seconds: float) -> None:
    """Wait until the server listens; another program that answers at its port is not taken for it."""
    port, last = federation.listening_port, time.monotonic() + seconds
    while running.alive() and time.monotonic() < last:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            if running.listens(port):
                return
        time.sleep(0.1)
    ended = not running.alive()
    running.stop()
    _require_free(federation)
    if ended:
        raise FederationError(f"the server ended as soon as it was started; {running.log} says more")
    raise FederationError(
        f"nothing answers at port {port} of this machine {seconds:g} seconds after the server was started; "
        f"{running.log} and {federation.server_kit / 'log.txt'} say more"
    )
