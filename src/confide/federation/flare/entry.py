"""Processes of engines and runs: started through guarded entry points, and ended with their parents.

A site in the foreground is a command that waits for an engine, and an engine starts a process for each run. If one of
them is killed with no chance to stop what it started, its children notice within a second and end themselves.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from nvflare.apis.fl_constant import FLContextKey, JobConstants
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobProcessArgs, JobReturnCode
from nvflare.app_common.job_launcher.process_launcher import ProcessHandle, ProcessJobLauncher
from nvflare.utils.job_launcher_utils import get_client_job_args, get_credential_env, get_server_job_args
from nvflare.utils.process_utils import spawn_process

from confide.errors import ConfideError, FederationError
from confide.federation.flare.federation import Federation
from confide.federation.flare.flows import Gate, Member, Party, is_run
from confide.federation.flare.guard import install

PARENT = "CONFIDE_PARENT"
"""Variable that names the process on which a child depends; a child without it stays when its parent ends."""

_PAUSE_SECONDS = 0.5


def depending(environment: Mapping[str, str], *, attached: bool) -> dict[str, str]:
    """Return the environment of a child that ends with this process, if it is attached, or that stays."""
    others = {name: value for name, value in environment.items() if name != PARENT}
    return others | ({PARENT: str(os.getpid())} if attached else {})


def watch_parent() -> None:
    """End this process soon after the one that it depends on; call it after the process was confined."""
    named = os.environ.get(PARENT, "")
    if named.isdecimal():
        threading.Thread(target=_watch, args=(int(named),), name="watch parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PAUSE_SECONDS)
    os._exit(1)


def site_gate(kit: Path, run: str = "") -> Gate:
    """Make the gate of a site's engine, or of one of its runs, from the site's kit."""
    from nvflare.fuel.f3.cellnet.identity import get_cert_common_name_from_file

    try:
        settings = json.loads((kit / "startup" / "fed_client.json").read_text(encoding="utf-8"))
        server = str(settings["servers"][0]["identity"])
        name = str(get_cert_common_name_from_file(str(kit / "startup" / "client.crt")))
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        raise FederationError(f"the kit in {kit} cannot be read; put it back from a backup") from None
    return Gate(me=_member(Party.SITE_RUN if run else Party.SITE, name, run), server=server)


def server_gate(kit: Path, run: str = "") -> Gate:
    """Make the gate of the server's engine, or of one of its runs, from the federation's folder."""
    federation = Federation.load(kit.parent)
    party = Party.SERVER_RUN if run else Party.SERVER
    return Gate(me=_member(party, "", run), server=federation.server, coordinator=federation.coordinator)


def _member(party: Party, site: str, run: str) -> Member:
    if run and not is_run(run):
        raise FederationError("a run is named by a UUID; nothing is started")
    return Member(party, site=site, run=run)


def serve_engine(engine: Any, gate: Callable[[Path], Gate]) -> NoReturn:
    """Run one of FLARE's engines behind a gate; `engine` is its module."""
    arguments = engine.parse_arguments()
    kit = Path(arguments.workspace)
    _serve(engine.main, arguments, lambda: gate(kit), kit)


def serve_run(engine: Any, gate: Callable[[Path, str], Gate]) -> NoReturn:
    """Run one of FLARE's processes of a run behind a gate; `engine` is its module."""
    arguments = engine.parse_arguments()
    kit, run = Path(arguments.workspace), arguments.job_id
    _serve(engine.main, arguments, lambda: gate(kit, run), kit / run)


def _serve(main: Callable[[Any], Any], arguments: Any, gate: Callable[[], Gate], folder: Path) -> NoReturn:
    """Install a gate, run a process of FLARE's to its end, and leave at once; without a gate nothing runs."""
    from nvflare.fuel.f3.mpm import MainProcessMonitor
    from nvflare.private.fed.app.utils import version_check

    watch_parent()
    try:
        version_check()
        install(gate())
    except ConfideError as error:
        sys.stderr.write(f"{error}\n")
        _leave(1)
    code = MainProcessMonitor.run(main_func=main, run_dir=str(folder), args=arguments)
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """End the process without waiting for threads that FLARE left behind."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


SITE_RUN = "confide.federation.flare.site_run"
SERVER_RUN = "confide.federation.flare.server_run"

MOST_RUNS = 4
"""Most runs that an engine has at once. A server runs one at a time, and runs take some seconds to end."""


class _RunLauncher(ProcessJobLauncher):  # type: ignore[misc]
    """Starts a run with the arguments that FLARE made, no folder of a job's own code, and no shell."""

    module: str
    names: Sequence[str]

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[ProcessHandle] = []
        self._lock = threading.Lock()

    def launch_job(self, job_meta: Mapping[str, Any], fl_ctx: FLContext) -> JobHandleSpec:
        """Start a run's process."""
        given = fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS)
        run = given[JobProcessArgs.JOB_ID][1]
        if not is_run(run) or job_meta.get(JobConstants.JOB_ID) != run:
            raise FederationError("a run is named by a UUID; it is not started")
        environment = depending({**os.environ, **get_credential_env(given)}, attached=True)
        with self._lock:
            self._runs = [handle for handle in self._runs if handle.poll() == JobReturnCode.UNKNOWN]
            if len(self._runs) >= MOST_RUNS:
                raise FederationError(f"{MOST_RUNS} runs are under way; another is not started")
            handle = ProcessHandle(process_adapter=spawn_process(command(self.module, self.names, given), environment))
            self._runs.append(handle)
        return handle

    def get_command(self, job_meta: Mapping[str, Any], fl_ctx: FLContext) -> str:
        """Refuse: a command is a list of words here, not a text to be split."""
        raise FederationError("a run is started by a list of words, not by a line of text; use launch_job")


class SiteRunLauncher(_RunLauncher):
    """Starts a site's process of a run."""

    module, names = SITE_RUN, get_client_job_args(include_exe_module=False, include_set_options=False)


class ServerRunLauncher(_RunLauncher):
    """Starts the server's process of a run."""

    module, names = SERVER_RUN, get_server_job_args(include_exe_module=False, include_set_options=False)


def command(module: str, names: Sequence[str], given: Mapping[str, tuple[str, Any]]) -> list[str]:
    """Make the command line of a run's process from FLARE's arguments, each a flag and a value."""
    words = [sys.executable, "-u", "-m", module]
    for name in names:
        if name in given:
            flag, value = given[name]
            words += [flag, str(value)]
    flag, options = given[JobProcessArgs.OPTIONS]
    return [*words, flag, *str(options).split()]
