"""Start the process of a run through our own entry points, so that it is guarded as its parent is."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from nvflare.apis.fl_constant import FLContextKey, JobConstants
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobProcessArgs, JobReturnCode
from nvflare.app_common.job_launcher.process_launcher import ProcessHandle, ProcessJobLauncher
from nvflare.utils.job_launcher_utils import get_client_job_args, get_credential_env, get_server_job_args
from nvflare.utils.process_utils import spawn_process

from confide.errors import FederationError
from confide.federation.flare.flows import is_run
from confide.federation.flare.watchdog import depending

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
